"""Two entries of one path -> whether it was modified. What a file holds is asked of others.

A file whose change time, inode and all else are equal is the same: nobody can set a change time back. If only those
moved, what it holds decides; the same where the clock was too coarse to tell. A directory is modified if its
mode, owner or attributes are other ones, not if something in it is: that is reported by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from .tree import Entry, Kind


class Compared(Protocol):
    """What files hold now, beside what was saved of them. A digest of None is nobody's."""

    def same(self, path: str) -> bool: ...
    def saved_digest(self, path: str) -> bytes | None: ...
    def digest(self, path: str) -> bytes | None: ...


def differs(
    path: str,
    before: Mapping[str, Entry],
    after: Mapping[str, Entry],
    contents: Compared | None = None,
    racy: Collection[str] = (),
) -> bool:
    """Tell whether *path*, which is in both, was modified."""
    old, new = before[path], after[path]
    if (old.kind, old.mode, old.uid, old.gid) != (new.kind, new.mode, new.uid, new.gid):
        return True
    if old.kind is Kind.DIRECTORY:
        return old.ctime_ns != new.ctime_ns and contents is not None and not contents.same(path)
    if looks_other(old, new) or _is_anothers(old, new):
        return True
    if is_untouched(old, new) and path not in racy:
        return False
    return not contents.same(path) if contents is not None else not is_untouched(old, new)


def looks_other(old: Entry, new: Entry) -> bool:
    """Tell whether two entries of one kind differ in what they are, seen from outside."""
    return (old.size, old.mtime_ns, old.target, old.special) != (
        new.size,
        new.mtime_ns,
        new.target,
        new.special,
    )


def _is_anothers(old: Entry, new: Entry) -> bool:
    """Tell whether a file of one name became a name of another file, which may well read the same."""
    return old.nlink == 1 < new.nlink and old.inode != new.inode


def is_untouched(old: Entry, new: Entry) -> bool:
    """Tell whether nothing at all was done to an inode, other than by a clock too coarse to tell."""
    return (old.ino, old.ctime_ns, old.dev, old.mtime_ns, old.size, old.mode, old.kind) == (
        new.ino,
        new.ctime_ns,
        new.dev,
        new.mtime_ns,
        new.size,
        new.mode,
        new.kind,
    )
