"""Paths that could not be put back -> the command that lifts the flags which keep everybody from them, root included.

Linux alone has them: immutable and append-only, which root sets by `chattr`. A filesystem without them has none set.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from .directories import ROOT, Directories, join, name_of, parent_of
from .tree import shown

_GET_FLAGS = 2 << 30 | struct.calcsize("l") << 16 | ord("f") << 8 | 1  # FS_IOC_GETFLAGS; elsewhere ENOTTY
_LETTERS = {0x10: "i", 0x20: "a"}  # FS_IMMUTABLE_FL, FS_APPEND_FL
LOOKED_AT = 10_000  # paths beneath one that could not be removed
NAMED = 10  # paths in one command


def lifted(root: Path, paths: Iterable[str]) -> str | None:
    """Return how to lift what keeps *paths* beneath *root* from being changed, or None if no flag does."""
    letters: set[str] = set()
    named: dict[str, None] = {}
    deep = False
    with Directories(root) as directories:
        for path in paths:
            for each in _around(path, directories):
                if found := _flags(each, directories):
                    beneath = each.startswith(f"{path}/")
                    letters |= found
                    deep |= beneath
                    named[path if beneath else each] = None
                    break
            if len(named) == NAMED:
                break
    if not named:
        return None
    options = [*(["-R"] if deep else []), f"-{''.join(sorted(letters, reverse=True))}"]
    return shlex.join(["chattr", *options, *(shown(root, path) for path in named)])


def _around(path: str, directories: Directories) -> Iterator[str]:
    """Yield *path*, the directory that holds it, and what is beneath it, up to a number."""
    yield path
    yield parent_of(path)
    waiting, count = [path], 0
    while waiting and count < LOOKED_AT:
        above = waiting.pop()
        with suppress(OSError), os.scandir(directories.open(above)) as found:
            for each in found:
                below = join(above, each.name)
                if each.is_dir(follow_symlinks=False):
                    waiting.append(below)
                count += 1
                yield below


def _flags(path: str, directories: Directories) -> set[str]:
    """Return the letters of the flags of *path*; nothing if it is gone, or neither a file nor a directory."""
    with suppress(OSError):
        name, directory = (
            (os.fspath(directories.root), None)
            if path == ROOT
            else (name_of(path), directories.open(parent_of(path)))
        )
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # to open a device may do something
            return set()
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        try:
            (flags,) = struct.unpack("i", fcntl.ioctl(fd, _GET_FLAGS, bytes(struct.calcsize("i"))))
        finally:
            os.close(fd)
        return {letter for bit, letter in _LETTERS.items() if flags & bit}
    return set()
