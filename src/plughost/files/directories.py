"""Paths beneath a root -> descriptors of their directories, reached name by name and never through a symlink.

Theory of operation. Everything beneath the root may have been arranged by a plugin: a parent directory may be a
symlink to somewhere else by now, and a path may be longer than the system takes in one piece. So a directory
is opened one name at a time, each relative to the one above it, and a symlink on the way is an error. The
last few descriptors are kept, because neighbours are asked for one after the other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

KEPT = 64  # descriptors at a time: few beside the usual limits of 256 or 1024, many beside the usual depth
OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_MODE = 0o700  # of a directory that is still being filled
ROOT = "."


def parent_of(path: str) -> str:
    """Return the path of the directory that holds *path*."""
    return path.rpartition("/")[0] or ROOT


def name_of(path: str) -> str:
    """Return the last name of *path*."""
    return path.rpartition("/")[2]


def join(parent: str, name: str) -> str:
    """Return the path of *name* in the directory *parent*."""
    return name if parent == ROOT else f"{parent}/{name}"


def change_mode(name: str, mode: int, directory: int | None = None) -> None:
    """Set the mode of *name* in *directory*, never of what a symlink points to."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, mode, dir_fd=directory, follow_symlinks=False)
        return
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not stat.S_ISLNK(os.fstat(fd).st_mode):  # Linux has no modes of symlinks
            os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)


def open_up(name: str, directory: int | None = None) -> None:
    """Let the owner into the directory *name*: whoever made it may have locked everybody out."""
    mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(PermissionError):  # somebody else's: it may admit us otherwise, which is found out next
            change_mode(name, stat.S_IMODE(mode) | stat.S_IRWXU, directory)


class Directories:
    """Open directories beneath *root*. With *force*, those that lock us out are opened up and remembered."""

    def __init__(self, root: Path, *, force: bool = False) -> None:
        self.root = root
        self._force = force
        self._open: dict[str, int] = {}  # in the order of their last use
        self._opened_up: dict[str, int] = {}  # the modes they had

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.forget(ROOT)

    def open(self, path: str) -> int:
        """Return a descriptor of the directory *path*. It stays ours, and open for the next few calls."""
        missing = [path]
        while missing[-1] not in self._open and missing[-1] != ROOT:
            missing.append(parent_of(missing[-1]))
        while missing:
            fd = self._enter(missing.pop())
        return fd

    def parent(self, path: str) -> tuple[int, str]:
        """Return a descriptor of the directory that holds *path*, and its name there."""
        return self.open(parent_of(path)), name_of(path)

    def open_file(self, path: str) -> int:
        """Open the file *path* for reading; the caller closes it. A symlink is an error, and a FIFO never waits."""
        directory, name = self.parent(path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        return os.open(name, flags, dir_fd=directory)

    def writable(self, path: str) -> int:
        """Return a descriptor of the directory *path*, whose names can be changed from now on."""
        fd = self.open(path)
        self._admit(path, fd, os.R_OK | os.W_OK | os.X_OK)
        return fd

    @contextmanager
    def holding(self, path: str) -> Iterator[int]:
        """Yield a descriptor of the directory *path*, changeable and open meanwhile, whatever else is opened."""
        fd = os.dup(self.writable(path))
        try:
            yield fd
        finally:
            os.close(fd)

    def make(self, path: str) -> None:
        """Make the directory *path* and those above it, where they are missing."""
        names = [] if path == ROOT else path.split("/")
        parent = ROOT
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, NEW_MODE, dir_fd=self.writable(parent))
            parent = join(parent, name)

    def forget(self, path: str) -> None:
        """Close what is open of *path* and beneath: it is about to go elsewhere."""
        beneath = f"{path}/"
        for each in [each for each in self._open if path in (ROOT, each) or each.startswith(beneath)]:
            os.close(self._open.pop(each))

    def put_back_modes(self) -> None:
        """Close again what was opened up, as far as it is still there."""
        while self._opened_up:
            path, mode = self._opened_up.popitem()  # the last one first: it lies deepest
            with suppress(OSError):
                os.fchmod(self.open(path), mode)
            self.forget(path)

    def keep_modes(self) -> None:
        """Leave what was opened up as it is now: somebody else has seen to it."""
        self._opened_up.clear()

    def _enter(self, path: str) -> int:
        fd = self._open.pop(path, -1)
        if fd < 0:
            name, parent = (
                (os.fspath(self.root), None) if path == ROOT else (name_of(path), self._above(path))
            )
            fd = self._open_one(path, name, parent)
        self._open[path] = fd
        if len(self._open) > KEPT:
            os.close(self._open.pop(next(iter(self._open))))
        return fd

    def _above(self, path: str) -> int:
        return self._open[parent_of(path)]

    def _open_one(self, path: str, name: str, parent: int | None) -> int:
        try:
            fd = os.open(name, OPEN_DIRECTORY, dir_fd=parent)
        except PermissionError:
            if not self._force:
                raise
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
            self._opened_up.setdefault(path, stat.S_IMODE(mode))
            open_up(name, parent)
            fd = os.open(name, OPEN_DIRECTORY, dir_fd=parent)
        if self._force:
            try:
                self._admit(path, fd, os.R_OK | os.X_OK)
            except OSError:
                os.close(fd)
                raise
        return fd

    def _admit(self, path: str, fd: int, wanted: int) -> None:
        """Open up the directory *fd* if it does not admit us to what is *wanted*."""
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & stat.S_IRWXU == stat.S_IRWXU:
            return
        if not os.access(".", wanted, dir_fd=fd, effective_ids=os.access in os.supports_effective_ids):
            self._opened_up.setdefault(path, mode)
            os.fchmod(fd, mode | stat.S_IRWXU)
