"""Bytes that have arrived and were not taken yet. Turns pieces into a run; decides nothing about frames.

Theory of operation: one bytearray, appended at the end and cut at the front. CPython cuts a bytearray's
front by moving a pointer, so taking n frames out of one piece costs no copying of the rest. `find`
remembers how far it has looked, so a byte is searched once however many pieces a frame arrives in:
a 16 MiB line in 64 KiB pieces is linear, where `(buffer + piece).split()` is quadratic.
"""

from __future__ import annotations


class Buffer:
    """A run of bytes with a remembered search position."""

    __slots__ = ("_data", "_searched", "scanned")

    def __init__(self) -> None:
        self._data = bytearray()
        self._searched = 0
        self.scanned = 0  # bytes looked at by `find`, in all: asserted in tests, never read in production

    def __len__(self) -> int:
        return len(self._data)

    def append(self, data: bytes) -> None:
        self._data += data

    def find(self, mark: bytes) -> int:
        """Return the index of the one-byte *mark*, or -1; bytes already searched are not searched again."""
        start = self._searched
        at = self._data.find(mark, start)
        self.scanned += (len(self._data) if at < 0 else at + 1) - start
        self._searched = len(self._data) if at < 0 else at
        return at

    def take(self, count: int, *, drop: int = 0) -> bytes:
        """Remove and return the first *count* bytes, and remove *drop* more after them."""
        taken = bytes(self._data[:count]) if count < len(self._data) else bytes(self._data)
        del self._data[: count + drop]
        self._searched = 0
        return taken

    def endswith(self, mark: bytes) -> bool:
        return self._data.endswith(mark)

    def clear(self) -> None:
        self._data.clear()
        self._searched = 0
