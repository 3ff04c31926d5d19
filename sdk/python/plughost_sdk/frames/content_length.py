"""Content-Length: an ASCII header block, a blank line, then that many bytes. Does not look inside them.

Strict where leniency would let two readers disagree: CRLF only, one Content-Length and no other header,
plain ASCII digits. `int()` would take `+5`, `1_000` and the digits of other scripts; this does not.
"""

from __future__ import annotations

from .buffer import Buffer
from .errors import FrameError, FrameTooLarge, TruncatedFrame

HEADER_LIMIT = 8192  # bytes of a whole header block, line ends and blank line included
LONGEST_NUMBER = 20  # digits of 2**64: longer ones are refused before they are turned into a number
SHORT_BODY = 1_024  # bytes; header blocks of these are kept, and not written or read anew
_BLANKS = b" \t\r"
_USUAL = b"Content-Length: "
_BLANK_LINE = b"\r\n\r\n"
_LONGEST_USUAL = len(_USUAL) + LONGEST_NUMBER + len(_BLANK_LINE)


_heads: dict[int, bytes] = {}  # of short frames, by the length of their bodies
_heads_of: dict[int, bytes] = {}  # the same, by the length of the whole frame
_sizes: dict[bytes, int] = {}  # the other way round


def _head(size: int) -> bytes:
    """Return the header block of a body of *size* bytes, and keep it if there may be many such."""
    head = b"Content-Length: %d\r\n\r\n" % size
    if size <= SHORT_BODY:
        _heads[size] = _heads_of[len(head) + size] = head
        _sizes[head] = size
    return head


def header(size: int) -> bytes:
    """Return the header block of a body of *size* bytes."""
    return _heads.get(size) or _head(size)


def encode(body: bytes, limit: int) -> bytes:
    """Return *body* behind its header block. Raises FrameTooLarge if it is longer than *limit* bytes."""
    size = len(body)
    if size > limit:
        raise FrameTooLarge(f"a body of {size} bytes is over the limit of {limit}")
    return (_heads.get(size) or _head(size)) + body


def cut(data: bytes, at: int, limit: int) -> tuple[int, int] | None:
    """Return where the body of the frame at *at* begins and ends, if it is of the usual spelling and whole in *data*.

    None says nothing: a decoder has to look more closely.
    """
    body = data.find(_BLANK_LINE, at, at + _LONGEST_USUAL) + len(_BLANK_LINE)
    size = _sizes.get(data[at:body])
    if size is None:
        digits = data[at + len(_USUAL) : body - len(_BLANK_LINE)]
        if body < len(_BLANK_LINE) or not digits.isdigit() or not data.startswith(_USUAL, at):
            return None
        size = int(digits)
        _head(size)  # more of this size may follow
    end = body + size
    return (body, end) if size <= limit and end <= len(data) else None


def only(data: bytes) -> bytes | None:
    """Return the body of the frame that *data* is, if it is one frame of the usual spelling and nothing besides.

    None says nothing: a decoder has to look more closely.
    """
    head = _heads_of.get(len(data)) or _head(len(data.partition(_BLANK_LINE)[2]))
    return data[len(head) :] if data.startswith(head) else None


