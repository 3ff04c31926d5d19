"""Length prefix: four bytes, unsigned, big-endian, then that many bytes. Does not look inside them.

A frame of length zero is legal. A length over the limit is refused from the header alone.
"""

from __future__ import annotations

from .buffer import Buffer
from .errors import FrameError, FrameTooLarge, TruncatedFrame

HEADER_BYTES = 4
LARGEST = 0xFFFF_FFFF  # what the header can say at all


def encode(body: bytes, limit: int) -> bytes:
    """Return *body* behind its length. Raises FrameTooLarge if it is longer than *limit* bytes."""
    if len(body) > min(limit, LARGEST):
        raise FrameTooLarge(f"a frame of {len(body)} bytes is over the limit of {limit}")
    return len(body).to_bytes(HEADER_BYTES, "big") + body


class LengthPrefixDecoder:
    """Turns bytes into frames of at most *limit* bytes."""

    __slots__ = ("_buffer", "_eof", "_failure", "_size", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = Buffer()
        self._size = -1  # of the frame whose header was read, or -1 between frames
        self._eof = False
        self._failure: FrameError | None = None

    @property
    def pending(self) -> int:
        """Bytes received and not yet returned as a frame."""
        return len(self._buffer) + (HEADER_BYTES if self._size >= 0 else 0)

    def receive_data(self, data: bytes) -> None:
        if self._failure is None:
            self._buffer.append(data)

    def receive_eof(self) -> None:
        self._eof = True

    def next_frame(self) -> bytes | None:
        """Return the next frame, or None if there is none yet.

        Raises FrameTooLarge for a header that promises too much, TruncatedFrame for an end of stream inside
        a frame, and the same again ever after.
        """
        if self._failure is not None:
            raise self._failure
        buffer = self._buffer
        if self._size < 0:  # the usual case first: the whole frame is in the run, and is cut out at once
            body = buffer.at + HEADER_BYTES
            size = int.from_bytes(buffer.data[buffer.at : body], "big")
            if size <= self.limit and body + size <= len(buffer.data):
                buffer.at = body + size
                return buffer.data[body : buffer.at]
            if len(buffer) < HEADER_BYTES:
                self._expect_more()
                return None
            self._size = int.from_bytes(buffer.take(HEADER_BYTES), "big")
            if self._size > self.limit:
                self._fail(FrameTooLarge(f"a frame of {self._size} bytes is over the limit of {self.limit}"))
        if len(buffer) < self._size:
            self._expect_more()
            return None
        size, self._size = self._size, -1
        return buffer.take(size)

    def _expect_more(self) -> None:
        if self._eof and self.pending:
            where = "header" if self._size < 0 else "body"
            self._fail(TruncatedFrame(f"the stream ended inside a frame's {where}"))

    def _fail(self, failure: FrameError) -> None:
        self._buffer.clear()  # nothing more is read from this stream: give the memory back
        self._size = -1
        self._failure = failure
        raise failure
