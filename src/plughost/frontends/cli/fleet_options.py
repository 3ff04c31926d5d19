"""The options of commands that run `duplex` plugins together, and how their words become a fleet. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from . import options

if TYPE_CHECKING:
    from ...host.duplex.options import FleetKeywords
    from ...manifest.duplex_manifest import DuplexManifest
    from ...manifest.duplex_registry import Rejection

USUAL_PLACES = ("plugins", "dist/plugins")  # the contract's document names the second
LOG_LEVELS = ("trace", "debug", "info", "warn", "error")

root = click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A directory of plugin directories; repeatable. All plugins in it are at hand, so that they can hear each "
    "other. Otherwise: what plughost.toml names, ./plugins and ./dist/plugins, or the current directory.",
)
config = click.option(
    "--config",
    multiple=True,
    metavar="PLUGIN.KEY=VALUE",
    help="A setting of a plugin, := for JSON; repeatable.",
)
logs = click.option(
    "--logs",
    multiple=True,
    metavar="CAPABILITY=DIR",
    help="Where plugins with read_sessions, read_claude_logs or read_codex_logs may read; repeatable.",
)
log_level = click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    help="Show what plugins log on standard error, from this level on.",
)


class _Handle(Protocol):
    @property
    def manifest(self) -> DuplexManifest: ...


P = TypeVar("P", bound=_Handle)


@dataclass(frozen=True, slots=True)
class Places:
    """Where plugins are, and those that a project names and that cannot be used: `plughost list` shows the same."""

    paths: tuple[Path, ...]
    rejected: tuple[Rejection, ...] = ()

    def sorted_out(self, said: FleetKeywords) -> FleetKeywords:
        """Return *said* without the settings of those rejected, which a fleet of the others does not know."""
        known = {each.name for each in self.rejected}
        config = {name: each for name, each in (said.get("config") or {}).items() if name not in known}
        return {**said, "config": config}


def places(roots: Sequence[Path]) -> Places:
    """Return where the plugins are: *roots*, or where a project keeps them. Raises ManifestError."""
    from ...manifest import project
    from ...manifest.duplex_registry import Rejection

    if roots:
        return Places(tuple(roots))
    entries = project.load(Path()).entries
    # The project has judged them, by the root that each is in: a fleet that is given one alone knows no root.
    usable = tuple(entry.path for entry in entries if entry.duplex is not None)
    rejected = tuple(
        Rejection(entry.name, entry.path, entry.error)
        for entry in entries
        if entry.error is not None and (is_plugin(str(entry.path)) or os.path.islink(entry.path))
    )
    if usable or rejected:
        return Places(usable, rejected)
    there = tuple(Path(each) for each in USUAL_PLACES if os.path.isdir(each))
    return Places(there or (Path(),))


def is_plugin(word: str) -> bool:
    """Tell whether *word* is a plugin's directory rather than a name."""
    from ...manifest import duplex_manifest

    return os.path.lexists(os.path.join(word, duplex_manifest.FILE_NAME))


def keywords(config: Sequence[str], logs: Sequence[str], log_level: str | None) -> FleetKeywords:
    """Return what the words of the options mean to a fleet. Raises a usage error."""
    roots: dict[str, list[str]] = {}
    for word in logs:
        capability, equals, directory = word.partition("=")
        if not equals or not capability or not directory:
            raise click.UsageError(f"--logs wants CAPABILITY=DIR, not {word!r}.")
        if not os.path.isdir(os.path.expanduser(directory)):
            raise click.UsageError(f"--logs {capability}: {directory} is no directory.")
        roots.setdefault(capability, []).append(directory)
    said: FleetKeywords = {"config": _settings(config), "roots": roots}
    if log_level is not None:
        said["log_level"] = log_level
    return said


def _settings(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for word in words:
        options.check_text(word, "--config")
    for name, value in options.parse_pairs(words, "--config").items():
        plugin, dot, key = name.partition(".")
        if not dot or not plugin or not key:
            raise click.UsageError(f"--config wants PLUGIN.KEY=VALUE, not {name!r}.")
        found.setdefault(plugin, {})[key] = value
    return found


def pick(word: str, plugins: Mapping[str, P], rejected: Sequence[Rejection]) -> P:
    """Return the plugin that *word* means: its directory or its name.

    Raises ManifestError if it is there and cannot be used, and a usage error if it is not there.
    """
    directory = os.path.realpath(word) if is_plugin(word) else None
    for name, plugin in plugins.items():
        if os.path.realpath(plugin.manifest.directory) == directory or (directory is None and name == word):
            return plugin
    for rejection in rejected:
        if os.path.realpath(rejection.path) == directory or rejection.name == word:
            raise rejection.error
    raise click.UsageError(f"There is no plugin {word!r}. {near(word, sorted(plugins))}")


def near(word: str, known: Sequence[str]) -> str:
    """Return a sentence of what there is instead of *word*, the likeliest first."""
    close = get_close_matches(word, known, n=1)
    there = f"There are: {', '.join(known)}." if known else "There are none."
    return f"Did you mean {close[0]}? {there}" if close else there
