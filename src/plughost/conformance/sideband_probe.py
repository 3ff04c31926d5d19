"""A raw conversation over five pipes: any bytes to stdin and the sideband, lines and output back. Judges nothing.

What came over the sideband is handed on only when the output that was there before it has been read, so that whoever
looks at a line knows all that was printed before it was written.
"""

from __future__ import annotations

import select
from collections.abc import Callable

from ..contracts.base import Channel
from ..contracts.sideband.messages import LINE_BYTES
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from .probe import Probe

HEARD_BYTES = 67_108_864  # of either stream that are kept: far more than any check asks for
LINES = 50_000  # of the sideband, before the worker counts as one that writes without end
DRAIN_BYTES = 1_048_576  # of output that are read before a line: more than a pipe holds
OUTPUT = (Channel.STDOUT, Channel.STDERR)
READ = (*OUTPUT, Channel.CONTROL_IN)


class SidebandProbe(Probe):
    """One started worker. *receive* is given each line of the sideband."""

    def __init__(self, launcher: Launcher, binding: Binding, receive: Callable[[bytes], None]) -> None:
        self.is_long = False  # a line was over the limit: nothing of the sideband is read since
        self.flooded = False
        self.is_silent = False  # the sideband is at its end
        self._receive = receive
        self._line = bytearray()
        self._lines_left = LINES
        self._waiting: dict[Channel, bytearray] = {
            Channel.STDIN: bytearray(),
            Channel.CONTROL_OUT: bytearray(),
        }
        super().__init__(launcher, binding)

    def post(self, channel: Channel, data: bytes) -> None:
        """Let *data* be written as soon as what was posted before is."""
        self._waiting[channel] += data

    def written(self) -> bool:
        """All that was posted is written, or will never be."""
        return not any(data for channel, data in self._waiting.items() if self.process.fileno(channel) >= 0)

    def work(self, reached: Callable[[], bool], within: float) -> bool:
        """Read and write until *reached*, or for *within* seconds; False if it was not."""
        return self._work(lambda: reached() or self.is_long or self.flooded, within) and reached()

    def close(self, channel: Channel) -> None:
        self.process.close(channel)

    def _step(self, wait: float) -> None:
        reading = {fd: each for each in READ if (fd := self.process.fileno(each)) >= 0}
        writing = {
            fd: each
            for each in self._waiting
            if (fd := self.process.fileno(each)) >= 0 and self._waiting[each]
        }
        exits = [self.process.exit_fd] if self.process.exit_fd is not None and self.exit is None else []
        readable, writable, _ = select.select([*reading, *exits], list(writing), [], wait)
        for fd in sorted((fd for fd in readable if fd in reading), key=lambda fd: READ.index(reading[fd])):
            self._read(reading[fd])
        for channel in (Channel.CONTROL_OUT, Channel.STDIN):  # the line first, then what it announces
            if self.process.fileno(channel) in writable:
                self._send(channel)
        if self.exit is None and self.process.has_exited():
            self._drain_sideband()
            self._bury()

    def _read(self, channel: Channel) -> int:
        data = self._data(channel)
        if data is None:
            return 0
        if not data and channel is Channel.CONTROL_IN:
            self.is_silent = True
        if channel is Channel.CONTROL_IN:
            self._hear(data)
        elif data:
            into = self.stdout if channel is Channel.STDOUT else self.stderr
            into += data[: HEARD_BYTES - len(into)]
        return len(data)

    def _hear(self, data: bytes) -> None:
        """Take lines: after the output that was written before them."""
        for channel in OUTPUT:
            read = 0
            while read < DRAIN_BYTES and (count := self._read(channel)):
                read += count
        if self.is_long or self.flooded:
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = bytes(self._line) + line
            self._line.clear()
            self._take(whole)
        self._line += rest
        if not data and self._line:
            self._take(bytes(self._line))
        if len(self._line) > LINE_BYTES:
            self.is_long = True

    def _take(self, line: bytes) -> None:
        self._lines_left -= 1
        self.flooded = self._lines_left < 0
        self.is_long = self.is_long or len(line) > LINE_BYTES
        if line.strip() and not self.flooded and not self.is_long:
            self._receive(line.removesuffix(b"\r"))

    def _send(self, channel: Channel) -> None:
        try:
            del self._waiting[channel][: self.process.write(bytes(self._waiting[channel][:65_536]), channel)]
        except OSError:
            self.process.close(channel)

    def _drain_sideband(self) -> None:
        read = 0
        while read < HEARD_BYTES and (count := self._read(Channel.CONTROL_IN)):
            read += count
