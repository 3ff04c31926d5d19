"""Whole outputs that do not fit a reply -> files, one each, in a private directory, within a budget. Never raises.

The directory is made when the first is needed, and removed with all that is in it when the console is closed; or the
user names one, and then nothing in it is removed. A file that somebody else has removed is made again, with what comes
from then on, and that is said.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from ...messages.quoting import quote
from .output_file import OutputFile

PREFIX = "plughost-output-"
MOST_TAKEN = 10_000  # names that others may have taken before we give up


class Spool:
    """The files of one console. *directory* is the user's own, None for a private one."""

    def __init__(self, most_bytes: int, directory: Path | None = None) -> None:
        self.path: Path | None = None  # of the latest output, None if it could not be kept
        self.problem: str | None = None  # why it is not there, or not whole
        self._most_bytes = most_bytes
        self._kept = directory is not None
        self._directory = directory
        self._file: OutputFile | None = None
        self._sizes: dict[Path, int] = {}  # oldest first
        self._total = 0  # of these sizes
        self._count = 0
        self._removal: weakref.finalize[..., Spool] | None = None

    def begin(self) -> None:
        """What is written from now on is another output."""
        self._close()
        self.path = self.problem = None
        self._count += 1
        self._open()

    def write(self, data: bytes) -> None:
        """Add *data* to the latest output."""
        self._mend()
        if self._file is None or self.path is None:
            return
        if not self._make_room(len(data)):
            self.problem = f"the file has only the first {self._sizes[self.path]} bytes of it"
            self._close()
            return
        try:
            self._file.write(data)
        except OSError as error:
            self._fail(error)
        else:
            self._sizes[self.path] += len(data)
            self._total += len(data)

    def flush(self) -> None:
        """Let whoever is told the path find everything."""
        self._mend()
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Remove what is not to be kept. Idempotent."""
        self._close()
        if self._removal is not None:
            self._removal()

    def _open(self) -> None:
        try:
            path, self._file = self._made()
        except OSError as error:
            self._fail(error)
            return
        self.path = path
        self._sizes[path] = 0

    def _made(self) -> tuple[Path, OutputFile]:
        """Make a file under the next free name: another console may keep its outputs there, or an older host."""
        home, last = self._home(), self._count + MOST_TAKEN
        while True:
            path = home / f"output-{os.getpid()}-{self._count}.txt"
            try:
                return path, OutputFile(path)
            except FileExistsError:
                if self._count == last:
                    raise
                self._count += 1

    def _mend(self) -> None:
        """Make the file again if it is not there any more: nobody is told of one that is not."""
        if self._file is None or self.path is None or self._file.is_there:
            return
        self._close()
        if self.path is None:  # what it held back could not be written
            return
        self._total -= self._sizes.pop(self.path)
        self._open()
        if self.path is not None:
            self.problem = "its file was removed meanwhile, and has only what came since then"

    def _home(self) -> Path:
        private = not self._kept
        if self._directory is None or (private and not self._directory.is_dir()):
            if self._removal is not None:
                self._removal.detach()  # it is gone; whatever gets its name is somebody else's
            self._directory = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._removal = weakref.finalize(self, _remove, self._directory, os.getpid())
        elif not private:
            self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory

    def _make_room(self, size: int) -> bool:
        """Remove older outputs until *size* more bytes are within the budget; tell whether they are."""
        while self._total + size > self._most_bytes:
            oldest = next(iter(self._sizes))
            if oldest == self.path or self._kept:
                return False
            self._total -= self._sizes.pop(oldest)
            oldest.unlink(missing_ok=True)
        return True

    def _fail(self, error: OSError) -> None:
        self.problem = f"the whole of it could not be kept: {quote(error.strerror or str(error))}"
        self.path = None
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None and (problem := file.close()) is not None:
            self._fail(problem)


def _remove(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked copy of the host must not take the files of its original
        shutil.rmtree(directory, ignore_errors=True)
