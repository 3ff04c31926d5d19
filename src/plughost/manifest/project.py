"""`plughost.toml`: the plugins a project knows by name. Turns a name, path or directory into a binding.

One broken binding never hides the others: `entries` returns a reason for each one it rejects. Of two plugins that share
a name the later one is used, but neither of two `envelope` plugins in one directory, and of the contract `duplex`
neither is wherever they are: those know each other by their names.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import Struct

from ..errors import ManifestError
from . import (
    binding,
    document,
    duplex_manifest,
    duplex_registry,
    envelope_binding,
    envelope_manifest,
    envelope_registry,
    working_directory,
)
from .binding import Binding
from .duplex_binding import DuplexBinding
from .envelope_manifest import EnvelopeManifest

FILE_NAME = "plughost.toml"
PLUGIN_FILES = (
    binding.FILE_NAME,
    envelope_manifest.FILE_NAME,
    duplex_manifest.FILE_NAME,
)  # any of them is a plugin's


class _Project(Struct, forbid_unknown_fields=True):
    plugins: dict[str, str] = {}  # name -> directory or binding file, relative to this file
    directories: list[str] = []  # each holds plugins in directories of their own


@dataclass(frozen=True, slots=True)
class Entry:
    """One plugin that a project names, or the reason why it cannot be used."""

    name: str
    path: Path
    binding: Binding | None
    error: ManifestError | None = None
    shadowed_by: Path | None = None  # a plugin of the same name in a later directory, which is used instead
    duplex: DuplexBinding | None = None  # what *binding* was made of, if it is of that contract

    @property
    def contract(self) -> str | None:
        return None if self.binding is None else self.binding.contract

    @property
    def problem(self) -> str | None:
        return None if self.error is None else str(self.error)


@dataclass(frozen=True, slots=True)
class Project:
    """A `plughost.toml` and what it names."""

    file: Path | None
    entries: tuple[Entry, ...]

    def find(self, name: str) -> Entry | None:
        return next((each for each in self.entries if each.name == name and each.shadowed_by is None), None)


def nearest(start: Path) -> Path | None:
    """Return the `plughost.toml` of *start* or of the closest directory above it. Raises ManifestError."""
    working_directory.require(start)
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
    return Project(file, tuple(_without_duplicates(named)))


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


def _without_duplicates(entries: list[Entry]) -> list[Entry]:
    """Refuse every `duplex` plugin whose name another one in another place has, as a fleet of them would."""
    places: dict[str, set[Path]] = {}
    for each in entries:
        if each.duplex is not None:
            places.setdefault(each.name, set()).add(Path(os.path.realpath(each.path)))
    return [
        _refused(each, entries) if each.duplex is not None and len(places[each.name]) > 1 else each
        for each in entries
    ]


def _refused(entry: Entry, entries: list[Entry]) -> Entry:
    same = [each.duplex for each in entries if each.duplex is not None and each.name == entry.name]
    assert entry.duplex is not None
    error = duplex_registry.duplicate(entry.duplex, same).error
    return Entry(entry.name, entry.path, None, error)


def scan_roots(directories: Iterable[Path], *, allow_network: bool = False) -> list[Entry]:
    """Return an entry for each plugin in *directories*, as who runs plugins from such roots would take it.

    Of one name and one contract the plugin in the later directory is used. Raises ManifestError if one cannot be
    listed.
    """
    found: list[Entry] = []
    for directory in dict.fromkeys(directories):
        later = scan(directory, allow_network=allow_network)
        used = {(each.contract, each.name): each.path for each in later if each.binding is not None}
        found = [
            replace(each, shadowed_by=used.get((each.contract, each.name), each.shadowed_by))
            for each in found
        ]
        found += later
    return _without_duplicates(found)


def scan(directory: Path, *, allow_network: bool = True) -> list[Entry]:
    """Return an entry for each directory below *directory* that holds a plugin, by name.

    Raises ManifestError if it cannot be listed.
    """
    try:
        bound = {file.parent for file in directory.glob(f"*/{binding.FILE_NAME}")}
        is_of_envelope = any(True for _ in directory.glob(f"*/{envelope_manifest.FILE_NAME}"))
        is_of_duplex = any(True for _ in directory.glob(f"*/{duplex_manifest.FILE_NAME}"))
    except (OSError, ValueError) as error:
        raise ManifestError(str(directory), "", f"cannot be listed: {error}", "Check the path") from error
    entries = [_entry("", found) for found in bound]
    # Only then: elsewhere, a directory that looks like a plugin without a manifest is nobody's.
    if is_of_envelope:
        entries += _scan_envelope(directory, bound, allow_network=allow_network)
    if is_of_duplex:
        taken = {each.path for each in entries}
        found = duplex_registry.discover(directory)
        duplex = [_duplex_entry(each, directory / each.name) for each in found.loaded]
        duplex += [Entry(each.name, each.path, None, each.error) for each in found.rejected]
        entries += [each for each in duplex if each.path not in taken]
    return sorted(entries, key=lambda each: each.path)


def _scan_envelope(directory: Path, bound: Collection[Path], *, allow_network: bool) -> list[Entry]:
    """Return the `envelope` plugins of *directory*, and what was meant as one, but for those of other contracts."""
    found = envelope_registry.discover(directory, allow_network=allow_network)
    # By their paths in *directory*, as it was named: a manifest knows its whole path.
    entries = [
        Entry(each.name, directory / each.directory.name, envelope_binding.bind(each))
        for each in found.loaded
    ]
    entries += [Entry(each.name, directory / each.path.name, None, each.error) for each in found.rejected]
    return [each for each in entries if each.path not in bound and not _is_duplex(each.path)]


def read(path: Path) -> Binding:
    """Return the binding at *path*: a `plugin.toml`, or a directory with one or with a plugin's own manifest.

    Raises ManifestError.
    """
    working_directory.require(path)
    if _is_duplex(path):
        return _load_duplex(path).process()
    bound = os.path.lexists(path / binding.FILE_NAME)
    if os.path.isdir(path) and not bound and os.path.lexists(path / envelope_manifest.FILE_NAME):
        return envelope_binding.bind(envelope_manifest.read(path))
    return binding.read(path)


def _is_duplex(path: Path) -> bool:
    """Tell whether *path* is a `duplex` plugin's manifest, or a directory that no other contract has."""
    if not os.path.isdir(path):
        return path.name == duplex_manifest.FILE_NAME and os.path.isfile(path)
    others = (binding.FILE_NAME, envelope_manifest.FILE_NAME)
    is_other = any(os.path.lexists(path / name) for name in others)
    return not is_other and os.path.lexists(path / duplex_manifest.FILE_NAME)


