"""What stands where something has to be put back -> a directory beside the tree, under the same relative path."""

from __future__ import annotations

import errno
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from .copying import Copier
from .directories import ROOT, Directories, join, name_of, open_up, parent_of
from .removal import remove

CHOSEN = (
    "displaced"  # the file of the store that names the directory, so that a second attempt finds it again
)
NAME_MAX = 255  # bytes
NAMES_LIMIT = 10_000  # other names tried for what is displaced twice


class Displaced:
    """The directory that receives what is displaced from *root*. It is made when something first is."""

    def __init__(self, root: Path, store: Path) -> None:
        self._root = root
        self._store = store
        self._chosen = store / CHOSEN

    @property
    def directory(self) -> Path | None:
        """Where it is, if anything was displaced."""
        try:
            name = os.fsdecode(self._chosen.read_bytes())
        except FileNotFoundError:
            return None
        there = self._store.parent / name
        return there if name and os.path.isdir(there) else None

    def move(self, path: str, directories: Directories) -> None:
        """Move *path* of the tree there, with all that is in it. Raises OSError, and then it is still in its place."""
        with directories.holding(parent_of(path)) as source, Directories(self._made()) as ours:
            place, name = self._vacant(path, ours)
            target = ours.open(place)
            directories.forget(path)
            open_up(name_of(path), source)  # a directory that cannot be written to cannot be moved
            try:
                os.rename(name_of(path), name, src_dir_fd=source, dst_dir_fd=target)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _copy_across(os.path.join(directories.root, path), os.path.join(ours.root, place, name))
                remove(name_of(path), source)

    def move_root(self) -> None:
        """Move what stands in the place of the tree's root, and is no directory."""
        with Directories(self._made()) as ours:
            _place, name = self._vacant(self._root.name, ours)
            shutil.move(self._root, ours.root / name)

    def copy(self, path: str, fd: int, copier: Copier) -> None:
        """Copy the open file *fd*, which is *path* of the tree and stays there."""
        with Directories(self._made()) as ours:
            place, name = self._vacant(path, ours)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            directory = ours.open(place)
            target = os.open(name, flags, 0o600, dir_fd=directory)
            try:
                copier.copy(fd, target)
                status = os.fstat(fd)
                os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
            except OSError:  # half of it helps nobody, and takes the room that may be missing
                os.unlink(name, dir_fd=directory)
                raise
            finally:
                os.close(target)

    def _made(self) -> Path:
        there = self.directory
        if there is not None:
            return there
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        for number in range(1, NAMES_LIMIT):
            suffix = f"-{number}" if number > 1 else ""
            name = os.fsencode(f"{self._root.name}.plughost-displaced-{stamp}{suffix}")[-NAME_MAX:]
            there = self._store.parent / os.fsdecode(name)
            if not os.path.lexists(there):
                self._chosen.write_bytes(name)  # first: whoever is killed after this has lost nothing
                there.mkdir(mode=0o700)
                return there
        raise OSError(errno.EEXIST, "displaced too often", os.fspath(self._store.parent))

    def _vacant(self, path: str, ours: Directories) -> tuple[str, str]:
        """Return a directory of ours, made by now, and a name in it that nothing has."""
        place, name = parent_of(path), name_of(path)
        try:
            ours.make(place)
            fd = ours.open(place)
        except OSError:  # what was displaced before stands in the way
            place, fd = ROOT, ours.open(ROOT)
        for number in range(1, NAMES_LIMIT):
            vacant = f"{name[:200]}~{number}" if number > 1 else name
            try:
                os.stat(vacant, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                return place, vacant
        raise OSError(errno.EEXIST, "displaced too often", join(place, name))


def _copy_across(source: str, target: str) -> None:
    """Copy to another filesystem, as exactly as the standard library does."""
    if os.path.isdir(source) and not os.path.islink(source):
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
