"""`plughost list`: which plugins are there, and why some cannot be used."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..terminal import EXIT_BINDING, EXIT_OK, Terminal, one_line

if TYPE_CHECKING:
    from ....manifest.duplex_manifest import DuplexManifest
    from ....manifest.duplex_routes import Conflict
    from ....manifest.project import Entry


@click.command("list", short_help="Show the plugins that are there.")
@click.argument(
    "directories",
    nargs=-1,
    metavar="[DIRECTORY]...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--allow-network", is_flag=True, help="Take envelope plugins that declare network use.")
@options.as_json
def command(directories: tuple[Path, ...], allow_network: bool, as_json: bool) -> None:
    """Show the plugins of the nearest plughost.toml, or those in each DIRECTORY, as `transform --root` takes them.

    A plugin that cannot be used is shown with the reason, and never hides the others; the exit status is then 3. Of
    one name, the plugin in the later DIRECTORY is used. Of duplex plugins it is also shown what they provide, and
    which words several of them claim: those go to neither.
    """
    from ....manifest import project

    terminal = Terminal(as_json=as_json)
    sources, entries = _find(directories, allow_network=allow_network)
    conflicts = _conflicts(entries)
    terminal.data(
        {
            "ok": not any(entry.problem for entry in entries),
            "source": ", ".join(sources),
            "sources": sources,
            "plugins": [
                {
                    "name": entry.name,
                    "path": str(entry.path),
                    "contract": entry.contract,
                    "description": entry.binding.description if entry.binding else None,
                    "problem": entry.problem,
                    "shadowed_by": str(entry.shadowed_by) if entry.shadowed_by else None,
                    "duplex": _provided(entry.duplex.manifest) if entry.duplex else None,
                }
                for entry in entries
            ],
            "conflicts": [
                {"kind": each.kind, "word": each.word, "plugins": list(each.plugins)} for each in conflicts
            ],
        }
    )
    itself = [
        each for each in directories if any(os.path.lexists(each / name) for name in project.PLUGIN_FILES)
    ]
    if entries:
        terminal.table(("name", "contract", "description", "path"), [_row(entry) for entry in entries])
        _show_duplex(terminal, [each.duplex.manifest for each in entries if each.duplex], conflicts)
    elif itself:
        terminal.text(
            f"No plugins in {itself[0]}: it is one itself. `plughost describe {itself[0]}` shows it."
        )
    else:
        terminal.text("No plugins here. `plughost new execute NAME` makes one; plughost.toml names them:")
        terminal.text('\n[plugins]\ngreeter = "path/to/greeter"')
    broken = any(entry.problem for entry in entries)
    terminal.exit(EXIT_BINDING if broken else EXIT_OK)


def _find(directories: Sequence[Path], *, allow_network: bool) -> tuple[list[str], Sequence[Entry]]:
    """Return where was looked, and what is there: in *directories*, or else in a project, or else here."""
    from ....manifest import project

    if directories:
        return [str(each) for each in directories], project.scan_roots(
            directories, allow_network=allow_network
        )
    found = project.load(Path())
    entries = found.entries or project.scan_roots([Path()], allow_network=allow_network)
    return [str(found.file or Path())], entries


def _row(entry: Entry) -> tuple[str, str, str, str]:
    if entry.binding is None:
        return entry.name, "wrong", entry.problem or "", str(entry.path)
    if entry.shadowed_by is not None:
        return (
            entry.name,
            entry.binding.contract,
            f"not used: {entry.shadowed_by} has its name",
            str(entry.path),
        )
    return entry.name, entry.binding.contract, entry.binding.description, str(entry.path)


def _conflicts(entries: Sequence[Entry]) -> Sequence[Conflict]:
    from ....manifest.duplex_routes import route

    used = {entry.name: entry.duplex.manifest for entry in entries if entry.duplex is not None}
    return route(used.values()).conflicts


def _provided(manifest: DuplexManifest) -> dict[str, Any]:
    provides = manifest.provides
    return {
        "version": manifest.version,
        "spawn": manifest.lifecycle.spawn,
        "screens": list(provides.screens),
        "namespaces": list(provides.cli_namespaces),
        "actions": list(provides.commands),
        "publishes": list(provides.snapshots),
        "subscribes": list(manifest.subscribes.snapshots),
    }


def _show_duplex(
    terminal: Terminal, manifests: Sequence[DuplexManifest], conflicts: Sequence[Conflict]
) -> None:
    """Show what `duplex` plugins provide, and what of it nobody is asked for."""
    if not manifests:
        return
    columns = ("version", "spawn", "screens", "namespaces", "actions")
    rows = []
    for manifest in manifests:
        said = _provided(manifest)
        cells = (said[each] for each in columns)
        rows.append([manifest.name, *(each if isinstance(each, str) else ", ".join(each) for each in cells)])
    terminal.text()
    terminal.table(("duplex", *columns), rows)
    for each in conflicts:
        claimed = " and ".join(each.plugins)
        terminal.text(one_line(f"The {each.kind} {each.word} is claimed by {claimed}, and goes to neither."))