class ContentLengthDecoder:
    """Turns bytes into bodies of at most *limit* bytes behind header blocks of at most *header_limit*."""

    __slots__ = (
        "_buffer",
        "_eof",
        "_failure",
        "_header_bytes",
        "_length",
        "_size",
        "_usual",
        "_usual_size",
        "header_limit",
        "is_between",
        "limit",
    )

    def __init__(self, limit: int, header_limit: int = HEADER_LIMIT) -> None:
        self.limit = limit
        self.header_limit = header_limit
        self.is_between = True  # everything received was returned: the next byte is the first of a frame
        self._buffer = Buffer()
        self._header_bytes = 0  # of the block being read, whole lines only
        self._length = -1  # what the block being read has promised, or -1
        self._size = -1  # of the body being read, or -1 while reading a header block
        self._usual: bytes | tuple[()] = ()  # the last usual header block: the next is often the same
        self._usual_size = 0  # of the body that it promises
        self._eof = False
        self._failure: FrameError | None = None

    @property
    def pending(self) -> int:
        """Bytes received and not yet returned as a frame."""
        return len(self._buffer) + self._header_bytes

    @property
    def awaited(self) -> int:
        """How long the body is that is being read, by its header; -1 between two bodies."""
        return self._size

    @property
    def received(self) -> int:
        """How many bytes of the body that is being read have come."""
        return len(self._buffer)

    @property
    def has_ended(self) -> bool:
        """Whether the stream has ended."""
        return self._eof

    @property
    def scanned(self) -> int:
        """Bytes searched for line ends so far; bodies are never searched."""
        return self._buffer.scanned

    def receive_data(self, data: bytes) -> None:
        self.is_between = False
        if self._failure is None:
            self._buffer.append(data)

    def receive_eof(self) -> None:
        self._eof = True

    def next_frame(self) -> bytes | None:
        """Return the next body, or None if there is none yet.

        Raises FrameError for a header that is not ours, FrameTooLarge for one that promises too much,
        TruncatedFrame for an end of stream inside a frame, and the same again ever after.
        """
        if self._failure is not None:
            raise self._failure
        if self._size < 0:
            if self._buffer.is_empty and not self._eof and not self._header_bytes:
                self.is_between = True
                return None
            frame = self.next_usual()
            if frame is not None:
                return frame
            if not self._read_header():
                self._expect_more()
                return None
        if len(self._buffer) < self._size:
            self._expect_more()
            return None
        size, self._size, self._header_bytes = self._size, -1, 0
        frame = self._buffer.take(size)
        self.is_between = self._buffer.is_empty
        return frame

    def next_usual(self) -> bytes | None:
        """Like `next_frame`, in fewer steps, of a frame of the usual spelling that is whole in one run of bytes.

        None says nothing: `next_frame` has to look more closely.
        """
        if self._header_bytes:
            return None
        buffer = self._buffer
        data, at = buffer.data, buffer.at
        if data.startswith(self._usual, at):
            body = at + len(self._usual)
            end = body + self._usual_size
            if end > len(data):
                return None
        else:
            found = cut(data, at, self.limit)
            if found is None or found[0] - at > self.header_limit:
                return None
            body, end = found
            self._usual, self._usual_size = data[at:body], end - body
        buffer.scanned += body - at
        buffer.at = end
        if end == len(data) and buffer.is_empty:
            # What is returned is not held as well until more comes, which may be hours.
            buffer.data, buffer.at = b"", 0
            self.is_between = True
        return data[body:end]

    def _read_header(self) -> bool:
        """Read header lines as far as they go; True once the blank line was seen."""
        while True:
            at = self._buffer.find(b"\n")
            if self._header_bytes + (len(self._buffer) if at < 0 else at + 1) > self.header_limit:
                self._fail(FrameTooLarge(f"a header block is over {self.header_limit} bytes"))
            if at < 0:
                return False
            line = self._buffer.take(at, drop=1)
            self._header_bytes += at + 1
            if not line.endswith(b"\r"):
                self._fail(FrameError(f"a header line does not end in CRLF: {line[:80]!r}"))
            if line == b"\r":
                self._end_header()
                return True
            self._read_field(line[:-1])

    def _read_field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon:
            self._fail(FrameError(f"a header line has no colon: {line[:80]!r}"))
        if name.strip(_BLANKS).lower() != b"content-length":
            self._fail(FrameError(f"a header other than Content-Length: {line[:80]!r}"))
        if self._length >= 0:
            self._fail(FrameError("Content-Length is given twice"))
        digits = value.strip(_BLANKS)
        if not digits.isdigit() or len(digits) > LONGEST_NUMBER:
            self._fail(FrameError(f"Content-Length is not a plain number: {digits[:80]!r}"))
        self._length = int(digits)

    def _end_header(self) -> None:
        if self._length < 0:
            self._fail(FrameError("a header block has no Content-Length"))
        if self._length > self.limit:
            self._fail(FrameTooLarge(f"a body of {self._length} bytes is over the limit of {self.limit}"))
        self._size, self._length = self._length, -1

    def _expect_more(self) -> None:
        if self._eof and (self.pending or self._size >= 0):
            where = "header" if self._size < 0 else "body"
            self._fail(TruncatedFrame(f"the stream ended inside a frame's {where}"))

    def _fail(self, failure: FrameError) -> None:
        self._buffer.clear()  # nothing more is read from this stream: give the memory back
        self._header_bytes = 0
        self._failure = failure
        raise failure
