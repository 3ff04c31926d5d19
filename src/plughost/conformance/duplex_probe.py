"""A raw conversation in Content-Length frames: any bytes in, bodies out, and what came in place of a frame.

What is to be written waits in a queue, so that the plugin's own calls can be answered while a long frame is on its
way. Judges nothing.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from plughost_sdk.frames.content_length import ContentLengthDecoder
from plughost_sdk.frames.errors import FrameError

from ..autopsy import ExitStatus
from ..contracts.base import Channel
from ..contracts.duplex.messages import FRAME_BYTES
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from .probe import Probe

HEAD_BYTES = 400  # of what came in place of a frame, to be shown
PIECE_S = 0.02  # how long a byte may wait to be read before the next one follows all the same
GLANCE_S = 0.000_2  # how often to look whether a byte was read


@dataclass(frozen=True, slots=True)
class Hearing:
    """How much of one process is heard before it counts as one that writes without end."""

    bodies: int = 20_000  # a check asks for hundreds, and a plugin that tells all it does sends some for each
    size: int = 134_217_728  # bytes of all together: far more than any check asks for


USUAL = Hearing()


class DuplexProbe(Probe):
    """One started process whose stdout is read as frames. *receive* is given each body, within *hearing*."""

    def __init__(
        self,
        launcher: Launcher,
        binding: Binding,
        receive: Callable[[bytes], None],
        hearing: Hearing = USUAL,
    ) -> None:
        self.broken: FrameError | None = None
        self.flooded = False
        self.is_deaf = False  # what comes now is the end of a killed process, and says nothing
        self.unframed = bytearray()  # what came since the last whole frame; its head only
        self._receive = receive
        self._frames = ContentLengthDecoder(FRAME_BYTES)
        self._posted: deque[bytes] = deque()
        self._size_left, self._bodies_left = hearing.size, hearing.bodies
        self._is_dribbling = False
        super().__init__(launcher, binding)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_deaf = True
        super().__exit__(kind, error, trace)

    @property
    def written(self) -> bool:
        """All that was posted is in the plugin's hands."""
        return not self._outgoing and not self._posted

    @property
    def pending(self) -> int:
        """Bytes of a frame that is not whole yet."""
        return self._frames.pending

    def post(self, data: bytes) -> None:
        """Let *data* be written as soon as what was posted before is."""
        self._posted.append(data)

    def dribble(self, data: bytes, within: float) -> bool:
        """Write *data* byte by byte, each when the last one was read. False if it was not all taken in time."""
        until = time.monotonic() + within
        if not self.work(lambda: self.written, within):
            return False
        self._is_dribbling = True  # what is posted meanwhile has to wait, or it would stand inside the frame
        try:
            return self._dribble(data, within, until)
        finally:
            self._is_dribbling = False

    def _dribble(self, data: bytes, within: float, until: float) -> bool:
        for at in range(len(data)):
            self._outgoing = memoryview(data[at : at + 1])
            if not self.work(lambda: not self._outgoing, until - time.monotonic()):
                return False
            patience = within if at == 0 else PIECE_S  # it may only be starting
            self._await_taking(min(until, time.monotonic() + patience))
        return True

    def _await_taking(self, until: float) -> None:
        while self.unread() and self.exit is None and not self.flooded and time.monotonic() < until:
            select.select([], [], [], GLANCE_S)
            self._step(0)

    def work(self, reached: Callable[[], bool], within: float) -> bool:
        """Read, write and answer until *reached*, or for *within* seconds; False if it was not."""
        return self._work(lambda: reached() or self.broken is not None or self.flooded, within) and reached()

    def wait_exit(self, within: float) -> ExitStatus | None:
        """Return how it ended, or None: not in time, or it writes without end and was not killed."""
        self._work(lambda: self.exit is not None or (self.flooded and not self.is_deaf), within)
        return self.exit

    def _step(self, wait: float) -> None:
        if not self._outgoing and self._posted and not self._is_dribbling:
            self._outgoing = memoryview(self._posted.popleft())
        super()._step(wait)

    def _read(self, channel: Channel) -> int:
        if channel is not Channel.STDOUT:
            return super()._read(channel)
        data = self._data(channel)
        if data is None:
            return 0
        if not data:
            self._frames.receive_eof()
        self._take(data)
        return len(data)

    def _take(self, data: bytes) -> None:
        if self.broken is not None or self.flooded or self.is_deaf:
            return
        self._size_left -= len(data)
        self.flooded = self._size_left < 0
        self.unframed += data[: max(0, HEAD_BYTES - len(self.unframed))]
        self._frames.receive_data(data)
        try:
            while (body := self._frames.next_frame()) is not None:
                self.unframed[:] = b""
                if not self._bodies_left:
                    self.flooded = True
                    return
                self._bodies_left -= 1
                self._receive(body)
                if self._frames.pending:
                    self.unframed += data[-self._frames.pending :][:HEAD_BYTES]
        except FrameError as error:
            self.broken = error
        if self.unframed.startswith((b"{", b"[")):  # or it would be waited for a line that may never end
            self.broken = self.broken or FrameError("JSON without a header")
