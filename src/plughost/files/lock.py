"""A tree -> the one pass that may work on it. Never waits; however the process ends, the kernel lets go."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import TreeError
from .store import locate, place, resolve
from .tree import shown

CANNOT_LOCK = (errno.EBADF, errno.ENOLCK, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)
LOCK_SUFFIX = ".lock"
ATTEMPTS = 10  # to open a lock file that somebody else removes at the same time


class TreeLock:
    """Hold the directory *root* for one pass. Entering raises TreeError if another one does."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._fd = -1
        self._shared: list[int] = []  # the directories above, each locked against passes of their own
        self._file: Path | None = None
        self._owner = os.getpid()

    def __enter__(self) -> Self:
        left = locate(self._root)
        tree: Path | None = None
        try:
            tree = resolve(self._root)
        except TreeError:
            if left is None:
                raise
        try:
            if tree is None or (left is not None and left[0] != tree):
                assert left is not None  # a plugin has removed or replaced the directory: it will be put back
                self._lock_file(left[1])
            elif not self._lock_directory(tree):
                self._lock_file(left[1] if left is not None else place(tree))
            self._share_ancestors(tree if tree is not None else self._root.absolute())
        except OSError as error:
            self._release()
            problem = f"cannot be locked: {error.strerror or error}"
            raise TreeError(shown(self._root), problem, "Check its permissions") from error
        return self

    def _share_ancestors(self, tree: Path) -> None:
        """Keep passes off every directory above, which would take this one's changes for their plugins'."""
        for directory in tree.parents:
            with suppress(OSError):  # one that may not be opened is not worked on by us either
                fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                self._shared.append(fd)
                try:
                    fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    self._release()
                    raise TreeError(
                        shown(self._root),
                        f"another pass, or another program, has locked {shown(directory)}, which it lies in",
                        "Wait until that is over, or end it; `lslocks` may tell who it is",
                    ) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file = None  # it is the other's to remove
            self._release()
            raise TreeError(
                shown(self._root),
                "another pass, or another program, has locked it or a directory in it",
                "Wait until that is over, or end it; `lslocks` may tell who it is",
            ) from error

    def _lock_directory(self, tree: Path) -> bool:
        """Lock the directory itself. Returns whether its filesystem can."""
        self._fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._lock()
        except OSError as error:
            if error.errno not in CANNOT_LOCK:
                raise
            self._release()
            return False
        return True

    def _lock_file(self, store: Path) -> None:
        """Lock a file beside the store instead."""
        path = store.with_name(store.name + LOCK_SUFFIX)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for _ in range(ATTEMPTS):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            self._lock()
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), os.lstat(path)):
                    self._file = path
                    return
            self._release()  # whoever held it has removed it: there may be a new one
        raise TreeError(shown(path), "cannot be locked", "Try again")

    def _release(self) -> None:
        """Let go; a lock file is removed while it is still ours.

        A forked child has copies of the descriptors, so closing ours alone would leave the lock to that child. A
        child that comes here itself closes its copies only: the lock is its parent's.
        """
        ours = os.getpid() == self._owner
        file, self._file = self._file, None
        if file is not None and ours:
            file.unlink(missing_ok=True)
        descriptors = [*self._shared, *([self._fd] if self._fd >= 0 else [])]
        self._shared, self._fd = [], -1
        for fd in descriptors:
            if ours:
                with suppress(OSError):  # a filesystem that cannot lock it
                    fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)
