"""A raw conversation with a process, for checks that must see what a well-behaved host would refuse.

It sends any bytes in any pieces and collects whatever comes back, all of it bounded in size and time.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from ..autopsy import ExitStatus
from ..contracts.base import Channel
from ..manifest.binding import Binding
from ..process.launcher import Launcher, Process
from ..process.stderr import printable

TAKING_S = 0.2  # how long a piece may wait to be read before the next one follows all the same
COLLECT_LIMIT = 4_194_304  # bytes of either stream that are kept
KILL = 9
STEP_S = 0.002  # how often what has no descriptor is looked at: pieces taken, exits without a pidfd


class Probe:
    """One started process. Leaving the `with` block kills what is left of it."""

    def __init__(self, launcher: Launcher, binding: Binding) -> None:
        self.process: Process = launcher.launch(binding)
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.eof = False
        self.exit: ExitStatus | None = None
        self._taken = 0  # bytes of stdout already returned as lines
        self._outgoing = memoryview(b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.exit is None:
            self.process.send_signal(KILL)
            self.wait_exit(2.0)
        self.process.dispose()

    def send(self, data: bytes, within: float, *, piece: int = 0) -> bool:
        """Write *data*, in pieces of *piece* bytes if given; False if it was not all taken in time."""
        size = piece or len(data)
        for start in range(0, len(data), size):
            self._outgoing = memoryview(data[start : start + size])
            if not self._work(lambda: not self._outgoing, within):
                return False
            if piece:  # only a piece that was read on its own is a piece
                self._work(lambda: self.unread() == 0, TAKING_S)
        return True

    def unread(self) -> int:
        """Return how many bytes wait in the plugin's stdin."""
        return self.process.unread() if self.process.fileno(Channel.STDIN) >= 0 else 0

    def line(self, within: float) -> bytes | None:
        """Return the next line, or what is left at the end of the stream, or None if nothing came in time."""
        self._work(lambda: b"\n" in self.rest or self.eof, within)
        rest = self.rest
        if not rest:
            return None
        at = rest.find(b"\n")
        if at < 0:
            if not self.eof:
                return None
            at = len(rest)
        self._taken += at + 1
        return rest[:at].removesuffix(b"\r")

    @property
    def rest(self) -> bytes:
        """What has come on stdout and was not taken as a line."""
        return bytes(self.stdout[self._taken :])

    def listen(self, seconds: float) -> bytes:
        """Wait, and return what came meanwhile and was not taken as a line."""
        self._work(lambda: self.eof, seconds)
        return self.rest

    def close_stdin(self) -> None:
        self.process.close(Channel.STDIN)

    def wait_exit(self, within: float) -> ExitStatus | None:
        """Return how it ended, or None if it has not ended in time."""
        self._work(lambda: self.exit is not None, within)
        return self.exit

    def stderr_tail(self) -> str:
        """Return the last line of stderr, printable."""
        lines = printable(bytes(self.stderr[-2000:])).strip().splitlines()
        return lines[-1] if lines else ""

    def _work(self, reached: Callable[[], bool], within: float) -> bool:
        until = time.monotonic() + within
        while not reached():
            left = until - time.monotonic()
            if left <= 0 or (self.exit is not None and self.eof):
                return reached()
            self._step(min(left, STEP_S))
        return True

    def _step(self, wait: float) -> None:
        reading = {self.process.fileno(channel): channel for channel in (Channel.STDOUT, Channel.STDERR)}
        reading.pop(-1, None)
        stdin = self.process.fileno(Channel.STDIN)
        writing = [stdin] if self._outgoing and stdin >= 0 else []
        exits = [self.process.exit_fd] if self.process.exit_fd is not None and self.exit is None else []
        readable, writable, _ = select.select([*reading, *exits], writing, [], wait)
        for fd in readable:
            if fd in reading:
                self._read(reading[fd])
        if writable:
            self._write()
        if self.exit is None and self.process.has_exited():
            self._bury()

    def _data(self, channel: Channel) -> bytes | None:
        """Return what is there to be read: None if nothing is, and no bytes at the end, which is noted."""
        data = self.process.read(channel) if self.process.fileno(channel) >= 0 else None
        if data == b"":
            self.process.close(channel)
            self.eof = self.eof or channel is Channel.STDOUT
        return data

    def _read(self, channel: Channel) -> int:
        data = self._data(channel)
        if not data:
            return 0
        into = self.stdout if channel is Channel.STDOUT else self.stderr
        into += data[: COLLECT_LIMIT - len(into)]
        return len(data)

    def _write(self) -> None:
        try:
            self._outgoing = self._outgoing[self.process.write(self._outgoing) :]
        except OSError:
            self.process.close(Channel.STDIN)

    def _bury(self) -> None:
        for channel in (Channel.STDOUT, Channel.STDERR):
            read = 0
            while read < COLLECT_LIMIT and (count := self._read(channel)):
                read += count  # bounded: a grandchild may go on writing for ever
        self.process.find_survivors(held=not self.eof)
        self.exit = self.process.reap()
        self.eof = True
