"""What is to be written to the worker's stdin, in pieces, so that the rest can be withdrawn. Adds nothing to it."""

from __future__ import annotations

PIECE_BYTES = 65_536  # handed out at once: what a pipe holds
_NOTHING = memoryview(b"")


class Input:
    """Input that was announced and not handed out yet."""

    __slots__ = ("_rest", "handed", "unread_lines")

    def __init__(self) -> None:
        self.handed = False  # something of the request's input was handed out: the worker may have seen it
        self.unread_lines = 0  # of the request's input, by the worker's own account
        self._rest = _NOTHING

    def __bool__(self) -> bool:
        return bool(self._rest)

    def begin(self, data: bytes) -> None:
        """*data* is the input of another request."""
        self.handed = False
        self.unread_lines = data.count(b"\n")
        self._rest = memoryview(data)

    def add(self, data: bytes) -> None:
        """*data* is more input of the same request."""
        self.unread_lines += data.count(b"\n")
        self._rest = memoryview(bytes(self._rest) + data)

    def read_line(self) -> None:
        """The worker says that it has read a line."""
        self.unread_lines = max(0, self.unread_lines - 1)

    def withdraw(self) -> None:
        """Forget what was not handed out; what was is for the worker to forget."""
        self.unread_lines = 0
        self._rest = _NOTHING

    def next_piece(self) -> bytes:
        piece, self._rest = bytes(self._rest[:PIECE_BYTES]), self._rest[PIECE_BYTES:]
        self.handed = True
        return piece
