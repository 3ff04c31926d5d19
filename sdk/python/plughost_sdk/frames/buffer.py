"""Bytes that have arrived and were not taken yet. Turns pieces into a run; decides nothing about frames.

Theory of operation: the run is one bytes object with a position in it, and a list of pieces that came after.
Frames are cut out of the run by slicing, so many small frames in one piece cost a slice each. A frame that
spans pieces is only searched in the pieces that are new, and they are joined once, when it is complete: a
16 MiB frame in 64 KiB pieces is linear, where `buffer += piece` and starting over is quadratic.
"""

from __future__ import annotations


class Buffer:
    """A run of bytes. `data[at:]` is its beginning, open to decoders that can cut a frame out of it at once."""

    __slots__ = ("_searched", "_searched_pieces", "_tail", "_tail_size", "at", "data", "scanned")

    def __init__(self) -> None:
        self.data = b""
        self.at = 0
        self.scanned = 0  # bytes looked at by `find`, in all: asserted in tests, never read in production
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._searched = 0  # how far `data` was searched
        self._searched_pieces = 0  # how many pieces of the tail were searched

    def __len__(self) -> int:
        return len(self.data) - self.at + self._tail_size

    @property
    def is_empty(self) -> bool:
        return self.at >= len(self.data) and not self._tail

    def append(self, data: bytes) -> None:
        if self._tail or self.at < len(self.data):
            self._tail.append(data)
            self._tail_size += len(data)
        else:
            self.data, self.at, self._searched = data, 0, 0

    def find(self, mark: bytes) -> int:
        """Return the index of the one-byte *mark*, or -1; bytes already searched are not searched again."""
        start, end = max(self._searched, self.at), len(self.data)
        if start < end:
            at = self.data.find(mark, start)
            self.scanned += (end if at < 0 else at + 1) - start
            self._searched = end if at < 0 else at
            if at >= 0:
                return at - self.at
        return self._find_in_tail(mark)

    def _find_in_tail(self, mark: bytes) -> int:
        while self._searched_pieces < len(self._tail):
            piece = self._tail[self._searched_pieces]
            at = piece.find(mark)
            self.scanned += len(piece) if at < 0 else at + 1
            if at >= 0:
                before = sum(map(len, self._tail[: self._searched_pieces]))
                found = len(self.data) - self.at + before + at
                self._join()
                self._searched = found
                return found
            self._searched_pieces += 1
        return -1

    def take(self, count: int, *, drop: int = 0) -> bytes:
        """Remove and return the first *count* bytes, and remove *drop* more after them."""
        if self._tail and self.at + count + drop > len(self.data):
            taken = self._take_across(count)
            if drop:
                self.take(drop)
            return taken
        end = self.at + count
        taken = self.data[self.at : end]
        self.at = end + drop
        if self.at >= len(self.data):
            self._next_piece()
        return taken

    def _take_across(self, count: int) -> bytes:
        """Like `take`, of what may end in the tail. Joins no more than is taken, so that the rest does not hold it."""
        pieces, left, used = [self.data[self.at : self.at + count]], count, 0
        left -= len(pieces[0])
        self.at += len(pieces[0])
        while left > 0 and used < len(self._tail):
            pieces.append(self._tail[used][:left])
            left -= len(pieces[-1])
            used += 1
        if used:
            last = self._tail[used - 1]
            self.data, self.at = last[len(pieces[-1]) :], 0
            self._searched = len(self.data) if used <= self._searched_pieces else 0
            self._tail_size -= sum(map(len, self._tail[:used]))
            self._searched_pieces = max(0, self._searched_pieces - used)
            del self._tail[:used]
        if self.at >= len(self.data):
            self._next_piece()
        return b"".join(pieces)

    def clear(self) -> None:
        self.data, self.at = b"", 0
        self._tail.clear()
        self._tail_size = self._searched = self._searched_pieces = 0

    def _next_piece(self) -> None:
        self.data, self.at = b"", 0
        self._searched = 0
        if self._tail:
            self._join()

    def _join(self) -> None:
        searched = self._searched_pieces == len(self._tail) and self._searched >= len(self.data)
        self.data = b"".join((self.data[self.at :], *self._tail))
        self.at = 0
        self._searched = len(self.data) if searched else 0
        self._tail.clear()
        self._tail_size = self._searched_pieces = 0
