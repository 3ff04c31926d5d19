"""A place inside the output directory for what is not there yet, and for what was there before.

It lies inside because only there it is sure to be on the same filesystem, so that a file moves by its name alone. It
holds `new-N`, the staged contents; `old-N`, the originals; and the journal, which is `journal` while files are put in
place, and `undo` while they are put back. Without either, nothing has been touched.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ..errors import TreeError
from ..files.directories import OPEN_DIRECTORY, ROOT
from ..files.removal import remove
from ..files.tree import shown
from . import journal as journals
from .ground import Ground
from .journal import Journal
from .paths import STORE

STORE_MODE = 0o700
FILE_MODE = 0o644  # of a new file, less the umask
JOURNAL_LIMIT = 134_217_728  # bytes: ten thousand of the longest paths, and all the directories above them
CANNOT_LINK = (errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)
NEW, OLD = "new", "old"

_JOURNAL, _UNDO, _BEING_WRITTEN = "journal", "undo", "journal.new"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Left:
    """What a killed run has left: its *journal*, which is to be undone if it is *turned*."""

    journal: Journal
    turned: bool


class Store:
    """An open store. *ground* is the output directory that it lies in."""

    def __init__(self, ground: Ground, fd: int) -> None:
        self._ground = ground
        self._fd = fd

    @classmethod
    def create(cls, ground: Ground) -> Store:
        """Make an empty one. Raises OSError."""
        directory, name = ground.parent(STORE)
        os.mkdir(name, STORE_MODE, dir_fd=directory)
        return cls(ground, os.open(name, OPEN_DIRECTORY, dir_fd=directory))

    @classmethod
    def find(cls, ground: Ground) -> Store | None:
        """Open the one that was left behind, if there is one. Raises TreeError if somebody else made it."""
        directory, name = ground.parent(STORE)
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            problem = "stands where files are staged, but was not made by this user"
            raise TreeError(shown(ground.root, STORE), problem, "Find out who made it, and remove it")
        return cls(ground, os.open(name, OPEN_DIRECTORY, dir_fd=directory))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    @property
    def inode(self) -> int:
        return os.fstat(self._fd).st_ino

    def stage(self, number: int, content: bytes, like: os.stat_result | None) -> int:
        """Write the file *number* and return its inode. It gets the mode, and if it may the owner, of *like*."""
        fd = os.open(f"{NEW}-{number}", _WRITE, FILE_MODE, dir_fd=self._fd)
        try:
            _write_all(fd, content)
            if like is not None:
                _make_like(fd, like)
            os.fsync(fd)
            return os.fstat(fd).st_ino
        finally:
            os.close(fd)

    def keep(self, number: int, path: str) -> int | None:
        """Keep the original at *path* under a second name, and return its inode; None if that cannot be done here."""
        directory, name = self._ground.parent(path)
        kept = f"{OLD}-{number}"
        try:
            os.link(name, kept, src_dir_fd=directory, dst_dir_fd=self._fd, follow_symlinks=False)
        except OSError as error:
            if error.errno in CANNOT_LINK:
                return None
            raise
        status = os.stat(kept, dir_fd=self._fd, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError("it has been replaced meanwhile")
        return status.st_ino

    def has(self, kind: str, number: int) -> bool:
        """Tell whether the file *number* of that *kind* is here."""
        return self._status(f"{kind}-{number}") is not None

    def names_of_original(self, number: int) -> int:
        """Return how many names the kept original *number* has, with its own here; 0 if it is not here."""
        status = self._status(f"{OLD}-{number}")
        return 0 if status is None else status.st_nlink

    def move_in(self, number: int, path: str) -> None:
        """Take the original at *path* away."""
        directory, name = self._ground.parent(path)
        os.rename(name, f"{OLD}-{number}", src_dir_fd=directory, dst_dir_fd=self._fd)

    def move_out(self, kind: str, number: int, path: str) -> None:
        """Put the file *number* of that *kind* in place at *path*, over whatever file is there."""
        directory, name = self._ground.parent(path)
        os.rename(f"{kind}-{number}", name, src_dir_fd=self._fd, dst_dir_fd=directory)

    def commit(self, journal: Journal) -> None:
        """Write the *journal*: from the end of this on, the next run finishes what this one does not."""
        fd = os.open(_BEING_WRITTEN, _WRITE, 0o600, dir_fd=self._fd)
        try:
            _write_all(fd, journals.encode(journal))
            os.fsync(fd)
        finally:
            os.close(fd)
        os.fsync(self._fd)  # the names of all that the journal speaks of, before its own
        os.rename(_BEING_WRITTEN, _JOURNAL, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        os.fsync(self._fd)
        self._ground.sync(ROOT)

    def turn_back(self) -> None:
        """From the end of this on, the next run puts back what this one does not."""
        with suppress(FileNotFoundError):  # it was turned already
            os.rename(_JOURNAL, _UNDO, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            os.fsync(self._fd)

    def read_journal(self) -> Left | None:
        """Return the journal; None if nothing was touched. Raises TreeError if it cannot be believed."""
        for name in (_JOURNAL, _UNDO):
            if self._status(name) is None:
                continue
            try:
                return Left(journals.decode(self._read(name), self.inode), name == _UNDO)
            except (OSError, ValueError) as error:
                problem = f"what a run has left here cannot be believed: {error}"
                remedy = "Compare the files with those in there by hand, then remove it"
                raise TreeError(shown(self._ground.root, f"{STORE}/{name}"), problem, remedy) from error
        return None

    def remove(self) -> None:
        """Remove it with all that is in it; from the first step on, it does not count any more. Raises OSError."""
        for name in (_JOURNAL, _UNDO):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._fd)
                os.fsync(self._fd)
        directory, name = self._ground.parent(STORE)
        remove(name, directory)

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _read(self, name: str) -> bytes:
        fd = os.open(name, _READ, dir_fd=self._fd)
        try:
            with open(fd, "rb", closefd=False) as file:
                return file.read(JOURNAL_LIMIT)
        finally:
            os.close(fd)


def _write_all(fd: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _make_like(fd: int, like: os.stat_result) -> None:
    made = os.fstat(fd)
    if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
        with suppress(PermissionError):  # then it is ours, as a file that an editor has saved would be
            os.fchown(fd, like.st_uid, like.st_gid)
    os.fchmod(fd, stat.S_IMODE(like.st_mode) & 0o777)  # what runs as somebody else was not generated
