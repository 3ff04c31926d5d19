"""What the host has sent and nobody has taken yet: turns reads into bodies. Loses none of it, and gives none twice.

Theory of operation: a signal handler may raise between any two steps of `duplex_step`, and nowhere else. So a state is
changed in one step, by plain assignments; and the decoder, which takes several, is a copy that can be made again: what
it was given is kept until it was taken.
"""

from __future__ import annotations

import os

from .duplex_step import step_with
from .frames.content_length import ContentLengthDecoder

READ_SIZE = 65_536  # bytes; larger reads are served by mmap and cost twenty times as much
LIMIT = 16_777_216  # bytes of one body, either way: the contract's limit
QUEUE_LIMIT = 4 * LIMIT  # bytes that wait for a handler to return, or for a write to go on


class Inbox:
    """The bytes that have come over *fd*.

    A body that `next` returned is taken by two assignments, together with those that put it where it belongs:
    `taken += 1` and `is_sound = True`. Until then it is not, and would be returned again.
    """

    __slots__ = (
        "fd",
        "frames",
        "fresh",
        "has_ended",
        "is_calm",
        "is_reading",
        "is_sound",
        "pieces",
        "source",
        "taken",
    )

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.source = step_with(fd, os.read)
        self.is_reading = False  # a signal handler that interrupts this cannot read as well
        self.is_calm = True  # nothing waits but what is in here, and more may come
        self.has_ended = False  # the host has closed our input
        self.fresh: bytes | None = None  # what was read just now
        self.pieces: list[bytes] = []  # what the decoder was given, from the beginning of a frame
        self.taken = 0  # frames of the pieces
        self.is_sound = True  # the decoder has returned those that were taken, and no other
        self.frames = ContentLengthDecoder(LIMIT)

    @property
    def is_full(self) -> bool:
        return self.frames.pending > QUEUE_LIMIT

    def read(self) -> None:
        """Wait for some bytes, and keep them."""
        was_reading, self.is_reading = self.is_reading, True
        try:
            if self.fresh is None:
                self.fresh = self.source @ READ_SIZE
            self.keep()
        finally:
            self.is_reading = was_reading

    def keep(self) -> None:
        """Give the decoder what was read."""
        if not self.is_sound:
            self._decode_again()
        if self.taken:
            self._forget()
        data, self.fresh = self.fresh, None
        self.is_sound = False
        if data:
            self.pieces += (data,)
            self.frames.receive_data(data)
        else:
            self.has_ended, self.is_calm = True, False
            self.frames.receive_eof()
        self.is_sound = True

    def next(self) -> bytes | None:
        """Return the next body, or None if there is none yet. Raises FrameError, and the same again ever after."""
        if self.fresh is not None:  # whoever read it was interrupted
            self.keep()
        if not self.is_sound:
            self._decode_again()
        self.is_sound = False
        body = self.frames.next_frame()
        if body is None:
            self.is_sound = True
        return body

    def _forget(self) -> None:
        """Let go of the pieces that were taken."""
        left = self.frames.pending
        kept: list[bytes] = []
        for piece in reversed(self.pieces):
            if left <= 0:
                break
            kept.append(piece[-left:])
            left -= len(piece)
        kept.reverse()
        self.pieces, self.taken = kept, 0

    def _decode_again(self) -> None:
        frames = ContentLengthDecoder(LIMIT)
        for piece in self.pieces:
            frames.receive_data(piece)
        for _ in range(self.taken):
            frames.next_frame()
        if self.has_ended:
            frames.receive_eof()
        self.frames, self.is_sound = frames, True
