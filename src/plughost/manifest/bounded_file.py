"""A path to the bytes of a regular file, up to a limit. Refuses pipes, devices and directories, without blocking."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read(path: Path, limit: int) -> bytes | None:
    """Return the first *limit* bytes of the file at *path*, None if it is not a regular one. Raises OSError.

    Also raises ValueError, for a path that is none.
    """
    # Opened first and looked at then: nothing can take its place between, and a pipe does not block.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        with open(fd, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(fd)
