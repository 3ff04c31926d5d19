"""The output directory -> the regular files in it, by path. Refuses symlinks and whatever else is no regular file.

The directory itself may be reached through a symlink, because its user named it. What is in it may have been arranged
by somebody else, so it is reached name by name, relative to the directory above, and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import TreeError
from ..files.directories import ROOT, Directories, name_of, parent_of
from ..files.lock import TreeLock
from ..files.store import resolve
from ..files.tree import shown
from .paths import directories_above

NEW_DIRECTORY = 0o777  # the mode of a directory that is made, less the umask


class Ground:
    """An open output directory. *root* is its real path."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._directories = Directories(root)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.look_anew()

    def look_anew(self) -> None:
        """Forget what was opened: every directory is reached from the root again."""
        self._directories.forget(ROOT)

    def directory(self, path: str) -> int | None:
        """Return a descriptor of the directory *path*, open for the next few calls; None if it is not there."""
        try:
            return self._directories.open(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._blocked(path, error) from error

    def look(self, path: str) -> os.stat_result | None:
        """Return the status of the file *path*; None if there is none. Raises TreeError for anything but a file."""
        directory = self.directory(parent_of(path))
        if directory is None:
            return None
        try:
            status = os.stat(name_of(path), dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.trouble(path, "cannot be looked at", error) from error
        if not stat.S_ISREG(status.st_mode):
            raise TreeError(
                shown(self.root, path), f"is {_kind(status)}, not a file", "Move it out of the way"
            )
        return status

    def open_file(self, path: str) -> int:
        """Open the file *path* for reading; the caller closes it. Raises TreeError."""
        try:
            return self._directories.open_file(path)
        except OSError as error:
            raise self.trouble(path, "cannot be read", error) from error

    def parent(self, path: str) -> tuple[int, str]:
        """Return a descriptor of the directory that holds *path*, and its name there. Raises OSError, TreeError."""
        directory = self.directory(parent_of(path))
        if directory is None:
            raise FileNotFoundError(f"the directory of {path} is gone")
        return directory, name_of(path)

    def missing(self, path: str) -> list[str]:
        """Return the directories that *path* needs and that are not there, the topmost first.

        Raises TreeError if nothing can be made or replaced in the last one that is there.
        """
        above = [ROOT, *directories_above(path)]
        for at, each in reversed(list(enumerate(above))):
            directory = self.directory(each)
            if directory is not None:
                self._demand_writable(each, directory)
                return above[at + 1 :]
        raise TreeError(shown(self.root), "has been removed", "Run it again")

    def make(self, path: str) -> None:
        """Make the directory *path*, unless it is there."""
        directory, name = self.parent(path)
        try:
            os.mkdir(name, NEW_DIRECTORY, dir_fd=directory)
        except FileExistsError:
            self.directory(path)  # raises if it is something else

    def sync(self, path: str) -> None:
        """Let the names in the directory *path*, if it is there, survive a loss of power."""
        directory = self.directory(path)
        if directory is not None:
            os.fsync(directory)

    def trouble(self, path: str, what: str, error: OSError) -> TreeError:
        """Return the error that says *what* could not be done to *path*."""
        reason = error.strerror or str(error)
        return TreeError(shown(self.root, path), f"{what}: {reason}", "Remove the cause, and run it again")

    def _demand_writable(self, path: str, directory: int) -> None:
        effective = os.access in os.supports_effective_ids
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=directory, effective_ids=effective):
            problem = "files in it cannot be made or replaced"
            raise TreeError(shown(self.root, path), problem, "Make it writable, or name another directory")
        root = self.directory(ROOT)
        if root is None or os.fstat(directory).st_dev != os.fstat(root).st_dev:
            problem = "lies on another filesystem, where files cannot appear all at once"
            raise TreeError(shown(self.root, path), problem, "Name an output directory there")

    def _blocked(self, path: str, error: OSError) -> TreeError:
        """Return the error that names what stands where the directory *path*, or one above it, should be."""
        for each in [*directories_above(path), path]:
            try:
                self._directories.open(each)
            except OSError as cause:
                return self._blocked_at(each, cause)
        return self.trouble(path, "cannot be opened", error)

    def _blocked_at(self, path: str, cause: OSError) -> TreeError:
        try:
            above = self._directories.open(parent_of(path))
            status = os.stat(name_of(path), dir_fd=above, follow_symlinks=False)
        except OSError:
            return self.trouble(path, "cannot be opened", cause)
        if stat.S_ISDIR(status.st_mode):
            return self.trouble(path, "cannot be opened", cause)
        problem = f"is {_kind(status)}, where files are to be made in a directory"
        return TreeError(shown(self.root, path), problem, "Move it out of the way")


def _kind(status: os.stat_result) -> str:
    kinds = {stat.S_IFLNK: "a symlink", stat.S_IFDIR: "a directory", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(status.st_mode), "a special file")


def find(directory: Path) -> Path | None:
    """Return the real path of *directory*; None if nothing is there. Raises TreeError if it is no directory."""
    try:
        os.lstat(directory)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        pass  # what is wrong with it is said below
    return _real(directory)


@contextmanager
def held(directory: Path) -> Iterator[Ground]:
    """Yield *directory*, which nobody else writes to meanwhile. Raises TreeError if somebody does."""
    root = _real(directory)
    with TreeLock(root), Ground(root) as ground:
        yield ground


def _real(directory: Path) -> Path:
    """Return the real path of *directory*. Raises TreeError if it is none, and nobody can make one there."""
    try:
        return resolve(directory)
    except TreeError as error:
        if os.path.isdir(directory):
            raise
        remedy = "Name a directory, or a path where nothing is yet: it is made"
        raise TreeError(error.path, error.problem, remedy) from error
