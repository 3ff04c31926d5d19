"""A listing of a tree -> all of it saved. What is known already, and was not touched since, is not saved again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from .checkpoints import checkpoint
from .directories import Directories
from .inventory import Saved
from .objects import Objects
from .sameness import is_untouched
from .tree import Entry, Kind


def save_tree(
    root: Path, entries: Mapping[str, Entry], objects: Objects, known: Mapping[str, Saved]
) -> dict[str, Saved]:
    """Save the *entries* of the directory *root*. What is *known* may have other names by now. Raises TreeError."""
    inodes = {each.entry.inode: each for each in known.values() if each.entry.kind is not Kind.DIRECTORY}
    ours = {inode for inode, each in inodes.items() if each.original is not None}
    saved: dict[str, Saved] = {}
    with Directories(root) as directories:
        for path, found in entries.items():
            checkpoint()
            entry = _without_ours(found) if found.inode in ours else found
            old = known.get(path) if entry.kind is Kind.DIRECTORY else inodes.get(entry.inode)
            if old is not None and old.entry.kind is not entry.kind:
                old = None  # the number of an inode was given to something else
            if old is not None and not old.racy and _is_as_saved(old.entry, entry):
                saved[path] = msgspec.structs.replace(old, entry=entry)
                continue
            saved[path] = objects.save(path, entry, directories, old)
            if entry.nlink > 1:
                inodes[entry.inode] = saved[path]  # its other names are the same file
    return saved


def _without_ours(entry: Entry) -> Entry:
    """Return *entry* without the name that its inode has in the store."""
    return msgspec.structs.replace(entry, nlink=entry.nlink - 1)


def _is_as_saved(old: Entry, new: Entry) -> bool:
    same_owner = (old.uid, old.gid, old.target) == (new.uid, new.gid, new.target)
    return same_owner and is_untouched(old, new) and (old.nlink > 1) == (new.nlink > 1)
