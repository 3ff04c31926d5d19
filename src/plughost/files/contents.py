"""What the files of a tree hold now, beside what was saved of them. Says nothing of what can be seen from outside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

from .attributes import read_xattrs
from .copying import digest, same
from .directories import Directories
from .inventory import Saved
from .objects import Objects
from .tree import Kind

READ = os.O_RDONLY | os.O_CLOEXEC
NOTHING: Mapping[str, Saved] = MappingProxyType({})


class Contents:
    """The files of a tree, and the copies of them in a store. What was *conceded* is compared with that instead."""

    def __init__(
        self,
        saved: Mapping[str, Saved],
        objects: Objects,
        directories: Directories,
        conceded: Mapping[str, Saved] = NOTHING,
    ) -> None:
        self._saved = saved
        self._conceded = conceded
        self._objects = objects
        self._directories = directories

    def same(self, path: str) -> bool:
        """Tell whether *path* is still what was saved, where all but its change time and its inode agree."""
        saved = self._conceded.get(path) or self._saved[path]
        try:
            match saved.entry.kind:
                case Kind.DIRECTORY:
                    return read_xattrs(self._directories.open(path)) == saved.xattrs
                case Kind.SYMLINK:
                    return True
                case Kind.OTHER:
                    return self._is_original(path, saved)
                case Kind.FILE:
                    return self._is_original(path, saved) and self._same_file(path, saved)
        except OSError:  # what cannot be read any more is not the same
            return False

    def same_bytes(self, path: str) -> bool:
        """Tell whether the file *path* holds what was saved, whatever its attributes are."""
        saved = self._saved[path]
        fd = self._directories.open_file(path)
        try:
            return self._holds(saved, fd)
        finally:
            os.close(fd)

    def saved_digest(self, path: str) -> bytes | None:
        """Return the digest of the file that *path* was; None if nobody knows."""
        number = self._saved[path].copy
        if number is None:
            return None
        try:
            fd = os.open(self._objects.copy(number), READ)
        except OSError:
            return None
        return _digest(fd)

    def digest(self, path: str) -> bytes | None:
        """Return the digest of the file that *path* is now; None if it cannot be read."""
        try:
            fd = self._directories.open_file(path)
        except OSError:
            return None
        return _digest(fd)

    def _is_original(self, path: str, saved: Saved) -> bool:
        """Tell whether *path* still is the very inode that was linked into the store, if one was."""
        if saved.original is None:
            return True
        directory, name = self._directories.parent(path)
        kept = os.lstat(self._objects.original(saved.original))
        return os.path.samestat(os.stat(name, dir_fd=directory, follow_symlinks=False), kept)

    def _same_file(self, path: str, saved: Saved) -> bool:
        fd = self._directories.open_file(path)
        try:
            return read_xattrs(fd) == saved.xattrs and self._holds(saved, fd)
        finally:
            os.close(fd)

    def _holds(self, saved: Saved, fd: int) -> bool:
        if saved.copy is None:
            return False
        kept = os.open(self._objects.copy(saved.copy), READ)
        try:
            return same(kept, fd)
        finally:
            os.close(kept)


def _digest(fd: int) -> bytes | None:
    try:
        return digest(fd)
    except OSError:
        return None
    finally:
        os.close(fd)
