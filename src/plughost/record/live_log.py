"""The log of a pass, appended to while plugins run.

Theory of operation. A log outside of the tree is an ordinary file. A log inside of it lies among files that a plugin
may change at the same time: the way to it is followed name by name without symlinks, it must be the file that was
saved with the tree, and it must have exactly the length that it had after the last write. All that is appended is
remembered, so that it can be told from what a plugin did. Where any of that fails, nothing is written from then on,
so that the lines stay in their order, and they are written when the plugin is done and the tree has been put right.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..errors import TreeError
from ..files.directories import ROOT, Directories, join, parent_of
from ..files.overlooked import Appended
from ..files.tree import Entry, describe
from ..messages.quoting import one_line
from . import sharing
from .log_file import WizardLog, write_all

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LiveLog:
    """Appends to *log* while plugins work on the tree *root*. May be used by several threads."""

    def __init__(self, log: WizardLog, root: Path) -> None:
        self._log = log
        self._root = root
        self.inside = below(log.path, root)  # the path of the log relative to the tree, if it is there
        self._lock = threading.Lock()
        self._file: Entry | None = None  # the log as it is, if it is there
        self._ready = self.inside is None
        self._refused = False  # lines of a running plugin could not be added since the tree was saved
        self._data = bytearray()  # what was appended since the tree was saved
        self._new: Entry | None = None  # the log as it was made since then
        self._made: dict[str, int] = {}

    def saved(self, entry: Entry | None) -> None:
        """Begin anew: the tree was saved, and with it the log as it is, or none."""
        with self._lock:
            self._file, self._new, self._ready, self._refused = entry, None, True, False
            self._data.clear()
            self._made.clear()

    def give_up(self) -> None:
        """Append nothing more until the tree is saved again: somebody else has been at the log."""
        with self._lock:
            self._ready = self.inside is None
            self._data.clear()
            self._made.clear()

    @property
    def appended(self) -> Appended | None:
        """What was written into the tree since it was saved."""
        with self._lock:
            if self.inside is None or not (self._data or self._made):
                return None
            inode, mode = (None, None) if self._new is None else (self._new.inode, self._new.mode)
            return Appended(self.inside, bytes(self._data), inode, mode, dict(self._made))

    def append(self, lines: Iterable[str]) -> bool:
        """Add *lines*, each without its line feed. Returns False if none of them could be added now."""
        with self._lock:
            return self._append(lines)

    def say(self, lines: Iterable[str]) -> bool:
        """Add *lines* of a plugin that runs. Returns False if none of them could be added now.

        After that no others are added, or even looked at, until the tree is saved again: a plugin that spoils the
        log could else have all that it has said rendered again for each line, and lines would be out of order.
        """
        with self._lock:
            self._refused = self._refused or not self._append(lines)
            return not self._refused

    def _append(self, lines: Iterable[str]) -> bool:
        if not self._ready:
            return False
        try:
            if self.inside is None:
                self._log.append(lines)
                return True
            data = "".join(f"{one_line(line)}\n" for line in lines).encode()
            return not data or self._append_inside(self.inside, data)  # no directory is made for nothing
        except (OSError, TreeError):
            return False

    def _append_inside(self, path: str, data: bytes) -> bool:
        with Directories(self._root) as directories:
            self._make_directories(directories, parent_of(path))
            directory, name = directories.parent(path)
            fd = os.open(
                name, _FLAGS | (os.O_CREAT | os.O_EXCL if self._file is None else 0), 0o644, dir_fd=directory
            )
            try:
                if self._file is None:
                    sharing.share(fd, os.fstat(directory), sharing.WRITE)
                    self._file = self._new = describe(os.fstat(fd))
                return self._write(fd, self._file, data)
            finally:
                os.close(fd)

    def _write(self, fd: int, was: Entry, data: bytes) -> bool:
        now = os.fstat(fd)
        if not stat.S_ISREG(now.st_mode) or now.st_nlink != 1:
            return False
        if (now.st_dev, now.st_ino, now.st_size) != (*was.inode, was.size):
            return False
        try:
            write_all(fd, data)
        except OSError:  # half a line is nothing that anybody wrote
            with suppress(OSError):
                os.ftruncate(fd, was.size)
            return False
        now = os.fstat(fd)
        if now.st_size != was.size + len(data):  # a plugin wrote between the look and the write
            return False
        self._file = describe(now)
        self._data += data
        return True

    def _make_directories(self, directories: Directories, path: str) -> None:
        parent = ROOT
        for name in [] if path == ROOT else path.split("/"):
            above = directories.open(parent)
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=above)
                fd = directories.open(join(parent, name))
                sharing.share(fd, os.fstat(above), sharing.ENTER)
                self._made[join(parent, name)] = describe(os.fstat(fd)).mode
            parent = join(parent, name)


def below(path: Path, root: Path) -> str | None:
    """Return where *path* is in the tree *root*, or None if it is elsewhere."""
    real = os.path.join(os.path.realpath(path.parent), path.name)
    return os.path.relpath(real, root) if Path(real).is_relative_to(root) else None
