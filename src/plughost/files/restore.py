"""A tree after a plugin, and what was saved of it before -> the tree as it was. Collects what cannot be put back.

Theory of operation. First the root itself, then directories of somebody else's go back to their own places, and
what was only renamed under its old name. Then everything that was not there before is removed, or displaced; missing
directories are made; whatever else differs is mended; and last, deepest first, the directories get their modes and
times, which all of that has moved. A final look at the tree tells whether it is as it was. A kill at any point
leaves a tree that the same steps put right.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice

from .attributes import is_anothers
from .changes import Change, ChangeKind, compare
from .checkpoints import checkpoint
from .concessions import Concessions
from .contents import Contents
from .directories import NEW_MODE, ROOT, Directories, join, name_of, parent_of
from .displaced import Displaced
from .inventory import Saved
from .mending import Mender, temporary_prefix
from .objects import Objects
from .overlooked import hide
from .removal import BATCH, remove
from .sameness import differs
from .strays import Strays
from .tree import Entry, Kind, Listing, describe, list_tree

ROUNDS = 3  # of mending and looking again: something may still be at work in the tree
REPORTED = 10_000  # paths named of those that were too many to list


class Restoration:
    """The way back of one tree. *failures* are the paths that could not be put back, and why.

    *conceded* are those that were put back as far as they are ours; it is added to. What the host itself has written,
    *ours*, is left as it is.
    """

    def __init__(
        self,
        saved: Mapping[str, Saved],
        objects: Objects,
        directories: Directories,
        token: str,
        displaced: Displaced | None,
        conceded: Concessions,
        ours: frozenset[str] = frozenset(),
    ) -> None:
        self.failures: dict[str, OSError | None] = {}
        self.swept: list[str] = []  # what was removed because it had not been there
        self._saved = saved
        self._conceded = conceded
        self._entries = {path: each.entry for path, each in saved.items()}
        self._racy = {path for path, each in saved.items() if each.racy} - ours
        self._ours = ours
        self._directories = directories
        self._displaced = displaced
        self._temporary = temporary_prefix(token)
        self._contents = Contents(saved, objects, directories, conceded)
        self._mender = Mender(saved, objects, directories, token, displaced, conceded)
        self._strays = Strays(self._entries, directories, token, self._discard)

    def run(self, changes: tuple[Change, ...]) -> None:
        """Put everything back. Whatever cannot be is in *failures* afterwards. Raises OSError if the root cannot."""
        self.put_root_back()
        if self._strays.return_all():  # what was renamed has gone along with them
            changes = self._changes()
        self._undo_renames(changes)
        for _ in range(ROUNDS):
            self.failures = {}
            self.sweep()
            self._mend(self.look().entries)
            self._settle()
            self._directories.keep_modes()
            left = self._left(self.look())
            self._directories.put_back_modes()
            if not left:
                self.failures = {path: _severed() for path in self._mender.severed}
                return
        self.failures = {path: self.failures.get(path) for path in left} | self.failures

    def look(self) -> Listing:
        """List the tree as it is now, but for what the host itself has written."""
        return hide(self._ours, list_tree(self._directories), self._entries)

    def put_root_back(self) -> None:
        """Let the root be a directory, whatever stands in its place."""
        root = self._directories.root
        with suppress(FileNotFoundError):
            if describe(os.lstat(root)).kind is Kind.DIRECTORY:
                return
            if self._displaced is not None:
                self._displaced.move_root()
            else:
                root.unlink()
        root.mkdir(mode=NEW_MODE)

    def sweep(self) -> None:
        """Remove or displace all that was not there, or was of another kind, however much it is."""
        waiting = [ROOT]
        while waiting:
            path = waiting.pop()
            try:
                for each in self._unwanted(path):
                    checkpoint()
                    self._discard(each)
                waiting += self._kept_directories(path)
            except OSError as error:
                self.failures[path] = error

    def _kept_directories(self, path: str) -> list[str]:
        with os.scandir(self._directories.open(path)) as found:
            names = [each.name for each in found if each.is_dir(follow_symlinks=False)]
        return [join(path, name) for name in names if self._is_kept(join(path, name))]

    def _is_kept(self, path: str) -> bool:
        return path in self._saved or path in self._ours

    def _unwanted(self, path: str) -> Iterator[str]:
        """Yield what does not belong into the directory *path*; whatever stays nevertheless is yielded once."""
        while True:
            with os.scandir(self._directories.open(path)) as found:
                below = (
                    join(path, each.name) for each in found if not self._belongs(join(path, each.name), each)
                )
                batch = list(islice((each for each in below if each not in self.failures), BATCH))
            if not batch:
                return
            yield from batch

    def _belongs(self, path: str, found: os.DirEntry[str]) -> bool:
        if path in self._ours:
            return True
        saved = self._saved.get(path)
        if saved is None or saved.entry.kind is not _kind(found):
            return False
        # Nobody but its owner can make of it what the directory was.
        strange = saved.entry.kind is Kind.DIRECTORY and found.inode() != saved.entry.ino
        return not strange or not is_anothers(self._directories.open(path))

    def _discard(self, path: str) -> None:
        try:
            if self._displaced is not None and not name_of(path).startswith(self._temporary):
                self._displaced.move(path, self._directories)
            else:
                self._directories.forget(path)
                remove(name_of(path), self._directories.writable(parent_of(path)))
        except FileNotFoundError:  # it went by itself
            return
        except OSError as error:
            self.failures[path] = error
            return
        if len(self.swept) < REPORTED:
            self.swept.append(path)

    def _undo_renames(self, changes: tuple[Change, ...]) -> None:
        """Move back what was only renamed: cheap, and it stays the same inode. What fails is mended later."""
        renamed = [
            (change.before, change.path)
            for change in changes
            if change.kind is ChangeKind.RENAMED and change.before is not None
        ]
        for old, new in sorted(renamed):  # a directory before what is in it
            with suppress(OSError):
                self._move_back(old, new)

    def _changes(self) -> tuple[Change, ...]:
        wanted = {path: self._wanted(path) for path in self._entries}
        return compare(wanted, self.look().entries, self._contents, self._racy)

    def _move_back(self, old: str, new: str) -> None:
        source, target = self._directories.holding(parent_of(new)), self._directories.holding(parent_of(old))
        with source as here, target as there:
            with suppress(FileNotFoundError):
                os.stat(name_of(old), dir_fd=there, follow_symlinks=False)
                return  # something stands there: it has to be looked at first
            if self._entries[old].kind is Kind.DIRECTORY:
                self._directories.writable(new)  # or it could not be moved
            self._directories.forget(new)
            os.rename(name_of(new), name_of(old), src_dir_fd=here, dst_dir_fd=there)

    def _mend(self, now: Mapping[str, Entry]) -> None:
        for path in sorted(self._entries):  # a directory before what is in it
            checkpoint()
            if path in now and not self._differs(path, now):
                continue
            try:
                self._mender.mend(path, now)
            except OSError as error:
                self.failures[path] = error

    def _settle(self) -> None:
        """Give the directories their attributes back, deepest first."""
        for path in sorted(self._entries, reverse=True):
            if self._entries[path].kind is Kind.DIRECTORY:
                try:
                    self._mender.settle(path)
                except OSError as error:
                    self.failures.setdefault(path, error)

    def _left(self, now: Listing) -> set[str]:
        """Return what is still not as it was."""
        if not now.complete:
            return {ROOT}
        left = set(self._entries.keys() ^ now.entries.keys())
        for path in self._entries.keys() & now.entries.keys():
            wanted, entry = self._wanted(path), now.entries[path]
            moved = wanted.kind is Kind.DIRECTORY and wanted.mtime_ns != entry.mtime_ns
            if moved or self._differs(path, now.entries):
                left.add(path)
        return left

    def _differs(self, path: str, now: Mapping[str, Entry]) -> bool:
        """Tell whether *path* still has to be put back: what is not ours to give back does not count."""
        wanted = {path: self._wanted(path)}
        return differs(path, wanted, now, self._contents, self._racy)

    def _wanted(self, path: str) -> Entry:
        conceded = self._conceded.get(path)
        return self._entries[path] if conceded is None else conceded.entry


def _severed() -> OSError:
    return OSError(errno.EXDEV, "it is no longer one file with its names outside of the directory")


def _kind(found: os.DirEntry[str]) -> Kind:
    if found.is_symlink():
        return Kind.SYMLINK
    if found.is_dir(follow_symlinks=False):
        return Kind.DIRECTORY
    return Kind.FILE if found.is_file(follow_symlinks=False) else Kind.OTHER
