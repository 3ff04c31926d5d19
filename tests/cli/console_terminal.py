"""`plughost console` at a terminal of a test's own: keys in, what is written out, each awaited in its turn."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

from tests.cli.conftest import PLUGHOST

PATIENCE_S = 200.0  # for what must come; longer, and it never will
CTRL_C, CTRL_D, UP = b"\x03", b"\x04", b"\x1b[A"
# What it is started by makes the terminal its own: only so are keys such as Ctrl-C signals.
_OWN = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
_ABOUT_TERMINALS = ("TMUX", "TERM_PROGRAM", "KITTY_WINDOW_ID", "LC_TERMINAL", "NO_COLOR", "INPUTRC")


class ConsoleTerminal:
    """A person's terminal, 200 columns wide, with `plughost console` in it."""

    def __init__(self, home: Path, *words: str, environment: dict[str, str] | None = None) -> None:
        self._end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name not in _ABOUT_TERMINALS}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OWN, *PLUGHOST, "console", "--worker", sys.executable, *words],
            cwd=home,
            env={**inherited, "TERM": "xterm", "HOME": str(home), "TMPDIR": str(home), **(environment or {})},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.seen = b""
        self._looked_at = 0

    def until(self, *words: str) -> str:
        """Wait until all of *words* are written, one behind the other, and return what came up to there."""
        began = self._looked_at
        for word in words:
            wanted = word.encode()
            while (at := self.seen.find(wanted, self._looked_at)) < 0:
                if not self._read():
                    raise AssertionError(f"{word!r} did not come: {self.seen[began:]!r}")
            self._looked_at = at + len(wanted)
        return self.seen[began : self._looked_at].decode(errors="replace")

    def type(self, keys: bytes | str) -> None:
        os.write(self._end, keys if isinstance(keys, bytes) else keys.encode())

    def enter(self, line: str) -> None:
        """Wait for the prompt, and type *line*."""
        self.until(">>> ")
        self.type(f"{line}\r")

    def status(self) -> int:
        """Read to the end, and return the exit status."""
        while self._read():
            pass
        return self._process.wait(PATIENCE_S)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
        os.close(self._end)

    def _read(self) -> bool:
        if not select.select([self._end], [], [], PATIENCE_S)[0]:
            return False
        try:
            piece = os.read(self._end, 65_536)
        except OSError:  # how Linux says that the other side has gone
            return False
        self.seen += piece
        return bool(piece)
