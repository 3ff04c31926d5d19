"""Lines: one frame per LF-terminated line. Turns bytes into lines; does not look inside them.

A trailing CR is dropped. The last line may lack its LF: at the end of the stream what is left is a
frame too, but `complete` tells the reader that its end was never seen.
"""

from __future__ import annotations

from .buffer import Buffer
from .errors import FrameError, FrameTooLarge

LF = b"\n"
CR = b"\r"


def encode(body: bytes, limit: int) -> bytes:
    """Return *body* as a line.

    Raises FrameTooLarge if it is longer than *limit* bytes, FrameError if it could not be read back as it is.
    """
    if len(body) > limit:
        raise FrameTooLarge(f"a line of {len(body)} bytes is over the limit of {limit}")
    if LF in body:
        raise FrameError("a line feed inside a frame would end it early")
    if body.endswith(CR):
        raise FrameError("a carriage return at a frame's end would be taken for a part of the line ending")
    return body + LF


class LineDecoder:
    """Turns bytes into lines of at most *limit* bytes, not counting the line ending."""

    __slots__ = ("_buffer", "_eof", "_failure", "complete", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.complete = True  # False once `next_frame` returned a last line that had no LF
        self._buffer = Buffer()
        self._eof = False
        self._failure: FrameError | None = None

    @property
    def pending(self) -> int:
        """Bytes received and not yet returned as a frame."""
        return len(self._buffer)

    @property
    def scanned(self) -> int:
        """Bytes searched so far; equals bytes received when no byte was searched twice."""
        return self._buffer.scanned

    def receive_data(self, data: bytes) -> None:
        if self._failure is None:
            self._buffer.append(data)

    def receive_eof(self) -> None:
        self._eof = True

    def next_frame(self) -> bytes | None:
        """Return the next line without its ending, or None if there is none yet.

        Raises FrameTooLarge as soon as a line cannot be within the limit any more, and again ever after.
        """
        if self._failure is not None:
            raise self._failure
        at = self._buffer.find(LF)
        if at >= 0:
            return self._within_limit(self._buffer.take(at, drop=1))
        # A CR at the end may be part of the ending of a line that just fits.
        if len(self._buffer) - self._buffer.endswith(CR) > self.limit:
            self._fail(len(self._buffer))
        if self._eof and len(self._buffer):
            self.complete = False
            return self._within_limit(self._buffer.take(len(self._buffer)))
        return None

    def _within_limit(self, line: bytes) -> bytes:
        if line.endswith(CR):
            line = line[:-1]
        if len(line) > self.limit:
            self._fail(len(line))
        return line

    def _fail(self, size: int) -> None:
        self._buffer.clear()  # nothing more is read from this stream: give the memory back
        self._failure = FrameTooLarge(f"a line of {size} bytes or more is over the limit of {self.limit}")
        raise self._failure
