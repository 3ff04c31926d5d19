"""A path that should not be there -> nothing, however deep it goes and whatever its modes are.

Theory of operation. A plugin can nest directories deeper than any path or stack can follow. So nothing is followed:
what a directory holds is moved up beside it before it is removed, and only two levels are ever looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import count, islice

from .directories import OPEN_DIRECTORY, open_up

BATCH = 10_000  # names held at a time


def remove(name: str, directory: int) -> None:
    """Remove *name* from the open *directory*, with all that is in it. Follows no symlink. Raises OSError."""
    if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        _remove_tree(name, directory)
    else:
        os.unlink(name, dir_fd=directory)


def _remove_tree(name: str, directory: int) -> None:
    moved = (f".plughost-removed-{os.getpid()}-{number}" for number in count())
    fd = _open(name, directory)
    try:
        for each in _emptied(fd):
            if each.is_dir(follow_symlinks=False):
                _remove_level(each.name, fd, moved)
            else:
                os.unlink(each.name, dir_fd=fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=directory)


def _remove_level(name: str, directory: int, moved: Iterator[str]) -> None:
    """Remove the directory *name*; the directories in it move up into *directory*."""
    fd = _open(name, directory)
    try:
        for each in _emptied(fd):
            if each.is_dir(follow_symlinks=False):
                open_up(each.name, fd)  # or it could not be moved
                os.rename(each.name, _vacant(moved, directory), src_dir_fd=fd, dst_dir_fd=directory)
            else:
                os.unlink(each.name, dir_fd=fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=directory)


def _emptied(fd: int) -> Iterator[os.DirEntry[str]]:
    """Yield what is in the directory *fd* until nothing is; each has to be gone before the next batch."""
    while batch := _batch(fd):
        yield from batch


def _batch(fd: int) -> list[os.DirEntry[str]]:
    with os.scandir(fd) as found:
        return list(islice(found, BATCH))


def _vacant(names: Iterable[str], directory: int) -> str:
    for name in names:
        try:
            os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return name
    raise AssertionError("the names never end")


def _open(name: str, directory: int) -> int:
    open_up(name, directory)
    return os.open(name, OPEN_DIRECTORY, dir_fd=directory)