def _load_duplex(path: Path) -> DuplexBinding:
    return duplex_registry.load(path if os.path.isdir(path) else path.parent)


def resolve(plugin: str, start: Path) -> Binding:
    """Return the binding that *plugin* means: a directory, a binding file, or a name. Raises ManifestError."""
    if not plugin:  # joined to *start* it would be that
        raise ManifestError("''", "", "no plugin was named", "Name one; `.` is the directory you are in")
    path = start / plugin
    if os.path.isdir(path) or os.path.isfile(path):  # pathlib's own raise for what cannot be looked at
        return read(path)
    entry = _named(plugin, start)
    if entry.error is not None:
        raise entry.error
    assert entry.binding is not None
    return entry.binding


def resolve_envelope(plugin: str, start: Path) -> EnvelopeManifest:
    """Return the `envelope` plugin that *plugin* means: its directory, or a name. Raises ManifestError."""
    path = start / plugin
    if not os.path.isdir(path):
        entry = _named(plugin, start)
        if entry.error is not None:
            raise entry.error
        path = entry.path
    return envelope_manifest.read(path)


def resolve_duplex(plugin: str, start: Path) -> DuplexBinding:
    """Return the `duplex` plugin that *plugin* means: its directory, its manifest, or a name. Raises ManifestError."""
    path = start / plugin
    return _load_duplex(path if os.path.exists(path) else _named(plugin, start).path)


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
        if _is_duplex(path):
            return _duplex_entry(_load_duplex(path), path if os.path.isdir(path) else path.parent, name)
        found = read(path)
    except ManifestError as error:
        return Entry(name or path.name, path, None, error)
    return Entry(name or (found.name if found.contract == "envelope" else path.name), path, found)


def _duplex_entry(found: DuplexBinding, path: Path, name: str = "") -> Entry:
    """Return *found* at *path*. Raises ManifestError for another *name* than its own: it has one for all."""
    if name not in ("", found.name):
        problem = f"this is the plugin {found.name}, which others know by that name"
        remedy = f"Write {found.name} instead of {name} in {FILE_NAME}"
        raise ManifestError(str(found.manifest.file), "plugin.name", problem, remedy)
    return Entry(found.name, path, found.process(), duplex=found)
