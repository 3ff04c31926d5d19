"""What is too large for an answer -> files that the answer names, within a budget. Raises nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...messages.quoting import quote

MOST_BYTES = 268_435_456  # of all files together, unless the user named the directory: the oldest go first
MOST_TAKEN = 10_000  # names in a row that others may have: files of earlier servers with the same process id
PREFIX = "plughost-mcp-"


class OutputFiles:
    """The files of one server. *directory* is the user's own, None for a private one that goes with the server."""

    def __init__(self, directory: Path | None = None) -> None:
        self.problem = ""  # why the latest could not be kept
        self._kept = directory is not None
        self._directory = directory
        self._sizes: dict[Path, int] = {}  # oldest first
        self._count = 0

    def keep(self, data: bytes, suffix: str) -> Path | None:
        """Write *data* to a file of its own and return where it is; None if it cannot be written, or is too much."""
        if not self._kept and not self._make_room(len(data)):
            self.problem = f"it is more than {MOST_BYTES} bytes"
            return None
        try:
            path, fd = self._made(suffix)
            with open(fd, "wb") as file:
                file.write(data)
        except OSError as error:
            self.problem = quote(error.strerror or str(error))
            return None
        self._sizes[path] = len(data)
        return path

    def keep_and_tell(self, data: bytes, suffix: str) -> Callable[[str], str]:
        """Keep *data*, and return what says of something where it is, or why it is not."""
        path = self.keep(data, suffix)
        if path is None:
            problem = self.problem
            return lambda what: f"{what} could not be kept: {problem}"
        return lambda what: f"{what} is in {path}"

    def close(self) -> None:
        """Remove what is not to be kept. Idempotent."""
        if not self._kept and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
            self._sizes.clear()

    def _made(self, suffix: str) -> tuple[Path, int]:
        """Return a file that nobody had before. Raises OSError."""
        home = self._home()
        for left in reversed(range(MOST_TAKEN)):
            self._count += 1
            path = home / f"mcp-{os.getpid()}-{self._count}{suffix}"
            try:
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:  # an earlier server's with our process id
                if not left:
                    raise
        raise AssertionError  # the last one has raised

    def _home(self) -> Path:
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix=PREFIX))
        elif self._kept:
            self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory

    def _make_room(self, size: int) -> bool:
        while self._sizes and sum(self._sizes.values()) + size > MOST_BYTES:
            oldest = next(iter(self._sizes))
            del self._sizes[oldest]
            oldest.unlink(missing_ok=True)
        return size <= MOST_BYTES
