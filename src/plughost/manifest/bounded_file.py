"""A path to the bytes or text of a regular file, up to a limit. Refuses pipes and devices, without blocking."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import ManifestError


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


def text(path: Path, limit: int, remedy: str) -> str:
    """Return the text of the file at *path*, at most *limit* bytes of UTF-8; *remedy* if it is no file.

    Raises ManifestError.
    """
    try:
        data = read(path, limit + 1)
    except (OSError, ValueError) as error:  # ValueError: no path at all, by a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise ManifestError(str(path), "", f"cannot be read: {reason}", "Check the path") from error
    if data is None:
        raise ManifestError(str(path), "", "not a regular file", remedy)
    if len(data) > limit:
        raise ManifestError(str(path), "", f"over {limit} bytes", "Name the right file")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ManifestError(str(path), "", f"line {line}: not UTF-8", "Save it as UTF-8") from error
