"""The bytes of one file -> those of another, as cheaply as the system can; and whether two hold the same.

Holes stay holes. Files are compared and digested block by block without the blocks that are all zero, so that a
hole and the zeros it reads as are the same thing, and an enormous empty file costs nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from hashlib import blake2b
from itertools import zip_longest

from .checkpoints import checkpoint

PIECE = 1_048_576  # bytes read at a time, and the size of a compared block
RANGE = 1_073_741_824  # bytes asked of the kernel at a time: it caps them below 2 GiB anyway
FICLONE = 0x40049409  # Linux: share the blocks of another file until one of them is written to
ZEROS = bytes(PIECE)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
FULL = (*NO_ROOM, errno.EIO)  # another way of copying would not help


class Copier:
    """Copies files, and remembers which ways this filesystem does not offer."""

    def __init__(self) -> None:
        self._clones = sys.platform == "linux"
        self._ranges = hasattr(os, "copy_file_range")

    def copy(self, source: int, target: int) -> None:
        """Make the file *target* hold what *source* holds now. Raises OSError."""
        if self._clones and self._clone(source, target):
            return
        if os.fstat(target).st_size:  # only then: ext4 brings a file to disk at once that was ever emptied
            os.ftruncate(target, 0)
        at = 0
        for start, end in segments(source):
            at = start
            if self._ranges:
                at = self._copy_range(source, target, start, end)
            while at < end and (data := os.pread(source, min(PIECE, end - at), at)):
                at += _write(target, data, at)
                checkpoint()
        size = os.fstat(source).st_size
        if size > at:  # it ends in a hole
            os.ftruncate(target, size)

    def _clone(self, source: int, target: int) -> bool:
        try:
            fcntl.ioctl(target, FICLONE, source)
        except OSError as error:
            if error.errno in FULL:
                raise
            self._clones = False
            return False
        return True

    def _copy_range(self, source: int, target: int, start: int, end: int) -> int:
        """Let the kernel copy. Returns how far it came."""
        at = start
        while at < end:
            try:
                count = os.copy_file_range(source, target, min(RANGE, end - at), at, at)
            except OSError as error:
                if error.errno in FULL:
                    raise
                self._ranges = False
                break
            if not count:
                break
            at += count
            checkpoint()
        return at


def _write(target: int, data: bytes, at: int) -> int:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(target, rest, at)
        rest = rest[written:]
        at += written
    return len(data)


def segments(fd: int) -> Iterator[tuple[int, int]]:
    """Yield where the file *fd* holds data: all of it, unless it has holes and the system says where."""
    status = os.fstat(fd)
    size = status.st_size
    if status.st_blocks * 512 >= size or not hasattr(os, "SEEK_DATA"):
        if size:
            yield 0, size
        return
    end = 0
    while end < size:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
            end = min(size, os.lseek(fd, start, os.SEEK_HOLE))
        except OSError as error:
            if error.errno != errno.ENXIO:  # ENXIO: nothing but a hole from here on
                yield end, size
            return
        yield start, end


def blocks(fd: int) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks of the file *fd* that are not all zero, with their numbers."""
    size = os.fstat(fd).st_size
    done = 0
    for start, end in segments(fd):
        for number in range(max(done, start // PIECE), -(-end // PIECE)):
            checkpoint()
            done = number + 1
            data = os.pread(fd, min(PIECE, size - number * PIECE), number * PIECE)
            if data != ZEROS[: len(data)]:
                yield number, data


def same(one: int, other: int) -> bool:
    """Tell whether two files hold the same bytes."""
    if os.fstat(one).st_size != os.fstat(other).st_size:
        return False
    return all(mine == theirs for mine, theirs in zip_longest(blocks(one), blocks(other)))


def digest(fd: int) -> bytes:
    """Return what only files of the same bytes share."""
    state = blake2b(b"%d" % os.fstat(fd).st_size, digest_size=32)
    for number, data in blocks(fd):
        state.update(b"%d:%d:" % (number, len(data)))
        state.update(data)
    return state.digest()
