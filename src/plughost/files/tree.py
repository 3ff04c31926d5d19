"""A directory -> a listing of all that is in it, as the kernel describes it. Follows no symlink, opens no file."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from ..errors import TreeError
from .checkpoints import checkpoint
from .directories import ROOT, Directories, join

ENTRIES_LIMIT = 2_000_000  # paths, about 1 GiB of memory: a tree beyond that was not meant for us
LENGTH_LIMIT = 536_870_912  # characters of all paths: directories nested without end cost their depth squared


class Kind(StrEnum):
    """What a path is. *other* is a FIFO, a socket or a device."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One path of a tree. *mode* is the permission bits alone, *target* where a symlink points.

    *special* is the type bits and the device number of a special file.
    """

    kind: Kind
    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int
    ctime_ns: int
    dev: int
    ino: int
    nlink: int
    target: str | None = None
    special: tuple[int, int] | None = None

    @property
    def inode(self) -> tuple[int, int]:
        return self.dev, self.ino


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found in a tree. If it is not *complete*, there is more than can be listed."""

    entries: dict[str, Entry]
    complete: bool
    unreadable: dict[str, OSError]


_KINDS = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.DIRECTORY, stat.S_IFLNK: Kind.SYMLINK}


def describe(status: os.stat_result, target: str | None = None) -> Entry:
    """Return what *status* says, as an entry."""
    mode = status.st_mode
    kind = _KINDS.get(stat.S_IFMT(mode), Kind.OTHER)
    return Entry(
        kind,
        stat.S_IMODE(mode),
        status.st_uid,
        status.st_gid,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_dev,
        status.st_ino,
        status.st_nlink,
        target,
        (stat.S_IFMT(mode), status.st_rdev) if kind is Kind.OTHER else None,
    )


def scan(root: Path) -> dict[str, Entry]:
    """Return all that is in the directory *root*, by path relative to it; `.` is *root* itself.

    Raises TreeError for what cannot be read, and beyond ENTRIES_LIMIT and LENGTH_LIMIT.
    """
    with Directories(root) as directories:
        return demand(root, list_tree(directories))


def list_tree(directories: Directories) -> Listing:
    """Return what can be listed of a tree; nothing if its root is gone, and one entry if that is no directory."""
    entries: dict[str, Entry] = {}
    unreadable: dict[str, OSError] = {}
    try:
        entries[ROOT] = describe(os.lstat(directories.root))
    except FileNotFoundError:
        return Listing(entries, True, unreadable)
    waiting = [ROOT] if entries[ROOT].kind is Kind.DIRECTORY else []
    length = 0
    while waiting:
        path = waiting.pop()
        try:
            fd = directories.open(path)
            with os.scandir(fd) as found:
                for each in found:
                    checkpoint()
                    below = join(path, each.name)
                    entry = _describe(each, fd)
                    if entry is None:
                        continue
                    length += len(below)
                    if len(entries) >= ENTRIES_LIMIT or length > LENGTH_LIMIT:
                        return Listing(entries, False, unreadable)
                    entries[below] = entry
                    if entry.kind is Kind.DIRECTORY:
                        waiting.append(below)
        except FileNotFoundError:  # it went while we looked
            entries.pop(path, None)
        except OSError as error:
            unreadable[path] = error
    return Listing(entries, True, unreadable)


def _describe(found: os.DirEntry[str], directory: int) -> Entry | None:
    try:
        status = found.stat(follow_symlinks=False)
        target = os.readlink(found.name, dir_fd=directory) if stat.S_ISLNK(status.st_mode) else None
    except FileNotFoundError:  # it went while we looked
        return None
    return describe(status, target)


def demand(root: Path, listing: Listing) -> dict[str, Entry]:
    """Return the entries of *listing* if that is all there is in a directory. Raises TreeError."""
    if ROOT not in listing.entries or listing.entries[ROOT].kind is not Kind.DIRECTORY:
        raise TreeError(shown(root), "is not a directory", "Name an existing directory")
    if not listing.complete:
        raise TreeError(
            shown(root),
            f"holds over {ENTRIES_LIMIT} paths, or paths of over {LENGTH_LIMIT} characters in all",
            "Name a smaller directory",
        )
    for path, error in listing.unreadable.items():
        raise unreadable(root, path, error) from error
    return listing.entries


def unreadable(root: Path, path: str, error: OSError) -> TreeError:
    """Return the error that says that *path* cannot be read."""
    return TreeError(
        shown(root, path),
        f"cannot be read: {error.strerror or error}",
        "Make it readable, or take it out of the directory",
    )


def shown(root: Path, path: str = ROOT) -> str:
    """Return the whole of a path for people: in one line, without anything that a terminal would obey."""
    whole = os.path.join(root, path) if path != ROOT else os.fspath(root)
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in whole)
