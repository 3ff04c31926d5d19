"""Bounded decoder of a plugin's messages.

Theory of operation. Most messages are short, and decoded at once. A large one is counted while it arrives (see
`meter`). As soon as it holds more values than it may, or a text that would take more memory than a frame, is nested too
deep, or is not UTF-8, the rest of it is passed over and nothing of it is kept but its two ends: they tell what it was,
so that whoever waits for it can be told.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace
from plughost_sdk.frames.content_length import ContentLengthDecoder
from plughost_sdk.frames.errors import TruncatedFrame

from ...messages import jsonrpc
from ...messages.jsonrpc import ErrorResponse, Ignored, Message, Notification, Reason, Request, Response
from ...messages.meter import WINDOW, Meter
from ...messages.strict_json import LARGE_FRAME
from .messages import FRAME_BYTES, PLUGIN_METHODS

ANYTHING = 4  # times as much memory as a typed value takes one that may be anything
HEAD_BYTES = 400  # of what is no frame, kept to be shown
END_BYTES = 1_024  # of each end of a message that is passed over: what it is stands there
# A lone quote begins a text that ends elsewhere.
_OPENER = re.compile(rb'"(?:[^"\\]++|\\.)*+"|([\[{"])', re.DOTALL)


class Overfull(NamedTuple):
    """A request that was passed over, and why."""

    request: Request
    detail: str


class Inbox:
    """The messages of one process. *values* are those of the last message, if it was large, and else 0."""

    __slots__ = (
        "_ends",
        "_frames",
        "_fresh",
        "_limit",
        "_meter",
        "_most",
        "_problem",
        "_rest",
        "head",
        "values",
    )

    def __init__(self, limit: int, most: int) -> None:
        self.values = 0
        self.head = b""  # of what came last
        self._limit = limit  # bytes of a body
        self._most = most  # values of a message
        self._frames = ContentLengthDecoder(limit)
        self._fresh = b""  # what came last: the end of what is not read yet
        self._meter: Meter | None = None  # of the message that arrives
        self._ends = (b"", b"")  # of the message that arrives
        self._problem: Ignored | None = None  # of the message that is passed over
        self._rest = 0  # bytes of it that have not come yet

    @property
    def is_between(self) -> bool:
        """Whether everything that came was read: the next byte is the first of a frame."""
        return self._frames.is_between and self._problem is None

    def receive_data(self, data: bytes) -> None:
        if self._rest:
            data = self._pass_over(data)
        self._fresh, self.head = data, data[:HEAD_BYTES]
        if data:
            self._frames.receive_data(data)

    def receive_eof(self) -> None:
        self._frames.receive_eof()

    def next_message(self) -> tuple[bytes, Message | Ignored | Overfull] | None:
        """Return the next body and what it says, or None if there is none yet. Raises FrameError."""
        if self._problem is not None:
            return self._passed_over(self._problem)
        body = self._frames.next_frame()
        if body is None:
            if self._frames.awaited >= LARGE_FRAME:
                self._measure()
            return None
        if len(body) < LARGE_FRAME:
            self.values = 0
            return body, jsonrpc.decode(body)
        return self._read_large(body)

    def excess(self, answer: Response | ErrorResponse, method: str) -> str:
        """Say by how much the message read last, the *answer* to *method*, would take more memory than it may; or "".

        What may be anything takes more than what the contract has a type for.
        """
        is_typed = method in PLUGIN_METHODS and isinstance(answer, Response)
        most = self._most if is_typed else self._most // ANYTHING
        return f"its answer to {method} holds over {most} values" if self.values > most else ""

    def _read_large(self, body: bytes) -> tuple[bytes, Message | Ignored | Overfull]:
        meter, self._meter = self._meter or Meter(), None
        while meter.size < len(body) and not self._flaw(meter):
            meter.feed(body[meter.size : meter.size + WINDOW])
        meter.end()
        problem, self.values = self._flaw(meter), meter.values
        if problem is not None:
            return body[:END_BYTES], _known(body[:END_BYTES], body[-END_BYTES:], problem)
        return body, jsonrpc.decode_measured(body)

    def _measure(self) -> None:
        """Count what has come of a large message. One that holds too much is not kept any longer."""
        if self._meter is None:
            self._meter, self._ends = Meter(), (b"", b"")
        meter, received = self._meter, self._frames.received
        if received == meter.size:
            return
        piece = self._fresh[meter.size - received :]
        meter.feed(piece)
        head, tail = self._ends
        self._ends = head + piece[: END_BYTES - len(head)], (tail + piece[-END_BYTES:])[-END_BYTES:]
        problem = self._flaw(meter)
        if problem is not None:
            self._meter, self._fresh = None, b""
            self._problem, self._rest = problem, self._frames.awaited - received
            self._frames = ContentLengthDecoder(self._limit)

    def _flaw(self, meter: Meter) -> Ignored | None:
        if meter.values > self._most:
            return Ignored(Reason.TOO_MANY_VALUES, f"a message holds over {self._most} values")
        if meter.held > FRAME_BYTES:
            return Ignored(Reason.NOT_A_MESSAGE, f"a text takes over {FRAME_BYTES} bytes of memory")
        return None if meter.flaw is None else Ignored(Reason.NOT_A_MESSAGE, f"message: {meter.flaw}")

    def _pass_over(self, data: bytes) -> bytes:
        """Return what follows in *data* the message that is passed over."""
        passed = data[: self._rest]
        self._rest -= len(passed)
        head, tail = self._ends
        self._ends = head + passed[: END_BYTES - len(head)], (tail + passed[-END_BYTES:])[-END_BYTES:]
        return data[len(passed) :]

    def _passed_over(self, problem: Ignored) -> tuple[bytes, Ignored | Overfull] | None:
        if self._rest:
            if self._frames.has_ended:
                raise TruncatedFrame("the stream ended inside a frame's body")
            return None
        (head, tail), self._ends = self._ends, (b"", b"")
        self._problem, self.values = None, 0
        return head, _known(head, tail, problem)


def _known(head: bytes, tail: bytes, problem: Ignored) -> Ignored | Overfull:
    """Return which message begins with *head* and ends with *tail*: what is large in it is left out."""
    openers = (found.start() for found in _OPENER.finditer(head) if found[1])
    next(openers, None)  # of the message itself
    start, end = next(openers, 0), tail.rstrip()[:-1]
    closers = b'"' if head[start : start + 1] == b'"' else b"]}"
    rest = end[max(end.rfind(closer) for closer in closers) + 1 :]
    match jsonrpc.decode(head[:start] + b"null" + rest + b"}"):
        case Request() as request:
            return Overfull(request, problem.detail)
        case Response(id) | ErrorResponse(id):
            return replace(problem, id=id)
        case Notification() | Ignored():
            return problem
