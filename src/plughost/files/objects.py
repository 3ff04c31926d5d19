"""Files of a tree -> numbered objects of a store: copies of what they hold, and hard links to what they are.

A copy is enough to put a file back. A file of several names, and a special file, is more than its bytes: the inode
itself is linked into the store too, so that the very same one can be put back.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ..errors import TreeError
from .attributes import read_xattrs
from .copying import FULL, Copier, same
from .directories import Directories
from .inventory import Saved
from .tree import Entry, Kind, describe, shown, unreadable

ATTEMPTS = 3  # to copy a file while nobody writes to it
RACY_NS = 20_000_000  # the clock behind a ctime ticks every 1 to 10 ms
COPIES, ORIGINALS = "objects", "originals"
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Objects:
    """The numbered objects of *store*."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.copier = Copier()
        self._next = 0

    def prepare(self) -> None:
        """Make the directory for copies in an empty store; that for links is made with the first one."""
        (self.store / COPIES).mkdir(mode=0o700)

    def regain(self) -> None:
        """Give ourselves access again: a plugin of our own user may have taken it away, even one that is confined."""
        with suppress(OSError):  # what cannot be regained will be missed, and named, when it is needed
            for directory in (self.store, self.store / COPIES, self.store / ORIGINALS):
                if os.path.lexists(directory):
                    os.chmod(directory, 0o700)
            for directory in (self.store, self.store / COPIES):
                with os.scandir(directory) as entries:
                    for entry in entries:
                        if entry.is_file(follow_symlinks=False) and not entry.stat().st_mode & 0o400:
                            os.chmod(entry.path, 0o600)

    def copy(self, number: int) -> Path:
        return self.store / COPIES / str(number)

    def original(self, number: int) -> Path:
        return self.store / ORIGINALS / str(number)

    def keep_only(self, copies: set[int], originals: set[int]) -> None:
        """Remove every object but these, and number new ones after them."""
        for name, kept in ((COPIES, copies), (ORIGINALS, originals)):
            for each in os.listdir(self.store / name) if os.path.isdir(self.store / name) else ():
                if not each.isdecimal() or int(each) not in kept:
                    (self.store / name / each).unlink()
        self._next = max(self._next, *(number + 1 for number in copies | originals), 0)

    def save(self, path: str, entry: Entry, directories: Directories, known: Saved | None = None) -> Saved:
        """Save what *path* is and holds. What is *known* of its inode is not saved again if it is still true.

        Raises TreeError if it cannot be read, or if somebody writes to it all the time.
        """
        try:
            match entry.kind:
                case Kind.DIRECTORY:
                    return Saved(entry, xattrs=read_xattrs(directories.open(path)))
                case Kind.SYMLINK:
                    return Saved(entry)
                case Kind.OTHER:
                    return self._save_special(path, entry, directories, known)
                case Kind.FILE:
                    return self._save_file(path, entry, directories, known)
        except FileNotFoundError as error:
            raise _unsteady(directories.root, path) from error
        except OSError as error:
            if error.errno in FULL:  # it is the store that cannot be written
                raise
            raise unreadable(directories.root, path, error) from error

    def _save_special(self, path: str, entry: Entry, directories: Directories, known: Saved | None) -> Saved:
        original = known.original if known is not None else None
        if original is None:
            original = self._link(path, directories)
        return Saved(entry, original=original)

    def _save_file(self, path: str, entry: Entry, directories: Directories, known: Saved | None) -> Saved:
        original = known.original if known is not None else None
        if entry.nlink <= 1:
            original = None
        elif original is None:
            original = self._link(path, directories)
        for _ in range(ATTEMPTS):
            fd = directories.open_file(path)
            try:
                before = describe(os.fstat(fd))
                if before.kind is not Kind.FILE:
                    break
                number, clock = self._keep(fd, known)
                xattrs = read_xattrs(fd)
                after = describe(os.fstat(fd))
            finally:
                os.close(fd)
            if before == after and (original is None or self._is(original, after)):
                steady = msgspec.structs.replace(after, nlink=entry.nlink)
                return Saved(steady, number, original, after.ctime_ns >= clock - RACY_NS, xattrs)
        raise _unsteady(directories.root, path)

    def _keep(self, fd: int, known: Saved | None) -> tuple[int, int]:
        """Return the number of a copy of the file *fd*, and the time when it began to be looked at."""
        clock = time.time_ns()
        if known is not None and known.copy is not None and self._holds(known.copy, fd):
            return known.copy, clock
        number = self._take_number()
        target = os.open(self.copy(number), NEW_FILE, 0o600)
        try:
            clock = min(clock, os.fstat(target).st_mtime_ns)  # the filesystem's own clock may be behind ours
            self.copier.copy(fd, target)
        finally:
            os.close(target)
        return number, clock

    def _holds(self, number: int, fd: int) -> bool:
        kept = os.open(self.copy(number), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return same(kept, fd)
        finally:
            os.close(kept)

    def _link(self, path: str, directories: Directories) -> int | None:
        directory, name = directories.parent(path)
        number = self._take_number()
        with suppress(OSError):  # another filesystem, or a file that is not ours to link
            (self.store / ORIGINALS).mkdir(mode=0o700, exist_ok=True)
            os.link(name, self.original(number), src_dir_fd=directory, follow_symlinks=False)
            return number
        return None

    def _is(self, original: int, entry: Entry) -> bool:
        return describe(os.lstat(self.original(original))).inode == entry.inode

    def _take_number(self) -> int:
        self._next += 1
        return self._next


def _unsteady(root: Path, path: str) -> TreeError:
    return TreeError(
        shown(root, path), "something else is writing to it", "Let that finish first, then try again"
    )
