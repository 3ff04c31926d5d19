"""A raw conversation in frames: any bytes in, whole frames out, however long they claim to be. Judges nothing."""

from __future__ import annotations

import select
import time

from plughost_sdk.frames.length_prefix import HEADER_BYTES

from ..contracts.base import Channel
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from .probe import COLLECT_LIMIT, Probe

FRAMES_KEPT = 3  # frames of the full length that are kept of one process: more are asked of none
SPARE_BYTES = 1_048_576  # for headers, small frames and what does not belong there
TAKING_S = 0.2  # how long a byte may wait to be read; the rest then follows at once
GLANCE_S = 0.000_2  # how often to look whether a byte was read


class FrameProbe(Probe):
    """One started process whose stdout is read as frames of at most *limit* bytes."""

    def __init__(self, launcher: Launcher, binding: Binding, limit: int) -> None:
        super().__init__(launcher, binding)
        self.promised: int | None = None  # by a header that is over the limit: no frame is read after it
        self._limit = limit
        self._keep = FRAMES_KEPT * limit + SPARE_BYTES

    def frame(self, within: float) -> bytes | None:
        """Return the body of the next frame, or None if none came whole in time, or it would be too long."""
        self._work(lambda: self._whole() or self.eof, within)
        if not self._whole() or self.promised is not None:
            return None
        start = self._taken + HEADER_BYTES
        self._taken = start + self._size()
        return bytes(self.stdout[start : self._taken])

    def drop(self) -> bytes:
        """Return what has come and is no frame that was waited for; it is not returned again."""
        dropped = self.rest
        self._taken = len(self.stdout)
        return dropped

    def dribble(self, data: bytes, within: float) -> bool:
        """Write *data* byte by byte, each when the last one was read; False if it was not all taken in time."""
        until = time.monotonic() + within
        patience = within  # for the first byte: the process may only be starting
        for at in range(len(data)):
            if not self.send(data[at : at + 1], until - time.monotonic()):
                return False
            if not self._is_read(min(patience, until - time.monotonic())):
                rest = data[at + 1 :]
                return not rest or self.send(rest, max(TAKING_S, until - time.monotonic()))
            patience = TAKING_S
        return True

    def _is_read(self, within: float) -> bool:
        until = time.monotonic() + within
        while self.unread():
            if time.monotonic() >= until or self.exit is not None:
                return False
            select.select([], [], [], GLANCE_S)
            self._step(0)
        return True

    def _size(self) -> int:
        return int.from_bytes(self.stdout[self._taken : self._taken + HEADER_BYTES], "big")

    def _whole(self) -> bool:
        """Tell whether a frame can be taken, or never will be."""
        there = len(self.stdout) - self._taken
        if there < HEADER_BYTES:
            return False
        if self._size() > self._limit:
            self.promised = self._size()
        return self.promised is not None or there >= HEADER_BYTES + self._size()

    # The plain probe keeps less than a frame; these keep as much as was asked for.

    def _read(self, channel: Channel) -> int:
        data = self._data(channel)
        if not data:
            return 0
        into, room = self._kept(channel)
        into += data[:room]
        return len(data)

    def _kept(self, channel: Channel) -> tuple[bytearray, int]:
        """Return what is kept of *channel*, and how much more may be."""
        is_stdout = channel is Channel.STDOUT
        kept, limit = (self.stdout, self._keep) if is_stdout else (self.stderr, COLLECT_LIMIT)
        return kept, max(0, limit - len(kept))

    def _bury(self) -> None:
        for channel in (Channel.STDOUT, Channel.STDERR):
            while self._kept(channel)[1] and self._read(
                channel
            ):  # not for ever: a grandchild may go on writing
                pass
        self.process.find_survivors(held=not self.eof)
        self.exit = self.process.reap()
        self.eof = True
