"""Lines: one frame per LF-terminated line. Turns bytes into lines; does not look inside them.

A trailing CR is dropped. The last line may lack its LF: at the end of the stream what is left is a
frame too, but `complete` tells the reader that its end was never seen.
"""

from __future__ import annotations

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
    """Turns bytes into lines of at most *limit* bytes, not counting the line ending.

    Each piece is split once, when it arrives; pieces of an unfinished line are kept apart and joined when its
    end comes. So no byte is searched or copied twice, however a line is cut.
    """

    __slots__ = (
        "_eof",
        "_failure",
        "_partial",
        "_partial_size",
        "_whole",
        "complete",
        "limit",
        "pending",
        "scanned",
    )

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.complete = True  # False once `next_frame` returned a last line that had no LF
        self.pending = 0  # bytes received and not yet returned as a frame
        self.scanned = 0  # bytes searched for line ends, in all: asserted in tests, never read in production
        self._whole: list[bytes] = []  # in reverse, so that taking the next one is taking the last
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._eof = False
        self._failure: FrameError | None = None

    def receive_data(self, data: bytes) -> None:
        if self._failure is not None:
            return
        self.pending += len(data)
        self.scanned += len(data)
        lines = data.split(LF)
        rest = lines.pop()
        if lines:
            if self._partial:
                lines[0] = b"".join((*self._partial, lines[0]))
                self._partial.clear()
                self._partial_size = 0
            lines.reverse()
            self._whole = lines + self._whole if self._whole else lines
        if rest:
            self._partial.append(rest)
            self._partial_size += len(rest)

    def receive_eof(self) -> None:
        self._eof = True

    def next_frame(self) -> bytes | None:
        """Return the next line without its ending, or None if there is none yet.

        Raises FrameTooLarge as soon as a line cannot be within the limit any more, and again ever after.
        """
        if self._whole:
            line = self._whole.pop()
            self.pending -= len(line) + 1
            return self._within_limit(line)
        if self._failure is not None:
            raise self._failure
        if not self._partial:
            return None
        # A CR at the end may be part of the ending of a line that just fits.
        if self._partial_size - self._partial[-1].endswith(CR) > self.limit:
            self._fail(self._partial_size)
        if not self._eof:
            return None
        line = b"".join(self._partial)
        self._partial.clear()
        self._partial_size = self.pending = 0
        self.complete = False
        return self._within_limit(line)

    def _within_limit(self, line: bytes) -> bytes:
        if line.endswith(CR):
            line = line[:-1]
        if len(line) > self.limit:
            self._fail(len(line))
        return line

    def _fail(self, size: int) -> None:
        self._whole.clear()  # nothing more is read from this stream: give the memory back
        self._partial.clear()
        self._partial_size = self.pending = 0
        self._failure = FrameTooLarge(f"a line of {size} bytes or more is over the limit of {self.limit}")
        raise self._failure
