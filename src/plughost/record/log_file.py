"""Log lines to the log of a host, and a worker's raw stderr to a file of its own. Follows no symbolic link.

Both kinds of file stand where other programs write too, so neither is opened through a link, and the log is only
ever appended to, with one write, so that lines of several writers do not mix.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import TreeError
from ..messages.quoting import one_line
from . import place, sharing

STDERR_LIMIT = 16_777_216  # bytes of one attempt that are kept
TAIL_LIMIT = 33_554_432  # bytes of a log that are looked through: more than the log of one pass has
NAME_LIMIT = 64  # characters of a host's name in a file name

_COMMON = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class WizardLog:
    """The log `wizard.HOST.log` in *directory*; *host* is this machine unless given."""

    __slots__ = ("path",)

    def __init__(self, directory: Path, host: str | None = None) -> None:
        self.path = directory / f"wizard.{_file_name(socket.gethostname() if host is None else host)}.log"

    def check(self, *, make: bool) -> None:
        """Raise TreeError if lines could not be added now. The log is begun only if *make* says so."""
        place.check_directory(self.path.parent, levels=2)
        place.check_file(self.path)
        if make:
            os.close(_open(self.path, os.O_APPEND, 0o644))

    def append(self, lines: Iterable[str]) -> None:
        """Add *lines*, each without its line feed, in one piece. Raises TreeError."""
        data = "".join(f"{one_line(line)}\n" for line in lines).encode()
        if not data:
            return
        fd = _open(self.path, os.O_APPEND, 0o644)
        try:
            sharing.share(fd, os.stat(self.path.parent), sharing.WRITE)
            write_all(fd, data)
        except OSError as error:
            raise _unusable(self.path, error) from error
        finally:
            os.close(fd)

    def tail(self) -> list[str]:
        """Return the lines of the log, or as many of the last as TAIL_LIMIT has; none if it cannot be read."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        with open(fd, "rb") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                return []
            file.seek(max(0, status.st_size - TAIL_LIMIT))
            return file.read(TAIL_LIMIT).decode("utf-8", "replace").split("\n")


class StderrFile:
    """The raw stderr of one attempt, in a new file at *path*. Raises TreeError if it cannot be made.

    At most *limit* bytes are kept. The others are counted in *dropped*, and the last line of the file says so.
    What is written here is the plugin's and may hold its secrets, so only our own user may read it; where it is
    kept in a directory that a group works on, also that group.
    """

    __slots__ = ("_fd", "_last", "_room", "dropped", "path")

    def __init__(self, path: Path, *, limit: int = STDERR_LIMIT) -> None:
        self.path = path
        self.dropped = 0
        self._room = limit
        self._last = b"\n"
        self._fd = _open(path, os.O_EXCL, 0o600)

    def write(self, data: bytes) -> None:
        """Keep *data*, as far as there is room. A disk that is full drops the rest; it is no reason to fail."""
        kept = data[: self._room]
        if kept:
            try:
                write_all(self._fd, kept)
            except OSError:
                kept, self._room = b"", 0
        self._room -= len(kept)
        self._last = kept[-1:] or self._last
        self.dropped += len(data) - len(kept)

    def close(self) -> None:
        """Say what was dropped, and close the file. Closing it again does nothing."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        try:
            if self.dropped:
                begin = b"" if self._last == b"\n" else b"\n"
                with contextlib.suppress(OSError):
                    write_all(
                        fd, b"%b[plughost: %d more bytes of stderr were dropped]\n" % (begin, self.dropped)
                    )
        finally:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(path: Path, flags: int, mode: int) -> int:
    """Open *path* for writing, and make its directory. It must be, or become, a regular file."""
    try:
        sharing.make_directory(path.parent)
        fd = os.open(path, _COMMON | flags, mode)
    except OSError as error:
        raise _unusable(path, error) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise TreeError(str(path), "not a regular file", "Move it away")
    return fd


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data* to *fd*. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _unusable(path: Path, error: OSError) -> TreeError:
    problem = "a symbolic link" if path.is_symlink() else f"cannot be written: {error.strerror or error}"
    return TreeError(str(path), problem, "Check the path and its directory")


def _file_name(host: str) -> str:
    """Return *host* as it may stand in the name of a file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", host).strip(".-")[:NAME_LIMIT] or "localhost"
