"""Merge stdout and stderr in the order in which the worker wrote them.

A worker with order marks writes each mark to both streams. What stands before mark *n* on either stream was written
before what stands behind it on the other. So the stream that is ahead is held back until the other has come to the
same mark. Both marks were written together: the wait is that of a read, unless the worker lies. Then a bound on what is
held back ends it, or the end of the request.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ..base import Channel
from .output import ImageMarked, Marked

HELD_CHARS = 65_536  # of text that waits for the other stream: as much as a pipe holds
HELD_PIECES = 1_024
END = 1 << 62  # behind all marks

OTHER = {Channel.STDOUT: Channel.STDERR, Channel.STDERR: Channel.STDOUT}


class Piece(NamedTuple):
    """Something that came on *channel*. *owner* is the request that it belongs to."""

    channel: Channel
    content: str | Marked | ImageMarked
    owner: int | None


class StreamOrder:
    """How far each stream has come, and what waits for the other."""

    __slots__ = ("_chars", "_held", "_passed", "ahead")

    def __init__(self) -> None:
        self._held: deque[tuple[int, Piece]] = (
            deque()
        )  # all of the stream that is ahead, by the mark before it
        self.begin()

    def begin(self) -> None:
        """Another request begins: no mark has come."""
        self.ahead: Channel | None = None  # what comes on this stream has to be held
        self._passed = dict.fromkeys(OTHER, 0)
        self._chars = 0

    def hold(self, piece: Piece) -> list[Piece]:
        """Keep *piece*, which came on the stream that is ahead. Return what is to be shown: too much waits."""
        self._held.append((self._passed[piece.channel], piece))
        if isinstance(piece.content, str):
            self._chars += len(piece.content)
        if self._chars > HELD_CHARS or len(self._held) > HELD_PIECES:
            return self.give_up()
        return []

    def pass_mark(self, channel: Channel, number: int = END) -> list[Piece]:
        """*channel* has come to mark *number*, or to its end. Return what is to be shown now."""
        here, there = self._passed[channel], self._passed[OTHER[channel]]
        self._passed[channel] = here = max(here, number)
        self.ahead = None if here == there else channel if here > there else OTHER[channel]
        return self._release(min(here, there))

    def give_up(self) -> list[Piece]:
        """Return all that waits: the other stream is not going to catch up."""
        furthest = max(self._passed.values())
        self._passed = dict.fromkeys(OTHER, furthest)
        self.ahead = None
        return self._release(furthest)

    def _release(self, number: int) -> list[Piece]:
        shown = []
        while self._held and self._held[0][0] <= number:
            piece = self._held.popleft()[1]
            if isinstance(piece.content, str):
                self._chars -= len(piece.content)
            shown.append(piece)
        return shown
