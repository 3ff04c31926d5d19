"""`plughost.toml`: the plugins a project knows by name. Turns a name, path or directory into a binding.

One broken binding never hides the others: `entries` returns a reason for each one it rejects.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import Struct

from ..errors import ManifestError
from . import binding, document, envelope_binding, envelope_manifest
from .binding import Binding
from .envelope_manifest import EnvelopeManifest

FILE_NAME = "plughost.toml"


class _Project(Struct, forbid_unknown_fields=True):
    plugins: dict[str, str] = {}  # name -> directory or binding file, relative to this file
    directories: list[str] = []  # each holds plugins in directories of their own


@dataclass(frozen=True, slots=True)
class Entry:
    """One plugin that a project names, or the reason why it cannot be used."""

    name: str
    path: Path
    binding: Binding | None
    problem: str | None = None
    shadowed_by: Path | None = None  # a plugin of the same name in a later directory, which is used instead


@dataclass(frozen=True, slots=True)
class Project:
    """A `plughost.toml` and what it names."""

    file: Path | None
    entries: tuple[Entry, ...]

    def find(self, name: str) -> Entry | None:
        return next((each for each in self.entries if each.name == name and each.shadowed_by is None), None)


def nearest(start: Path) -> Path | None:
    """Return the `plughost.toml` of *start* or of the closest directory above it."""
    where = start.absolute()
    for directory in (where, *where.parents):
        if os.path.isfile(directory / FILE_NAME):
            return directory / FILE_NAME
    return None


def load(start: Path) -> Project:
    """Return the project that *start* belongs to, empty if there is none. Raises ManifestError."""
    file = nearest(start)
    if file is None:
        return Project(None, ())
    found = document.read(file, _Project)
    named = [_entry(name, file.parent / path) for name, path in found.plugins.items()]
    for directory in found.directories:
        named = _overlaid(named, scan(file.parent / directory), kept=set(found.plugins))
    return Project(file, tuple(named))


def _overlaid(named: list[Entry], later: list[Entry], kept: set[str]) -> list[Entry]:
    """Return all entries: of two that share a name the later one is used, unless the name is *kept*."""
    usable = {each.name: each for each in later if each.binding is not None}
    first = [
        replace(each, shadowed_by=usable[each.name].path)
        if each.name in usable and each.name not in kept
        else each
        for each in named
    ]
    taken = {each.name: each.path for each in named if each.name in kept}
    return [*first, *(replace(each, shadowed_by=taken.get(each.name)) for each in later)]


def scan(directory: Path) -> list[Entry]:
    """Return an entry for each directory below *directory* that holds a binding, by name."""
    try:
        files = [
            *directory.glob(f"*/{binding.FILE_NAME}"),
            *directory.glob(f"*/{envelope_manifest.FILE_NAME}"),
        ]
    except (OSError, ValueError) as error:
        raise ManifestError(str(directory), "", f"cannot be listed: {error}", "Check the path") from error
    return [_entry("", found) for found in sorted({file.parent for file in files})]


def read(path: Path) -> Binding:
    """Return the binding at *path*: a `plugin.toml`, or a directory with one or with a `manifest.yml`.

    Raises ManifestError.
    """
    bound = os.path.lexists(path / binding.FILE_NAME)
    if os.path.isdir(path) and not bound and os.path.lexists(path / envelope_manifest.FILE_NAME):
        return envelope_binding.bind(envelope_manifest.read(path))
    return binding.read(path)


def resolve(plugin: str, start: Path) -> Binding:
    """Return the binding that *plugin* means: a directory, a binding file, or a name. Raises ManifestError."""
    path = start / plugin
    if os.path.isdir(path) or os.path.isfile(path):  # pathlib's own raise for what cannot be looked at
        return read(path)
    entry = _named(plugin, start)
    if entry.binding is None:
        return read(entry.path)  # raises the reason again, whole
    return entry.binding


def resolve_envelope(plugin: str, start: Path) -> EnvelopeManifest:
    """Return the `envelope` plugin that *plugin* means: its directory, or a name. Raises ManifestError."""
    path = start / plugin
    return envelope_manifest.read(path if os.path.isdir(path) else _named(plugin, start).path)


def _named(name: str, start: Path) -> Entry:
    project = load(start)
    entry = project.find(name)
    if entry is not None:
        return entry
    known = ", ".join(each.name for each in project.entries) or "none"
    raise ManifestError(
        name,
        "",
        "neither a directory, nor a binding file, nor a name in plughost.toml",
        f"Known names: {known}. `plughost list` shows what is there",
    )


def _entry(name: str, path: Path) -> Entry:
    """Return the plugin at *path* under *name*; without one it is the directory's, or its own manifest's."""
    try:
        found = read(path)
    except ManifestError as error:
        return Entry(name or path.name, path, None, str(error))
    return Entry(name or (found.name if found.contract == "envelope" else path.name), path, found)
