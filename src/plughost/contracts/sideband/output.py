"""The bytes of one output stream to text and marks, however they are cut. Looks only for the marks it is told of.

Theory of operation. A worker that marks the end of a request writes 0x1e, the request's token and 0x1e to the pipe
itself. A pipe keeps its order, so whatever anyone wrote before is before the mark. The token is random: text that only
looks like a mark is text. Bytes that may be the beginning of a mark are held back until it is known; as the token holds
no 0x1e, they can only begin at the last one.
"""

from __future__ import annotations

import codecs
import secrets
from collections.abc import Iterator
from typing import NamedTuple

SEPARATOR = b"\x1e"
TOKEN_DIGITS = 32  # hexadecimal, of a mark: 128 bits cannot be met by chance
COUNTED_DIGITS = 8  # of the marks of pictures: the last ones, which count them
MOST_EXPECTED = 8  # marks: those that were promised and did not come are forgotten, oldest first
IMAGES_AHEAD = 4  # marks of pictures that are looked for: the next one, and some in case it was lost


def new_token() -> str:
    """Return the token of a mark, which nobody can guess."""
    return secrets.token_hex(TOKEN_DIGITS // 2)


def sequence(token: str) -> bytes:
    """Return the bytes that a worker writes as the mark of *token*."""
    return SEPARATOR + token.encode("ascii") + SEPARATOR


def image_token(base: str, number: int) -> str:
    """Return the token of the mark of picture *number* of a request whose pictures are marked from *base*."""
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


class OutputStream:
    """Decodes one stream, as UTF-8 with U+FFFD for what is none."""

    __slots__ = ("_ahead", "_base", "_decoder", "_expected", "_held", "_next_image", "ended")

    def __init__(self) -> None:
        self.ended = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._expected: list[_Expected] = []  # in the order in which they can come
        self._held = b""
        self._base: str | None = None  # of the marks of pictures
        self._next_image = 1
        self._ahead: (
            list[bytes] | None
        ) = []  # the marks of this one and those after it, once they are asked for

    def expect(self, token: str, request_id: int) -> None:
        """A mark of *token* will end *request_id*."""
        if not self.ended:
            self._expected = [*self._expected, _Expected(sequence(token), request_id)][-MOST_EXPECTED:]

    def forget(self, request_id: int) -> None:
        """No mark will end *request_id*."""
        self._expected = [each for each in self._expected if each.request_id != request_id]

    def expect_images(self, base: str | None) -> None:
        """Marks of pictures, made from *base*, may come until the next mark of a request; or none any more."""
        self._base = None if self.ended else base
        self._await_image(1)

    def _await_image(self, number: int) -> None:
        self._next_image = number
        self._ahead = [] if self._base is None else None

    @property
    def _images(self) -> list[bytes]:
        if self._ahead is None:  # most requests show no picture, and never come here
            first, base = self._next_image, self._base or ""
            self._ahead = [sequence(image_token(base, each)) for each in range(first, first + IMAGES_AHEAD)]
        return self._ahead

    def image_number(self, token: str) -> int | None:
        """Return which picture of the request *token* marks, or None if it marks none."""
        if self._base is None or len(token) != TOKEN_DIGITS:
            return None
        try:
            number = int(token[-COUNTED_DIGITS:], 16) - int(self._base[-COUNTED_DIGITS:], 16)
        except ValueError:
            return None
        number %= 16**COUNTED_DIGITS
        return number if number and image_token(self._base, number) == token else None

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

    def receive_data(self, data: bytes) -> Iterator[str | Marked | ImageMarked]:
        """Yield text and marks in their order. Take all of it: it is decoded as it is taken."""
        if self._held:
            data, self._held = self._held + data, b""
        while (found := self._find(data)) is not None:
            at, pattern = found
            # A character does not go on behind the end of a request, but it does behind a picture.
            final = any(pattern == each.pattern for each in self._expected)
            if text := self._decoder.decode(data[:at], final=final):
                yield text
            yield self._pass(pattern)
            data = data[at + len(pattern) :]
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
        return text

    def seal(self) -> str:
        """Return what is left of a character that was cut off, because what follows is something else."""
        return "" if self._held else self._decoder.decode(b"", final=True)

    def _pass(self, pattern: bytes) -> Marked | ImageMarked:
        """Say whose mark *pattern* is. Those before it can no longer come."""
        if self._expected and pattern == self._expected[0].pattern:  # nearly always
            return Marked(self._expected.pop(0).request_id)
        if pattern in self._images:
            number = self._next_image + self._images.index(pattern)
            self._await_image(number + 1)
            return ImageMarked(number)
        index = next(at for at, each in enumerate(self._expected) if each.pattern == pattern)
        mark = self._expected[index]
        del self._expected[: index + 1]
        return Marked(mark.request_id)

    def _patterns(self) -> list[bytes]:
        return [*(each.pattern for each in self._expected), *self._images]

    def _find(self, data: bytes) -> tuple[int, bytes] | None:
        """Return where the first mark is, and which."""
        first = data.find(SEPARATOR)
        if first < 0:
            return None
        if self._expected and data.startswith(pattern := self._expected[0].pattern, first):
            return first, pattern  # nearly always; and no other can be before it
        places = [(data.find(pattern), pattern) for pattern in self._patterns()]
        return min((place for place in places if place[0] >= 0), default=None)

    def _beginning(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a mark."""
        at = data.rfind(SEPARATOR, -min(len(data), TOKEN_DIGITS + 1)) if data else -1
        if at < 0:
            return 0
        end = data[at:]
        return len(end) if any(pattern.startswith(end) for pattern in self._patterns()) else 0
