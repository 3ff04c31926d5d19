"""Streaming count of values, nesting depth and text sizes in JSON, without decoding.

Theory of operation. A decoder makes of sixteen megabytes of `[],[],…` half a gigabyte of lists, and holds the
interpreter for a second. So what is large is counted before it is decoded, piece by piece, as it is read: each piece
costs about as much as it took to read, and other plugins have their turn between two pieces. Escapes are taken out of
a piece first; then every second part between quotes is a string, and what is left is counted: a value follows every
`[`, `{`, `,` and `:`, or there is none. Each step is one call into C.

A string takes as many bytes for each character as for its widest one: 16 MiB of letters and one `😀` take 64 MiB.
So a string that goes on over several pieces is measured too.
"""

from __future__ import annotations

import codecs

from . import depth

WINDOW = 65_536  # bytes that are counted at once, where more is there already
_TOKENS = b"[{,:"
_NOT_TOKENS = bytes(set(range(256)) - set(_TOKENS))
_OPENERS = b"[{"
_NOT_OPENERS = bytes(set(range(256)) - set(_OPENERS))
_CONTINUATION = bytes(range(0x80, 0xC0))  # the bytes of a character after its first
_NOT_WIDE = bytes(range(0xC4))  # which begin no character beyond U+00FF
_NOT_WIDEST = bytes(range(0xF0))  # which begin no character beyond U+FFFF


class Meter:
    """Counts one JSON text. *values* and *size* in bytes are those so far, *flaw* is what no decoder may be let near.

    *held* is how many bytes a string takes, decoded, that goes on over several pieces: the largest of them.
    """

    __slots__ = (
        "_characters", "_depth", "_escaped", "_in_string", "_partial", "_width", "flaw", "held", "size", "values",
    )  # fmt: skip

    def __init__(self) -> None:
        self.values = 0
        self.size = self.held = 0
        self.flaw: str | None = None
        self._depth = 0
        self._in_string = False
        self._escaped = False  # the last byte was a backslash that escapes the next
        self._partial = b""  # of a character: the next piece has the rest
        self._characters = 0  # of the string that goes on
        self._width = 1  # bytes that each of them takes

    def feed(self, piece: bytes) -> None:
        """Count *piece*, which follows what was counted before."""
        if self.flaw is None:
            self._check_utf8(piece)
        self.size += len(piece)
        if self._in_string and b'"' not in piece and b"\\" not in piece and not self._escaped:
            self._go_on(piece)
            return  # nearly always, of what is large
        outside = self._outside_strings(piece)
        self.values += len(outside.translate(None, _NOT_TOKENS))
        if self.flaw is None:
            self._descend(outside)

    def end(self) -> str | None:
        """Return what is wrong with the whole text, as far as a meter can tell."""
        if self.flaw is None and self._partial:
            self.flaw = f"not UTF-8 at byte {self.size - len(self._partial)}"
        return self.flaw

    def _check_utf8(self, piece: bytes) -> None:
        """Msgspec does not look at the UTF-8 of what it skips."""
        if not self._partial and piece.isascii():
            return
        begins = self.size - len(self._partial)
        text = self._partial + piece
        try:
            used = codecs.utf_8_decode(text, "strict", False)[1]
        except UnicodeDecodeError as error:
            self.flaw = f"not UTF-8 at byte {begins + error.start}"
            return
        self._partial = text[used:]

    def _outside_strings(self, piece: bytes) -> bytes:
        if self._escaped:
            if piece.startswith(b"u"):  # of how wide a character is not looked at
                self._width = 4
            piece = piece[1:]
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"_").replace(b'\\"', b"_")
        self._escaped = piece.endswith(b"\\")
        parts = piece.split(b'"')
        outside = b"".join(parts[1::2] if self._in_string else parts[::2])
        if self._in_string:
            self._go_on(parts[0])
        self._in_string ^= len(parts) % 2 == 0
        if len(parts) > 1:
            self._characters, self._width = 0, 1
            if self._in_string:
                self._go_on(parts[-1])
        return outside

    def _go_on(self, part: bytes) -> None:
        """Count the characters of a string that began before this piece or ends after it, and see how wide they are."""
        self._characters += len(part)
        if not part.isascii() or b"\\u" in part:
            escapes = part.count(b"\\u")
            self._characters -= len(part) - len(part.translate(None, _CONTINUATION)) + 5 * escapes
            if (
                part.translate(None, _NOT_WIDEST)
                or b"\\ud" in part
                or b"\\uD" in part
                or part.endswith(b"\\u")
            ):
                self._width = 4
            elif escapes or part.translate(None, _NOT_WIDE):
                self._width = max(self._width, 2)
        self.held = max(self.held, self._characters * self._width)

    def _descend(self, outside: bytes) -> None:
        opened = len(outside.translate(None, _NOT_OPENERS))
        if self._depth + opened > depth.MAX_DEPTH:
            deepest, self._depth = depth.follow(outside, self._depth)
            if deepest > depth.MAX_DEPTH:
                self.flaw = f"nested more than {depth.MAX_DEPTH} deep"
        elif outside:
            self._depth += opened - outside.count(b"]") - outside.count(b"}")
