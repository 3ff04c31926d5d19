"""Paths that a plugin asks for -> listings and contents, beneath granted roots. Follows no symlink, writes nothing.

Theory of operation. The gates say beneath which root a path lies, by its text. From there it is opened name by name,
each relative to the directory above, and a symlink on the way is refused, wherever it leads: whoever can write
beneath a root could swap it between a look and an opening. The root itself may be reached by symlinks; it is the
host's own choice, and resolved once. Reading may take as long as the disk takes: call from a thread, not from a loop.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ...capabilities.gates import OUTSIDE, ROOTS, Gates, Place, Refusal, Root, denied, invalid, lexical
from ...capabilities.grants import Capability
from ...contracts.duplex.messages import FRAME_BYTES, DirEntry
from ...files.directories import ROOT, Directories
from .frame_room import ENVELOPE_ROOM, PAYLOAD_LIMIT

FILE_LIMIT = PAYLOAD_LIMIT  # bytes
ENTRIES_LIMIT = 100_000  # of one directory: a second or so of looking
LISTING_LIMIT = FRAME_BYTES - ENVELOPE_ROOM  # bytes of all entries as JSON
ENTRY_COST = 64  # bytes of an entry as JSON beside its name: the members' names, and a size of 20 digits
ESCAPED = 6  # bytes that one byte of a name may become in JSON: \u001f
CHUNK = 1_048_576  # bytes that are read at a time


def roots(
    places: Mapping[Capability, tuple[str, ...]] = ROOTS, *, home: Path | None = None
) -> tuple[Root, ...]:
    """Return the roots that *places* name, resolved now. `~/` stands for *home*, by default this process's.

    Plugins ask by the places that the contract names: if others are given for a capability, the first of them is
    found under the usual names too. Raises ValueError for a path that is neither absolute nor beneath the home.
    """
    base = str(home or Path.home())
    found = []
    for capability, paths in places.items():
        usual = [_whole(path, base) for path in ROOTS.get(capability, ()) if path not in paths]
        for number, path in enumerate(paths):
            whole = _whole(path, base)
            resolved = os.path.realpath(whole)
            also = usual if number == 0 else ()
            found.append(Root(capability, resolved, tuple(dict.fromkeys((whole, resolved, *also)))))
    return tuple(found)


def _whole(path: str, home: str) -> str:
    whole = f"{home}/{path[2:]}" if path == "~" or path.startswith("~/") else path
    if not whole.startswith("/"):
        raise ValueError(f"{path!r} is neither absolute nor beneath the home")
    return lexical(whole)


class GrantedFiles:
    """What `host/fs/read_dir` and `host/fs/read_file` of one plugin are answered with."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates

    def read_dir(self, path: str) -> tuple[DirEntry, ...] | Refusal:
        """Return what is in the directory *path*, sorted by name. More than fits an answer is refused, never cut.

        A symlink is no directory and has no size, whatever it points to. A name that is not UTF-8 is shown as far
        as it is, and cannot be asked for.
        """
        place = self._gates.place(path)
        if isinstance(place, Refusal):
            return place
        with Directories(Path(place.root)) as directories:
            try:
                return _listing(path, directories.open("/".join(place.names) or ROOT))
            except OSError as error:
                return _refusal(path, place, directories, error)

    def read_file(self, path: str) -> bytes | Refusal:
        """Return what is in the regular file *path*, FILE_LIMIT bytes at most. Never waits for a FIFO or a device."""
        place = self._gates.place(path)
        if isinstance(place, Refusal):
            return place
        if not place.names:
            return invalid(f"read {path}: Is a directory")
        with Directories(Path(place.root)) as directories:
            try:
                return _content(path, directories, "/".join(place.names))
            except OSError as error:
                return _refusal(path, place, directories, error)


def _listing(path: str, directory: int) -> tuple[DirEntry, ...] | Refusal:
    found: list[DirEntry] = []
    cost = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it went while we looked
                continue
            name = os.fsencode(entry.name).decode(errors="replace")  # JSON has no bytes for odd names
            cost += ENTRY_COST + _json_length(name)
            if len(found) >= ENTRIES_LIMIT or cost > LISTING_LIMIT:
                return invalid(f"read {path}: more entries than fit an answer")
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
            found.append(DirEntry(name, stat.S_ISDIR(status.st_mode), size))
    return tuple(sorted(found, key=lambda each: each.name))


def _json_length(name: str) -> int:
    return len(name.encode()) + (ESCAPED - 1) * sum(each < " " or each in '"\\' for each in name)


def _content(path: str, directories: Directories, below: str) -> bytes | Refusal:
    directory, name = directories.parent(below)
    # Looked at first, because to open a device can be to use it; and again once it is open.
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return denied(OUTSIDE, path=path)
    if not stat.S_ISREG(status.st_mode):
        return _irregular(path, status.st_mode)
    fd = directories.open_file(below)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return _irregular(path, status.st_mode)
        content = None if status.st_size > FILE_LIMIT else _read(fd)
    finally:
        os.close(fd)
    return invalid(f"read {path}: over {FILE_LIMIT} bytes") if content is None else content


def _irregular(path: str, mode: int) -> Refusal:
    return invalid(f"read {path}: {'Is a directory' if stat.S_ISDIR(mode) else 'Not a regular file'}")


def _read(fd: int) -> bytes | None:
    """Return all that *fd* gives, or None if that is too much: its size is only what it was."""
    parts, length = [], 0
    while part := os.read(fd, CHUNK):
        length += len(part)
        if length > FILE_LIMIT:
            return None
        parts.append(part)
    return b"".join(parts)


def _refusal(path: str, place: Place, directories: Directories, error: OSError) -> Refusal:
    """Say why *path* could not be opened: a symlink on the way is a way out, all else is the system's word."""
    if _meets_symlink(place, directories):
        return denied(OUTSIDE, path=path)
    return invalid(f"read {path}: {error.strerror or error}")


def _meets_symlink(place: Place, directories: Directories) -> bool:
    try:
        if stat.S_ISLNK(os.lstat(place.root).st_mode):
            return True
        for depth, name in enumerate(place.names):
            above = directories.open("/".join(place.names[:depth]) or ROOT)
            if stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
                return True
    except OSError:  # nothing more can be seen from here
        pass
    return False
