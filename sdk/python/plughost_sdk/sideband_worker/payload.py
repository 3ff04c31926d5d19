"""Input of a request, read from stdin.

A host that announces the text of its input also says how long the input is. Older hosts announce an empty text or
nothing. Their input counts as complete when it ends with a line feed and stdin has been silent for a moment.
"""

from __future__ import annotations

from os import read  # now: user code may put something else in its place
from sys import modules

_LOADED = "select" in modules
from select import POLLIN, poll  # noqa: E402  - behind the question whether it was there

from .wire import LINE_BYTES  # noqa: E402

if (
    not _LOADED
):  # a file of that name in the working directory is the user's, and an import of it must find it
    modules.pop("select", None)

CHUNK = 65_536  # bytes per read: what a pipe holds
SILENCE_S = 0.05  # behind a line feed: the input is whole
NEWLINE_S = 2.0  # for the last line feed to come


class Payload:
    """Standard input, which the control thread alone reads. *control*: where announcements come from."""

    def __init__(self, fd: int, control: int) -> None:
        self.fd, self._control = fd, control
        self.ended = False
        self._held = b""  # was read, and belongs to what is announced next
        self._unended = False  # what was taken last lacked the line feed that may still come

    def take(self, announced: bytes) -> bytes:
        """Return as many bytes as were *announced*; fewer if the input ends before, or lacks its last line feed."""
        parts, missing = [], len(announced)
        while missing:
            if (
                missing == 1
                and announced.endswith(b"\n")
                and not self._held
                and not _ready(self.fd, NEWLINE_S)
            ):
                break
            data = self._next(min(missing, 1 << 20))
            if not data:
                break
            if self._unended and data.startswith(b"\n") and not announced.startswith(b"\n"):
                data = data[1:]  # of the input before
            self._unended = False
            parts.append(data)
            missing -= len(data)
        self._unended = missing == 1 or not announced.endswith(b"\n")
        return b"".join(parts)

    def is_announced(self) -> bool:
        """Wait for the host; false if it has written input and no line: it would have written that first."""
        if not self._held:
            _ready(self._control, None, self.fd)
        return _ready(self._control, 0)

    def take_unannounced(self) -> bytes:
        """Return the input that is there; nothing if it is announced after all, which may come a moment later."""
        taken, whole = self._next(CHUNK), False
        while taken and not whole and len(taken) <= LINE_BYTES:
            if not self.ended:
                _ready(self._control, SILENCE_S if taken.endswith(b"\n") else NEWLINE_S, self.fd)
            if _ready(self._control, 0):
                self._held = taken
                return b""
            more = self._next(CHUNK) if not self.ended and _ready(self.fd, 0) else b""
            taken, whole = taken + more, not more
        if self._unended and taken.startswith(b"\n"):
            taken = taken[1:]
        self._unended = bool(taken) and not taken.endswith(b"\n")
        return taken

    def _next(self, size: int) -> bytes:
        if self._held:
            data, self._held = self._held[:size], self._held[size:]
            return data
        try:
            data = read(self.fd, size)
        except OSError:
            data = b""
        self.ended = not data
        return data


def _ready(fd: int, seconds: float | None, *others: int) -> bool:
    """Wait until something can be read from one of these, or the time is over; tell whether something can."""
    asked = poll()
    for each in (fd, *others):
        asked.register(each, POLLIN)
    return bool(asked.poll(None if seconds is None else round(seconds * 1000)))
