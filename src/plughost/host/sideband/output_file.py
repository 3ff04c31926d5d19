"""Pieces of one output -> a new private file, a large piece at a time. Never overwrites, and never writes in a fork.

What Python's own files hold back is written by every copy of them: once by the host, and again by whatever it forked.
"""

from __future__ import annotations

import os
from pathlib import Path

BUFFER_BYTES = (
    262_144  # written at once: a gigabyte that comes in small pieces would cost as many system calls
)


class OutputFile:
    """A file at *path*, which must not be there yet. Raises OSError, as do its methods but `close`."""

    def __init__(self, path: Path) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._path = path
        self._owner = os.getpid()
        self._held = bytearray()

    def write(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Let whoever reads the file find everything."""
        held, self._held = self._held, bytearray()
        if os.getpid() == self._owner:
            with memoryview(held) as rest:
                while rest:
                    rest = rest[os.write(self._fd, rest) :]

    @property
    def is_there(self) -> bool:
        """Whether it is still what is found at its path."""
        try:
            return os.path.samestat(os.fstat(self._fd), os.lstat(self._path))
        except OSError:
            return False

    def close(self) -> OSError | None:
        """Write the rest, and return why that could not be done, if so. Idempotent."""
        if self._fd < 0:
            return None
        problem = None
        try:
            self.flush()
        except OSError as error:
            problem = error
        fd, self._fd = self._fd, -1
        os.close(fd)
        return problem

    def __del__(self) -> None:
        self.close()
