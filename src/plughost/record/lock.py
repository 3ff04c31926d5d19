"""The lock beside a file: one writer at a time, over all processes and threads. Waits, but never for ever.

It is an exclusive `flock` on `NAME.lock`, which is what the `filelock` library takes too, so programs that use
it and this one exclude each other. The kernel releases it when its holder dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator

from ..errors import TreeError
from . import sharing

POLL_S = 0.01  # how often a lock that is taken is tried again: a writer holds it for milliseconds


@contextlib.contextmanager
def held(directory: int, name: str, shown: str, timeout_s: float) -> Iterator[None]:
    """Hold the lock file *name* in the open *directory*; *shown* is its path for people.

    Raises TreeError if another holds it for *timeout_s* seconds, and OSError if the system cannot lock it.
    """
    until = time.monotonic() + timeout_s
    while (fd := _try(directory, name, shown)) is None:
        if time.monotonic() >= until:
            problem = f"locked by another program for {timeout_s:g} s"
            raise TreeError(shown, problem, "Wait for that program to end, and try again")
        time.sleep(POLL_S)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # closing is not enough if somebody forked meanwhile
        os.close(fd)


def check(directory: int, name: str, shown: str, *, make: bool) -> None:
    """Raise TreeError or OSError if the lock could not be taken even if nobody had it. It is made only if told so."""
    try:
        fd = _try(directory, name, shown, make=make)
    except FileNotFoundError:
        if make:  # so answers a filesystem that takes no files
            raise
        return
    if fd is not None:
        fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)


def _try(directory: int, name: str, shown: str, *, make: bool = True) -> int | None:
    """Return the descriptor that holds the lock, or None if another has it."""
    fd = _open(directory, name, os.O_CREAT if make else 0)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise TreeError(shown, "not a regular file", "Remove it")
        sharing.share(fd, os.fstat(directory), sharing.WRITE)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(fd, directory, name):
            return fd
    except BlockingIOError:
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def _open(directory: int, name: str, create: int) -> int:
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(name, flags | os.O_RDWR | create, 0o644, dir_fd=directory)
    except PermissionError as error:
        # Another user's: most filesystems let also those lock it who may only read it.
        try:
            return os.open(name, flags | os.O_RDONLY, dir_fd=directory)
        except OSError:
            raise error from None


def _is_at(fd: int, directory: int, name: str) -> bool:
    """Tell whether *fd* is still the file of that *name*: some lockers remove it when they are done."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return False
