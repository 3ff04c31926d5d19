"""The file of an output that was too much for a reply -> the part that the reply leaves out. Never raises.

Theory of operation. The host reads on while whoever reads us takes a rest, and from the moment in which a reply cannot
hold what came, the file has all of it, the reply's own text first. So a place in the file goes along with what is
shown, and what is left out begins there. The file does not tell standard output from standard error. What it cannot
give, because it has reached its bound or somebody has removed it, is counted.
"""

from __future__ import annotations

import os
from codecs import utf_8_decode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

BLOCK_BYTES = 1_048_576  # read and shown at once: the memory that it takes, whatever was left out


class FullOutput:
    """Goes along with what is shown of one output. *lost*: characters that were nowhere to be found."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.lost = 0
        self._fd = -1
        self._at = 0  # bytes of the file that are shown

    def follow(self, path: Path | None) -> None:
        """Another reply is to be shown, with its file: a file that is new begins with the reply's first text."""
        if path != self.path:
            self.close()
            self.path = path
            if path is not None:
                with suppress(OSError):
                    self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def pass_over(self, text: str) -> None:
        """*text* was in the reply, and is shown."""
        if self.path is not None:
            self._at += len(text.encode("utf-8", "replace"))

    def left_out(self, chars: int) -> Iterator[bytes]:
        """Yield the next so many characters, block by block, as far as the file has them. Counts the rest as lost."""
        while chars > 0:
            text, size = self._block(chars)
            if not text:
                self.lost += chars
                return
            self._at += size
            chars -= len(text)
            yield text.encode()

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._at, self.path = -1, 0, None

    def _block(self, chars: int) -> tuple[str, int]:
        """Return at most so many characters from here, and their bytes; nothing if there are none."""
        try:
            if self._fd < 0 or self.path is None:
                return "", 0
            if not os.path.samestat(os.fstat(self._fd), os.lstat(self.path)):
                return "", 0  # it was made anew: our place is not in it
            data = os.pread(self._fd, BLOCK_BYTES, self._at)
            text, size = utf_8_decode(data, "strict", False)
        except (OSError, UnicodeDecodeError):
            return "", 0
        if len(text) <= chars:
            return text, size
        text = text[:chars]
        return text, len(text.encode())
