"""Check of what the host itself has written into a tree since it was saved.

A log in the tree grows while a plugin runs. If the file is exactly what was saved followed by what the host has
appended, it is no change of the plugin's, and is not put back. Follows no symlink.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .attributes import read_xattrs
from .contents import READ
from .directories import Directories
from .inventory import Saved
from .objects import Objects
from .tree import Entry, Kind, Listing, describe

CHUNK = 1_048_576  # bytes compared at a time


@dataclass(frozen=True, slots=True)
class Appended:
    """What the host has added to the file *path* of a tree, and the directories that it has *made* for that.

    *inode* and *mode* are those of a file which the host has made, if they are known. *made* gives the mode of each
    directory.
    """

    path: str
    data: bytes
    inode: tuple[int, int] | None = None
    mode: int | None = None
    made: Mapping[str, int] = field(default_factory=dict)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset((self.path, *self.made))


def hide(paths: Collection[str], listing: Listing, saved: Mapping[str, Entry]) -> Listing:
    """Return *listing* with *paths* as they were *saved*, or without them. The entries are changed in place."""
    for path in paths:
        if path in saved:
            listing.entries[path] = saved[path]
        else:
            listing.entries.pop(path, None)
    return listing


def is_as_written(
    ours: Appended, saved: Mapping[str, Saved], objects: Objects, directories: Directories
) -> bool:
    """Tell whether the file is what was *saved* of it and what was appended, and the directories are as made."""
    try:
        fd = directories.open_file(ours.path)
        try:
            return _is_intact(ours, saved.get(ours.path), objects, fd) and all(
                describe(os.fstat(directories.open(path))).mode == mode for path, mode in ours.made.items()
            )
        finally:
            os.close(fd)
    except OSError:
        return False


def _is_intact(ours: Appended, saved: Saved | None, objects: Objects, fd: int) -> bool:
    now = describe(os.fstat(fd))
    if now.kind is not Kind.FILE or now.nlink != 1:
        return False
    if saved is None:
        same = now.uid == os.geteuid() and ours.mode in (None, now.mode) and ours.inode in (None, now.inode)
        return same and _holds(fd, None, 0, ours.data)
    was = saved.entry
    same = (was.inode, was.mode, was.uid, was.gid) == (now.inode, now.mode, now.uid, now.gid)
    if not same or saved.copy is None or read_xattrs(fd) != saved.xattrs:
        return False
    kept = os.open(objects.copy(saved.copy), READ)
    try:
        return _holds(fd, kept, was.size, ours.data)
    finally:
        os.close(kept)


def _holds(fd: int, kept: int | None, size: int, data: bytes) -> bool:
    """Tell whether the file *fd* holds *size* bytes that *kept* holds as well, then *data*, then nothing."""
    if os.fstat(fd).st_size != size + len(data):
        return False
    at = 0
    while kept is not None and at < size:
        piece = os.pread(fd, min(CHUNK, size - at), at)
        if not piece or piece != os.pread(kept, len(piece), at):
            return False
        at += len(piece)
    view = memoryview(data)
    while len(view):
        piece = os.pread(fd, min(CHUNK, len(view)), at)
        if not piece or piece != view[: len(piece)]:
            return False
        at += len(piece)
        view = view[len(piece) :]
    return True
