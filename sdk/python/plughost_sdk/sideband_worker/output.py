"""Turns what user code prints into bytes on descriptors 1 and 2, in order, and ends a request's bytes with its marks.

The marks go through private copies of the descriptors, so user code that closes or replaces its own does not lose them.
"""

from __future__ import annotations

import io
import os
import sys
from os import dup2, get_blocking, set_blocking  # now: user code may put something else in their place

from .interrupt import invoke
from .link import write_all
from .order import Order, write_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

LINE_BUFFERED = 1  # _IOLBF of every C library we know


class Unbuffered(io.TextIOWrapper):
    """stderr: a text stream that keeps nothing back, and yet writes all of it, as a raw descriptor may not."""

    order: Order  # set once the stream is open

    def write(self, text: str, /) -> int:
        """Write *text* and flush it."""
        is_alone = bool(text) and self.order.to_stderr()
        try:
            count = super().write(text)
            self.flush()
        finally:
            if is_alone:
                self.order.to_stdout()
        return count


class Output:
    """stdout and stderr of this process."""

    def __init__(self) -> None:
        self._kept = (os.dup(1), os.dup(2))
        self.order = Order(self, self._kept)
        self._libc: Any = None
        self._c_stdout: Any = None
        self._open_stdout()
        self._open_stderr()

    def _open_stdout(self) -> None:
        self.stdout = io.TextIOWrapper(_raw(1, "<stdout>"), "utf-8", "backslashreplace", line_buffering=True)
        self.stdout.mode = "w"  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self.stdout  # type: ignore[misc]

    def _open_stderr(self) -> None:
        self.stderr = Unbuffered(_raw(2, "<stderr>"), "utf-8", "backslashreplace", line_buffering=True)
        self.stderr.order = self.order
        self.stderr.mode = "w"  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.stderr  # type: ignore[misc]

    def flush(self) -> None:
        """Hand over what Python and C hold back: user code may have put anything in place of our streams."""
        for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
            if stream is not self.stdout and stream is not self.stderr:
                try:
                    invoke(stream.flush)  # type: ignore[union-attr]
                except Exception:  # noqa: S110  - its own affair
                    pass
        self.flush_own()

    def flush_own(self) -> None:
        """Hand over what our own streams hold back; never a line of user code."""
        _flush(self.stderr)
        self.flush_stdout()

    def flush_stdout(self) -> None:
        """Hand over what our stdout and that of C hold back."""
        _flush(self.stdout)
        if self._libc is not None:
            self._libc.fflush(self._c_stdout)

    def reset_locks(self) -> None:
        """Free our streams in a forked child: a thread that the child does not have may have held their locks."""
        for stream in (self.stdout, self.stderr):
            try:
                buffer: Any = stream.buffer
                buffer.__init__(buffer.raw)  # a new lock, and no bytes: the parent writes those
            except (AttributeError, ValueError):  # closed or detached by user code
                pass

    def mend(self) -> None:
        """Give back what user code has closed, deleted, or made non-blocking for everyone who has this pipe."""
        for fd, kept in ((1, self._kept[0]), (2, self._kept[1])):
            try:
                if not get_blocking(fd):
                    set_blocking(fd, True)
            except OSError:
                dup2(kept, fd)
        if _gone(self.stdout):
            self._open_stdout()
        if _gone(self.stderr):
            self._open_stderr()
        if not hasattr(sys, "stdout"):
            sys.stdout = self.stdout
        if not hasattr(sys, "stderr"):
            sys.stderr = self.stderr

    def say(self, text: str) -> None:
        """Write *text* to stderr past all that user code can put in its place. Raises nothing."""
        try:
            write_all(self._kept[1], text.encode("ascii", "backslashreplace"))
        except BaseException:  # noqa: S110  - the host reads no more, or there is no memory for it
            pass

    def mark(self, mark: bytes) -> None:
        """Write *mark* to both streams. Whatever was written before, by anyone, comes before it."""
        for fd in self._kept:
            write_mark(fd, mark)  # if the host has closed this stream, its end is its mark

    def mark_here(self, mark: bytes) -> bool:
        """Write *mark* to stdout: something that is no text belongs here. Tell whether the host can see it."""
        return write_mark(self._kept[0], mark)

    def attend_c(self, ctypes: ModuleType) -> None:
        """From now on let C code's output come line by line, and flush it: C holds back all that goes to a pipe."""
        if self._libc is not None:
            return
        try:
            libc = ctypes.CDLL(None)
            for name in ("stdout", "__stdoutp"):  # of Linux, of macOS
                try:
                    file = ctypes.c_void_p.in_dll(libc, name)
                except ValueError:
                    continue
                libc.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
                libc.fflush.argtypes = [ctypes.c_void_p]
                libc.setvbuf(file, None, LINE_BUFFERED, 0)
                self._libc, self._c_stdout = libc, file
                return
        except Exception:  # a Python without a C library to open; or a module of the user's own of that name
            return


def _flush(stream: io.TextIOWrapper) -> None:
    try:
        stream.flush()
    except (
        OSError,
        ValueError,
        RuntimeError,
    ):  # the host reads no more; closed; a signal interrupts a write to it
        pass


def _raw(fd: int, name: str) -> io.BufferedWriter:
    raw = io.FileIO(fd, "w", closefd=False)
    raw.name = name
    return io.BufferedWriter(raw)


def _gone(stream: io.TextIOWrapper) -> bool:
    try:
        return stream.closed
    except ValueError:  # detached
        return True
