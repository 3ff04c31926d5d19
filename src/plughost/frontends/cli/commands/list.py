"""`plughost list`: which plugins are there, and why some cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import options
from ..terminal import EXIT_BINDING, EXIT_OK, Terminal

if TYPE_CHECKING:
    from ....manifest.project import Entry


@click.command("list", short_help="Show the plugins that are there.")
@click.argument("directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@options.as_json
def command(directory: Path | None, as_json: bool) -> None:
    """Show the plugins of the nearest plughost.toml, or those in DIRECTORY.

    A binding that is wrong is shown with the reason, and never hides the others; the exit status is then 3.
    """
    from ....manifest import project

    terminal = Terminal(as_json=as_json)
    if directory is not None:
        where, entries = str(directory), tuple(project.scan(directory))
    else:
        found = project.load(Path())
        where, entries = str(found.file or Path()), found.entries or tuple(project.scan(Path()))
    terminal.data(
        {
            "ok": not any(entry.problem for entry in entries),
            "source": where,
            "plugins": [
                {
                    "name": entry.name,
                    "path": str(entry.path),
                    "contract": entry.binding.contract if entry.binding else None,
                    "description": entry.binding.description if entry.binding else None,
                    "problem": entry.problem,
                    "shadowed_by": str(entry.shadowed_by) if entry.shadowed_by else None,
                }
                for entry in entries
            ],
        }
    )
    if entries:
        terminal.table(("name", "contract", "description", "path"), [_row(entry) for entry in entries])
    else:
        terminal.text("No plugins here. `plughost new execute NAME` makes one; plughost.toml names them:")
        terminal.text('\n[plugins]\ngreeter = "path/to/greeter"')
    broken = any(entry.problem for entry in entries)
    terminal.exit(EXIT_BINDING if broken else EXIT_OK)


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
