"""A plugin's stderr: the last bytes kept for the autopsy, and printable lines for whoever listens.

Nothing a plugin writes here can reach a terminal as a control sequence, forge a log line, or grow without
bound: bytes become printable text, lines are cut, and after a while they are counted instead of passed on.
"""

from __future__ import annotations

LINE_LIMIT = 8_192  # bytes of one line that are passed on; the rest of it is dropped
LINE_COST = 64  # what a line counts on top of its bytes: a million empty lines are a flood too
FORWARD_LIMIT = 262_144  # bytes of one process's stderr that are passed on as lines

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}
# What ends a line for some readers, and what turns the order of the text around it.
_CONTROLS |= {
    code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


def printable(data: bytes) -> str:
    """Return *data* as text in which every control character but tab and line feed is spelled out."""
    return data.decode("utf-8", "backslashreplace").translate(_CONTROLS)


class StderrLog:
    """Collects what arrives on stderr."""

    __slots__ = ("_forwarded", "_partial", "_tail", "keep", "received")

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.received = 0
        self._tail = bytearray()
        self._partial = b""
        self._forwarded = 0

    def receive_data(self, data: bytes) -> list[str]:
        """Take *data* and return the lines that are whole now."""
        self.keep_data(data)
        if self._forwarded > FORWARD_LIMIT:
            return []
        *whole, partial = (self._partial + data).split(b"\n")
        self._partial = partial[: LINE_LIMIT + 1]
        return self._forward(whole)

    def keep_data(self, data: bytes) -> None:
        """Take *data* for the tail alone: whoever shows it has it already."""
        self.received += len(data)
        self._tail += data
        if len(self._tail) > 2 * self.keep:  # twice, so that a flood is not moved byte by byte
            del self._tail[: -self.keep]

    def receive_eof(self) -> list[str]:
        """Return the last line if it had no line feed, and a note if lines were dropped."""
        rest, self._partial = self._partial, b""
        lines = self._forward([rest]) if rest else []
        if self._forwarded > FORWARD_LIMIT:
            lines.append(f"[plughost: {self.received} bytes of stderr in all; later lines were dropped]")
        return lines

    def tail(self) -> str:
        """Return the last bytes as printable text."""
        return printable(bytes(self._tail[-self.keep :]))

    def _forward(self, lines: list[bytes]) -> list[str]:
        self._forwarded += sum(map(len, lines)) + LINE_COST * len(lines)
        return [_cut(line) for line in lines]


def _cut(line: bytes) -> str:
    text = printable(line[:LINE_LIMIT].removesuffix(b"\r"))
    return f"{text} [cut]" if len(line) > LINE_LIMIT else text
