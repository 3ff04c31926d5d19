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
MOST_EXPECTED = 8  # marks: those that were promised and did not come are forgotten, oldest first


def new_token() -> str:
    """Return the token of a mark, which nobody can guess."""
    return secrets.token_hex(TOKEN_DIGITS // 2)


def sequence(token: str) -> bytes:
    """Return the bytes that a worker writes as the mark of *token*."""
    return SEPARATOR + token.encode("ascii") + SEPARATOR


class _Expected(NamedTuple):
    pattern: bytes
    request_id: int


class Marked(NamedTuple):
    """The mark of a request was here."""

    request_id: int


class OutputStream:
    """Decodes one stream, as UTF-8 with U+FFFD for what is none."""

    __slots__ = ("_decoder", "_expected", "_held", "ended")

    def __init__(self) -> None:
        self.ended = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._expected: list[_Expected] = []  # in the order in which they can come
        self._held = b""

    def expect(self, token: str, request_id: int) -> None:
        """A mark of *token* will end *request_id*."""
        if not self.ended:
            self._expected = [*self._expected, _Expected(sequence(token), request_id)][-MOST_EXPECTED:]

    def forget(self, request_id: int) -> None:
        """No mark will end *request_id*."""
        self._expected = [each for each in self._expected if each.request_id != request_id]

    @property
    def next_marked(self) -> int | None:
        """The request whose mark comes next, and to which what comes before it belongs."""
        return self._expected[0].request_id if self._expected else None

    def awaits(self, request_id: int) -> bool:
        """Tell whether the mark of *request_id* is still to come."""
        return any(each.request_id == request_id for each in self._expected)

    def receive_data(self, data: bytes) -> Iterator[str | Marked]:
        """Yield text and marks in their order. Take all of it: it is decoded as it is taken."""
        if self._held:
            data, self._held = self._held + data, b""
        while (found := self._find(data)) is not None:
            at, index = found
            mark = self._expected[index]
            if text := self._decoder.decode(
                data[:at], final=True
            ):  # a character does not go on behind a mark
                yield text
            del self._expected[: index + 1]  # those before it can no longer come
            yield Marked(mark.request_id)
            data = data[at + len(mark.pattern) :]
        kept = len(data) - self._beginning(data)
        self._held = data[kept:]
        if text := self._decoder.decode(data[:kept] if self._held else data):
            yield text

    def receive_eof(self) -> str:
        """Return what was held back: nothing more comes, and no mark either."""
        text = self._decoder.decode(self._held, final=True)
        self._held, self._expected, self.ended = b"", [], True
        return text

    def seal(self) -> str:
        """Return what is left of a character that was cut off, because what follows is something else."""
        return "" if self._held else self._decoder.decode(b"", final=True)

    def _find(self, data: bytes) -> tuple[int, int] | None:
        """Return where the first mark is, and which."""
        places = [(data.find(each.pattern), index) for index, each in enumerate(self._expected)]
        return min((place for place in places if place[0] >= 0), default=None)

    def _beginning(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a mark."""
        if not self._expected:
            return 0
        at = data.rfind(SEPARATOR, -min(len(data), TOKEN_DIGITS + 1)) if data else -1
        if at < 0:
            return 0
        end = data[at:]
        return len(end) if any(each.pattern.startswith(end) for each in self._expected) else 0
