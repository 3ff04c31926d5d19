"""A saved path that is not as it was -> exactly what was saved, put in its place whole or not at all.

Theory of operation. What is put back is built under a temporary name beside its place and then renamed into it. If the
inode is still the one that was saved, some things are done in place: attributes; the content of a file of several
names, so that all of its names see it, inside and outside of the tree; the content where the file or its directory is
somebody else's, because a new file would be ours, and the time of the directory is not; and the content where there
is no room for both. Nothing is ever written into an inode that was not there before: it may be somebody else's
by another name. It is removed if there is no room beside it. Until the end all of that is in the store as well, for
whoever comes after a kill.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count

from .attributes import is_anothers, read_xattrs
from .concessions import Concessions
from .contents import READ, Contents
from .copying import NO_ROOM, same
from .directories import Directories, change_mode, name_of, parent_of
from .displaced import Displaced
from .inventory import Saved
from .objects import NEW_FILE, Objects
from .tree import Entry, Kind, describe

OWNER_WRITES = stat.S_IRUSR | stat.S_IWUSR


def temporary_prefix(token: str) -> str:
    """Return how the names of the temporary files of a snapshot begin."""
    return f".plughost-{token}-"


class Mender:
    """Puts paths back one by one.

    *conceded* are those that are put back only as far as they are ours; it is added to. *severed* are those that are no
    longer one file with their names outside of the tree.
    """

    def __init__(
        self,
        saved: Mapping[str, Saved],
        objects: Objects,
        directories: Directories,
        token: str,
        displaced: Displaced | None,
        conceded: Concessions,
    ) -> None:
        self.severed: set[str] = set()
        self._conceded = conceded
        self._saved = saved
        self._objects = objects
        self._directories = directories
        self._displaced = displaced
        self._contents = Contents(saved, objects, directories)
        self._names = (f"{temporary_prefix(token)}{os.getpid()}-{number}" for number in count())
        self._shared: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        for path, each in saved.items():
            if each.entry.nlink > 1:
                self._shared[each.entry.inode].append(path)
        self._rebuilt: dict[tuple[int, int], str] = {}  # files of several names that had to become new ones

    def mend(self, path: str, listing: Mapping[str, Entry]) -> None:
        """Put *path* back, which is something else by now, or not in the *listing* at all. Raises OSError."""
        saved, now = self._saved[path], listing.get(path)
        match saved.entry.kind:
            case Kind.DIRECTORY:
                self._make_directory(path, now)
            case Kind.SYMLINK:
                self._put_symlink(path, saved, now)
            case Kind.OTHER:
                self._put_special(path, saved, now)
            case Kind.FILE if saved.original is not None:
                self._put_original(path, saved.original, now)
                self._refill(path, saved, saved.original)
            case Kind.FILE if saved.entry.nlink > 1:
                self._put_shared(path, saved, listing)
            case Kind.FILE:
                self._put_file(path, saved, now)

    def settle(self, path: str) -> None:
        """Give the directory *path* its own attributes back, after all in it is in its place. Raises OSError."""
        saved = self._saved[path]
        wanted = saved.entry
        fd = self._directories.open(path)
        now = describe(os.fstat(fd))
        if now.inode != wanted.inode and is_anothers(fd):
            raise PermissionError(errno.EPERM, "a directory of somebody else's stands in its place")
        if (
            now.ctime_ns != wanted.ctime_ns  # else nothing was ever done to it
            and (now.mode, now.uid, now.gid, now.mtime_ns, read_xattrs(fd))
            != (wanted.mode, wanted.uid, wanted.gid, wanted.mtime_ns, saved.xattrs)
        ):
            self._conceded.put_back(path, saved, fd)
        else:
            self._conceded.pop(path, None)

    def _make_directory(self, path: str, now: Entry | None) -> None:
        if now is None:
            os.mkdir(name_of(path), 0o700, dir_fd=self._directories.writable(parent_of(path)))

    def _put_symlink(self, path: str, saved: Saved, now: Entry | None) -> None:
        if now is not None and (now.inode, now.target) == (saved.entry.inode, saved.entry.target):
            directory, name = self._directories.parent(path)
            self._conceded.put_back_at(path, saved, name, directory)
            return
        with self._beside(path) as (directory, new):
            os.symlink(saved.entry.target or "", new, dir_fd=directory)
            self._conceded.put_back_at(path, saved, new, directory)
            self._replace(path, new, directory, now)

    def _put_special(self, path: str, saved: Saved, now: Entry | None) -> None:
        if saved.original is not None:
            self._put_original(path, saved.original, now)
        with self._beside(path) as (directory, new):
            if saved.original is None and (now is None or now.inode != saved.entry.inode):
                assert saved.entry.special is not None
                os.mknod(new, saved.entry.special[0] | 0o600, saved.entry.special[1], dir_fd=directory)
                self._replace(path, new, directory, now)
            self._conceded.put_back_at(path, saved, name_of(path), directory)

    def _put_original(self, path: str, original: int, now: Entry | None) -> None:
        """Let *path* be the inode that it was."""
        kept = self._objects.original(original)
        if now is not None and now.inode == describe(os.lstat(kept)).inode:
            return
        with self._beside(path) as (directory, new):
            os.link(kept, new, dst_dir_fd=directory, follow_symlinks=False)
            self._replace(path, new, directory, now)

    def _refill(self, path: str, saved: Saved, original: int) -> None:
        """Put the content and the attributes back into the inode itself."""
        kept = self._objects.original(original)
        if os.lstat(kept).st_mode & OWNER_WRITES != OWNER_WRITES:
            _admit(os.fspath(kept), saved.entry.mode)
        fd = _open(os.fspath(kept))
        try:
            self._fill(path, saved, fd)
            self._conceded.put_back(path, saved, fd)
        finally:
            os.close(fd)

    def _fill(self, path: str, saved: Saved, fd: int) -> None:
        copy = self._open_copy(saved)
        try:
            if not same(copy, fd):
                _demand_writable(fd)
                if self._displaced is not None:
                    self._displaced.copy(path, fd, self._objects.copier)
                os.ftruncate(fd, 0)  # else a clone might want room beside what is there
                self._objects.copier.copy(copy, fd)
        finally:
            os.close(copy)

    def _put_file(self, path: str, saved: Saved, now: Entry | None) -> None:
        still = now is not None and now.kind is Kind.FILE and now.inode == saved.entry.inode
        alone = still and now is not None and now.nlink == 1  # else who knows whose it is by another name
        if still:
            with suppress(PermissionError):  # what somebody else has closed to us may still be replaced
                if self._restore_attributes(path, saved):
                    return
                if alone and self._is_anothers(path):
                    self._refill_in_place(path, saved)
                    return
        try:
            self._rebuild(path, saved, now)
        except OSError as error:
            room = error.errno in NO_ROOM and self._displaced is None  # else nothing may be removed
            if (alone and room) or (still and isinstance(error, PermissionError)):
                self._refill_in_place(path, saved)
            elif room and now is not None:
                os.unlink(name_of(path), dir_fd=self._directories.writable(parent_of(path)))
                self._rebuild(path, saved, None)
            else:
                raise

    def _rebuild(self, path: str, saved: Saved, now: Entry | None) -> None:
        with self._beside(path) as (directory, new):
            self._build(path, saved, new, directory)
            self._replace(path, new, directory, now)

    def _restore_attributes(self, path: str, saved: Saved) -> bool:
        """Put the attributes alone back, if the content is as it was."""
        directory, name = self._directories.parent(path)
        _admit(name, saved.entry.mode, directory)
        if not self._contents.same_bytes(path):
            return False
        fd = self._directories.open_file(path)
        try:
            self._conceded.put_back(path, saved, fd)
        finally:
            os.close(fd)
        return True

    def _is_anothers(self, path: str) -> bool:
        """Tell whether the file *path*, or the directory it is in, is somebody else's."""
        fd = self._directories.open_file(path)
        try:
            return is_anothers(fd) or is_anothers(self._directories.open(parent_of(path)))
        finally:
            os.close(fd)

    def _put_shared(self, path: str, saved: Saved, listing: Mapping[str, Entry]) -> None:
        """Put back a file of several names whose inode could not be linked into the store."""
        inode, now = saved.entry.inode, listing.get(path)
        names = self._shared[inode]
        living = [each for each in names if each in listing and listing[each].inode == inode]
        other = living[0] if living else self._rebuilt.setdefault(inode, path)
        if path in living:
            self._refill_in_place(path, saved)
        elif other == path:
            self._put_file(path, saved, now)
            # What is somebody else's cannot be joined again at any later time either.
            if len(names) < saved.entry.nlink and path not in self._conceded:
                self.severed.add(path)
        else:
            try:
                self._put_link(path, other, now)
            except PermissionError:  # somebody else's, which only they may give another name
                if listing.get(other, saved.entry).uid == os.geteuid():
                    raise
                self._put_file(path, saved, now)

    def _put_link(self, path: str, other: str, now: Entry | None) -> None:
        """Let *path* be the file that *other* is."""
        with self._directories.holding(parent_of(other)) as source, self._beside(path) as (directory, new):
            os.link(name_of(other), new, src_dir_fd=source, dst_dir_fd=directory, follow_symlinks=False)
            self._replace(path, new, directory, now)
            with suppress(FileNotFoundError):  # to rename one name of a file to another does nothing at all
                os.unlink(new, dir_fd=directory)
            if other in self._conceded:
                self._conceded[path] = self._conceded[other]

    def _refill_in_place(self, path: str, saved: Saved) -> None:
        """Do as `_refill` does where the inode is not in the store, but still in its place."""
        directory, name = self._directories.parent(path)
        _admit(name, saved.entry.mode, directory)
        fd = _open(name, directory)
        try:
            if describe(os.fstat(fd)).inode != saved.entry.inode:
                raise OSError(errno.ESTALE, "something else changes it")
            self._fill(path, saved, fd)
            self._conceded.put_back(path, saved, fd)
        finally:
            os.close(fd)

    def _build(self, path: str, saved: Saved, new: str, directory: int) -> None:
        copy = self._open_copy(saved)
        try:
            fd = os.open(new, NEW_FILE | os.O_NOFOLLOW, 0o600, dir_fd=directory)
            try:
                self._objects.copier.copy(copy, fd)
                self._conceded.put_back(path, saved, fd)
            finally:
                os.close(fd)
        finally:
            os.close(copy)

    def _open_copy(self, saved: Saved) -> int:
        if saved.copy is None:
            raise OSError(errno.ENODATA, "nothing was saved of it")
        fd = os.open(self._objects.copy(saved.copy), READ)
        if (
            os.fstat(fd).st_size != saved.entry.size
        ):  # after a loss of power: better what is there than half of it
            os.close(fd)
            raise OSError(errno.EIO, "what was saved of it is damaged")
        return fd

    @contextmanager
    def _beside(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield the directory of *path* and a temporary name in it, which is not left there by a failure."""
        with self._directories.holding(parent_of(path)) as directory:
            new = next(self._names)
            try:
                yield directory, new
            except OSError:
                with suppress(OSError):
                    os.unlink(new, dir_fd=directory)
                raise

    def _replace(self, path: str, new: str, directory: int, now: Entry | None) -> None:
        if self._displaced is not None and now is not None and self._is_worth_keeping(path, now):
            self._displaced.move(path, self._directories)
        os.rename(new, name_of(path), src_dir_fd=directory, dst_dir_fd=directory)

    def _is_worth_keeping(self, path: str, now: Entry) -> bool:
        """Tell whether what stands at *path* holds anything that was not saved."""
        saved = self._saved[path]
        if now.kind is not saved.entry.kind or now.kind is Kind.SYMLINK:
            return now.target != saved.entry.target or now.kind is not saved.entry.kind
        if now.kind is not Kind.FILE:
            return False
        try:
            return not self._contents.same_bytes(path)
        except OSError:
            return True


def _admit(name: str, mode: int, directory: int | None = None) -> None:
    """Let ourselves read and write a file of *mode*, if it is ours; if not, it may admit us by way of the group."""
    with suppress(PermissionError):
        change_mode(name, mode | OWNER_WRITES, directory)


def _open(name: str, directory: int | None = None) -> int:
    """Open a file to be written in place, or only to be looked at, if it is somebody else's and we may do no more."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(name, os.O_RDWR | flags, dir_fd=directory)
    except PermissionError:
        return os.open(name, os.O_RDONLY | flags, dir_fd=directory)


def _demand_writable(fd: int) -> None:
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDWR:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
