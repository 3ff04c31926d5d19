"""What we make in a directory that a group may write to is that group's to use as well. Nothing is opened to others.

Several people may run passes over one directory, and each pass reads what the last one has left, and adds to it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

READ = 0o040
WRITE = 0o060
ENTER = 0o070  # for directories


def share(fd: int, above: os.stat_result, access: int) -> None:
    """Let the group of the directory *above* do *access* with our file *fd*, if it may write to that directory."""
    now = os.fstat(fd)
    if not above.st_mode & stat.S_IWGRP or now.st_uid != os.geteuid():
        return
    with suppress(OSError):  # we need not be in that group; then it is not for another one
        if now.st_gid != above.st_gid:
            os.fchown(fd, -1, above.st_gid)
        if now.st_mode & access != access:
            os.fchmod(fd, stat.S_IMODE(now.st_mode) | access)


def make_directory(path: Path) -> None:
    """Make *path*, and those above it that are missing. Raises OSError, but not if it is there."""
    if os.path.lexists(path):
        return
    make_directory(path.parent)
    with suppress(FileExistsError):
        os.mkdir(path, 0o755)
        share_path(path, ENTER, os.O_DIRECTORY)


def share_path(path: Path, access: int, flags: int = 0) -> None:
    """Do as `share` with what stands at *path*, but for a link. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        share(fd, os.stat(path.parent), access)
    finally:
        os.close(fd)
