"""Paths that cannot be put back wholly, as they are somebody else's -> what they are now, taken for what they were.

Nobody but their owner, or the system, can do more for them. The store still knows how they were.
"""

from __future__ import annotations

import os

import msgspec

from .attributes import put_back, put_back_at, read_xattrs
from .inventory import Saved
from .tree import describe


class Concessions(dict[str, Saved]):
    """What was conceded, by path: an owner, a mode, times or attributes, never what a file holds."""

    def put_back(self, path: str, saved: Saved, fd: int) -> None:
        """Give *fd*, which is *path* or is going to be, all that is ours to give. Raises OSError."""
        if put_back(saved.entry, saved.xattrs, fd):
            self.pop(path, None)
        else:
            self._add(path, saved, os.fstat(fd), read_xattrs(fd))

    def put_back_at(self, path: str, saved: Saved, name: str, directory: int) -> None:
        """Do the same to what cannot be opened, a symlink or a special file, by its *name*."""
        if put_back_at(saved.entry, name, directory):
            self.pop(path, None)
        else:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            self._add(path, saved, status, saved.xattrs)

    def _add(self, path: str, saved: Saved, now: os.stat_result, xattrs: dict[str, bytes]) -> None:
        entry = msgspec.structs.replace(describe(now, saved.entry.target), nlink=saved.entry.nlink)
        self[path] = msgspec.structs.replace(saved, entry=entry, xattrs=xattrs)
