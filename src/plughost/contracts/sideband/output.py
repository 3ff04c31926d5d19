"""The bytes of one output stream to text and marks, however they are cut. Looks only for the marks it is told of.

Theory of operation. A worker that marks the end of a request writes 0x1e, the request's token and 0x1e to the pipe
itself. A pipe keeps its order, so whatever anyone wrote before is before the mark. The token is random: text that only
looks like a mark is text. Bytes that may be the beginning of a mark are held back until it is known; as the token holds
no 0x1e, they can only begin at the last one.
"""

from __future__ import annotations

import codecs
import re
import secrets
from collections.abc import Iterator
from typing import NamedTuple

SEPARATOR = b"\x1e"
TOKEN_DIGITS = 32  # hexadecimal, of a mark: 128 bits cannot be met by chance
COUNTED_DIGITS = 8  # of a counted mark: the last ones, which count
MOST_EXPECTED = 8  # marks: those that were promised and did not come are forgotten, oldest first
MARKS_AHEAD = 4  # counted marks that are looked for: the next one, and some in case it was lost
_CANDIDATE = re.compile(b"\x1e[^\x1e]{1,256}\x1e")  # the longest mark that a worker takes


def new_token() -> str:
    """Return the token of a mark, which nobody can guess."""
    return secrets.token_hex(TOKEN_DIGITS // 2)


def sequence(token: str) -> bytes:
    """Return the bytes that a worker writes as the mark of *token*."""
    return SEPARATOR + token.encode("ascii") + SEPARATOR


def counted_token(base: str, number: int) -> str:
    """Return the token of mark *number* of those that are made from *base*."""
    count = (int(base[-COUNTED_DIGITS:], 16) + number) % 16**COUNTED_DIGITS
    return f"{base[:-COUNTED_DIGITS]}{count:0{COUNTED_DIGITS}x}"


class _Expected(NamedTuple):
    pattern: bytes
    request_id: int


class Marked(NamedTuple):
    """The mark of a request was here."""

    request_id: int


class ImageMarked(NamedTuple):
    """The mark of a request's picture was here. *number* counts from 1."""

    number: int


class OrderMarked(NamedTuple):
    """An order mark was here. *number* counts from 1."""

    number: int


class _Counted:
    """Marks of one kind that a request may write, counted from 1, made from *base*; none if that is None."""

    __slots__ = ("_ahead", "_next", "base")

    def __init__(self) -> None:
        self.expect(None)

    def expect(self, base: str | None) -> None:
        self.base = base
        self._next = 1
        self._ahead: list[bytes] | None = [] if base is None else None  # None: nobody has looked for them yet

    @property
    def patterns(self) -> list[bytes]:
        """The next ones. Most requests write none, and nobody asks."""
        if self._ahead is None:
            self._ahead = []
            self._look_ahead()
        return self._ahead

    @property
    def following(self) -> bytes:
        """The next one, or nothing."""
        return self.patterns[0] if self.base is not None else b""

    def _look_ahead(self) -> None:
        if self.base is not None and self._ahead is not None:
            first = self._next + len(self._ahead)
            for number in range(first, self._next + MARKS_AHEAD):
                self._ahead.append(sequence(counted_token(self.base, number)))

    def pass_mark(self, pattern: bytes) -> int:
        """Return the number of *pattern*. Those before it can no longer come."""
        index = self.patterns.index(pattern)
        number = self._next + index
        self._next = number + 1
        del self.patterns[: index + 1]
        self._look_ahead()
        return number

    def number_of(self, token: str) -> int | None:
        """Return which of these marks *token* makes, or None if it makes none."""
        if self.base is None or len(token) != TOKEN_DIGITS:
            return None
        try:
            number = int(token[-COUNTED_DIGITS:], 16) - int(self.base[-COUNTED_DIGITS:], 16)
        except ValueError:
            return None
        number %= 16**COUNTED_DIGITS
        return number if number and counted_token(self.base, number) == token else None


class OutputStream:
    """Decodes one stream, as UTF-8 with U+FFFD for what is none."""

    __slots__ = ("_decoder", "_expected", "_held", "_images", "_order", "ended")

    def __init__(self) -> None:
        self.ended = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._expected: list[_Expected] = []  # in the order in which they can come
        self._held = b""
        self._images = _Counted()
        self._order = _Counted()

    def expect(self, token: str, request_id: int) -> None:
        """A mark of *token* will end *request_id*."""
        if not self.ended:
            self._expected = [*self._expected, _Expected(sequence(token), request_id)][-MOST_EXPECTED:]

    def forget(self, request_id: int) -> None:
        """No mark will end *request_id*."""
        self._expected = [each for each in self._expected if each.request_id != request_id]

    def expect_images(self, base: str | None) -> None:
        """Marks of pictures, made from *base*, may come until the next mark of a request; or none any more."""
        self._images.expect(None if self.ended else base)

    def expect_order(self, base: str | None) -> None:
        """Order marks, made from *base*, may come until the next mark of a request; or none any more."""
        self._order.expect(None if self.ended else base)

    def image_number(self, token: str) -> int | None:
        """Return which picture of the request *token* marks, or None if it marks none."""
        return self._images.number_of(token)

    @property
    def next_marked(self) -> int | None:
        """The request whose mark comes next, and to which what comes before it belongs."""
        return self._expected[0].request_id if self._expected else None

    def awaits(self, request_id: int) -> bool:
        """Tell whether the mark of *request_id* is still to come."""
        for each in self._expected:  # noqa: SIM110  asked several times a request, and mostly of nothing
            if each.request_id == request_id:
                return True
        return False

    def receive_data(self, data: bytes) -> Iterator[str | Marked | ImageMarked | OrderMarked]:
        """Yield text and marks in their order. Take all of it: it is decoded as it is taken."""
        if self._held:
            data, self._held = self._held + data, b""
        start = 0
        while (found := self._find(data, start)) is not None:
            at, pattern = found
            # A character does not go on behind the end of a request, but it does behind a counted mark.
            final = any(pattern == each.pattern for each in self._expected)
            if (at > start or final) and (text := self._decoder.decode(data[start:at], final=final)):
                yield text
            yield self._pass(pattern)
            start = at + len(pattern)
        if start:
            data = data[start:]
        if not data:
            return
        kept = len(data) - self._beginning(data)
        self._held = data[kept:]
        if text := self._decoder.decode(data[:kept] if self._held else data):
            yield text

    def receive_eof(self) -> str:
        """Return what was held back: nothing more comes, and no mark either."""
        text = self._decoder.decode(self._held, final=True)
        self._held, self._expected, self.ended = b"", [], True
        self.expect_images(None)
        self.expect_order(None)
        return text

    def seal(self) -> str:
        """Return what is left of a character that was cut off, because what follows is something else."""
        return "" if self._held else self._decoder.decode(b"", final=True)

    def _pass(self, pattern: bytes) -> Marked | ImageMarked | OrderMarked:
        """Say whose mark *pattern* is. Those before it can no longer come."""
        if self._expected and pattern == self._expected[0].pattern:  # nearly always
            return Marked(self._expected.pop(0).request_id)
        if pattern in self._order.patterns:
            return OrderMarked(self._order.pass_mark(pattern))
        if pattern in self._images.patterns:
            return ImageMarked(self._images.pass_mark(pattern))
        index = next(at for at, each in enumerate(self._expected) if each.pattern == pattern)
        mark = self._expected[index]
        del self._expected[: index + 1]
        return Marked(mark.request_id)

    def _patterns(self) -> list[bytes]:
        return [*(each.pattern for each in self._expected), *self._images.patterns, *self._order.patterns]

    def _find(self, data: bytes, start: int) -> tuple[int, bytes] | None:
        """Return where the first mark from *start* on is, and which."""
        first = data.find(SEPARATOR, start)
        if first < 0:
            return None
        for pattern in (self._expected[0].pattern if self._expected else b"", self._order.following):
            if pattern and data.startswith(pattern, first):
                return first, pattern  # nearly always; and no other can be before it
        patterns = self._patterns()
        while (found := _CANDIDATE.search(data, first)) is not None:
            if found[0] in patterns:
                return found.start(), found[0]
            first = found.end() - 1  # its second separator may begin a mark
        return None

    def _beginning(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a mark."""
        at = data.rfind(SEPARATOR, -min(len(data), TOKEN_DIGITS + 1)) if data else -1
        if at < 0:
            return 0
        end = data[at:]
        return len(end) if any(pattern.startswith(end) for pattern in self._patterns()) else 0
