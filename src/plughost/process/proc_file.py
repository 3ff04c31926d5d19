"""A file of /proc to its bytes. These are read while somebody waits, and `open` takes twice as long."""

from __future__ import annotations

import os

READ_SIZE = 16_384  # bytes: most are smaller
LINE_SIZE = 4_096  # bytes: more than a file of one line has


def read(path: str) -> bytes:
    """Return all that *path* holds now. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(fd, READ_SIZE):
            pieces.append(piece)
    finally:
        os.close(fd)
    return b"".join(pieces)


def read_line(path: str) -> bytes:
    """Return what *path*, a file of one line, holds now: the kernel gives that at once. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, LINE_SIZE)
    finally:
        os.close(fd)
