"""Directories of somebody else's that stand elsewhere by now -> back in their own places, as the inodes they were.

Theory of operation. Whoever may write to a directory may rename what is in it, also what they can neither empty nor
make again: so it is no use to remove such a directory and to rebuild it, it has to be renamed back. If another
directory that was saved stands in its place, that one makes way first, to a temporary name beside. Nobody but its
owner can make such a directory, so the number of its inode is proof enough. After each round all is looked for
anew, because what is in a directory goes where that goes; a kill leaves strays that are found again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count

from .attributes import is_anothers
from .directories import ROOT, Directories, name_of, parent_of
from .tree import Entry, Kind, describe, list_tree


class Strays:
    """Those of one tree. *discard* removes, or displaces, what stands in the place of one and was not there before."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        directories: Directories,
        token: str,
        discard: Callable[[str], None],
    ) -> None:
        found = {
            path: entry for path, entry in entries.items() if entry.kind is Kind.DIRECTORY and path != ROOT
        }
        self._homes = {entry.inode: path for path, entry in found.items()}
        self._possible = any(entry.uid != os.geteuid() for entry in found.values())
        self._directories = directories
        self._discard = discard
        # Not the names of temporary files of ours, which are removed: who knows what is in there.
        self._prefix = f".plughost-stray-{token}-"
        self._names = (f"{self._prefix}{os.getpid()}-{number}" for number in count())

    def return_all(self) -> bool:
        """Move back all that can be, and tell whether there were any. What cannot stays where it is, or beside that."""
        before: dict[str, str] = {}
        for _ in self._homes if self._possible else ():  # each round brings one home, or is the last
            strays = self._find()
            if strays.keys() == before.keys():
                break
            for home, path in sorted(strays.items()):  # a directory before what is in it
                with suppress(OSError):  # perhaps it went along with another: the next round tells
                    self._return(path, home)
            before = strays
        return bool(before)

    def _find(self) -> dict[str, str]:
        """Return where they are, by where they belong; with them what they belong into, if that is elsewhere too."""
        listing = list_tree(self._directories).entries
        moved = {
            home: path
            for path, entry in listing.items()
            if (home := self._home(entry)) is not None and home != path
        }
        strays = {home for home, path in moved.items() if self._is_one(path, listing[path])}
        wanted = strays.union(*map(_above, strays))
        return {home: path for home, path in moved.items() if home in wanted}

    def _home(self, entry: Entry) -> str | None:
        return self._homes.get(entry.inode) if entry.kind is Kind.DIRECTORY else None

    def _is_one(self, path: str, entry: Entry) -> bool:
        if name_of(path).startswith(self._prefix):  # it has made way for one
            return True
        with suppress(OSError):
            return entry.uid != os.geteuid() and is_anothers(self._directories.open(path))
        return False

    def _return(self, path: str, home: str) -> None:
        source, target = (
            self._directories.holding(parent_of(path)),
            self._directories.holding(parent_of(home)),
        )
        with source as here, target as there:
            name = name_of(path)
            if self._home(_look(name, here)) != home:
                return  # what was here has moved since
            self._directories.forget(path)
            if path.startswith(f"{home}/"):  # or it would be discarded with what stands there
                aside = next(self._names)
                os.rename(name, aside, src_dir_fd=here, dst_dir_fd=there)
                os.rename(aside, self._vacate(home, there), src_dir_fd=there, dst_dir_fd=there)
            else:
                os.rename(name, self._vacate(home, there), src_dir_fd=here, dst_dir_fd=there)

    def _vacate(self, home: str, directory: int) -> str:
        """Let nothing stand at *home*, which is in the open *directory*, and return its name there."""
        name = name_of(home)
        with suppress(FileNotFoundError):
            if self._home(_look(name, directory)) is None:
                self._discard(home)
            else:
                self._directories.forget(home)
                os.rename(name, next(self._names), src_dir_fd=directory, dst_dir_fd=directory)
        return name


def _above(path: str) -> Iterator[str]:
    while (path := parent_of(path)) != ROOT:
        yield path


def _look(name: str, directory: int) -> Entry:
    return describe(os.stat(name, dir_fd=directory, follow_symlinks=False))
