"""A tree as it was: saved before a plugin works on it, compared with what it is now, and put back whole.

Theory of operation. The store holds copies of all files, and an inventory of all paths. The inventory is written
last, and replaced in one step: from that moment the tree may be touched, and whoever finds it after a crash can put
the tree back. To advance is to save what changed under new numbers, to replace the inventory, and only then
to drop what no longer counts. The note of the caller is part of the inventory, so that both change together; a
note that is replaced alone is a document of its own, which counts while the generation it names does.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from ..errors import TreeError
from . import unrecovered
from .changes import Change, ChangeKind, compare
from .concessions import Concessions
from .contents import Contents
from .directories import ROOT, Directories
from .displaced import Displaced
from .flags import lifted
from .inventory import Inventory, Note, numbers, read_inventory, write_inventory, write_note
from .objects import Objects
from .overlooked import Appended, hide, is_as_written
from .restore import Restoration
from .saving import save_tree
from .store import create, remove_store, resolve
from .tree import Entry, Kind, Listing, demand, list_tree, scan, shown


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a tree. It was *touched* also if only the time of a directory is another one."""

    changes: tuple[Change, ...]
    touched: bool


class Snapshot:
    """A directory tree as it was at one moment, kept in a store outside of it."""

    def __init__(self, root: Path, store: Path, inventory: Inventory, objects: Objects) -> None:
        self.root = root
        self.store = store
        self._objects = objects
        self._inventory = inventory
        self._note = inventory.note
        self._conceded = Concessions()
        self._ours: frozenset[str] = frozenset()  # paths that the host itself has written to since
        self._before: tuple[Inventory, Concessions] | None = None  # what a revocable advance has replaced
        self._index()

    @classmethod
    def take(cls, root: Path, store: Path, note: dict[str, Any] | None = None) -> Snapshot:
        """Save the directory *root* into the new or empty directory *store*, with a *note* that JSON can hold.

        Raises TreeError if it cannot be read, something writes to it, or a directory above or below has yet to be
        recovered; the store is then removed again.
        """
        tree = resolve(root)
        create(store, tree)
        try:
            objects = Objects(store)
            objects.prepare()
            entries = scan(tree)
            unrecovered.refuse(tree, entries)
            saved = save_tree(tree, entries, objects, {})
            inventory = Inventory(0, secrets.token_hex(8), note or {}, saved, str(tree))
            write_inventory(store, inventory)
        except BaseException as error:
            remove_store(store)
            if isinstance(error, OSError):
                raise _unsaved(store, error) from error
            raise
        return cls(tree, store, inventory, objects)

    @classmethod
    def open(cls, root: Path, store: Path) -> Snapshot:
        """Return the snapshot of *root* that *store* holds. Raises TreeError if it is damaged."""
        objects = Objects(store)
        objects.regain()
        inventory = read_inventory(store)
        objects.keep_only(*numbers(inventory.saved.values()))
        return cls(root, store, inventory, objects)

    @property
    def note(self) -> dict[str, Any]:
        """What the caller has to remember."""
        return self._note

    @property
    def paths(self) -> Mapping[str, Entry]:
        """What was in the tree, by path; `.` is its root."""
        return MappingProxyType(self._entries)

    @property
    def conceded(self) -> tuple[str, ...]:
        """What was put back, but for an owner, a mode, times or attributes that only somebody else may set.

        From then on that is not taken for a change. The store still knows how it was.
        """
        return tuple(sorted(self._conceded))

    def changes(self) -> tuple[Change, ...]:
        """Return what is not as it was. Raises TreeError if the tree cannot be read, or is beyond all limits."""
        return self.look().changes

    def look(self) -> Seen:
        """Return what is not as it was, and whether at least a time is another one. Raises as `changes` does."""
        with Directories(self.root, force=True) as directories:
            try:
                listing = hide(self._ours, list_tree(directories), self._entries)
                if listing.unreadable or not listing.complete:
                    demand(self.root, listing)
                changes = self._compare(listing, directories)
                return Seen(changes, bool(changes) or self._is_retimed(listing))
            finally:
                directories.put_back_modes()

    def overlook(self, ours: Appended) -> bool:
        """Take what the host itself has appended for no change from now on, neither to be told nor to be undone.

        Returns False, and overlooks nothing, if that is not all that was done to the file. Nobody may be at work in
        the tree any more. It counts until the tree is saved anew.
        """
        with Directories(self.root) as directories:
            intact = is_as_written(ours, self._inventory.saved, self._objects, directories)
        self._ours = ours.paths if intact else frozenset()
        return intact

    def revert(self, displaced: Displaced | None = None) -> tuple[Change, ...]:
        """Put the tree back, and return what was undone. What is *displaced* is kept there instead of removed.

        Raises TreeError if something could not be put back; all that can be was put back first.
        """
        self._objects.regain()
        with Directories(self.root, force=True) as directories:
            saved, token, before = self._inventory.saved, self._inventory.token, dict(self._conceded)
            restoration = Restoration(
                saved, self._objects, directories, token, displaced, self._conceded, self._ours
            )
            try:
                listing = restoration.look()
                if not listing.complete:
                    restoration.sweep()
                    listing = restoration.look()
                swept = [Change(path, ChangeKind.CREATED) for path in restoration.swept]
                undone = sorted([*swept, *self._compare(listing, directories)], key=lambda each: each.path)
                restoration.run(tuple(undone))
            except OSError as error:
                raise _lost(self.root, {ROOT: error}) from error
            finally:
                if self._conceded != before:
                    self._index()
        if restoration.failures:
            raise _lost(self.root, restoration.failures)
        return tuple(undone)

    def advance(self, note: dict[str, Any], *, revocable: bool = False) -> None:
        """Accept the tree as it is now, together with *note*: a kill leaves both as they were, or both anew.

        One that is *revocable* keeps what it replaces until `confirm`, or `retreat`.
        Raises TreeError if it cannot be read, or there is no room to save it; the snapshot is then the old one.
        """
        before = (self._inventory, self._conceded)
        try:
            self._advance(note)
            self._before = before
            if not revocable:
                self.confirm()
        except OSError as error:
            self._drop_unaccepted()
            raise _unsaved(self.store, error) from error
        except TreeError:
            self._drop_unaccepted()
            raise

    def _advance(self, note: dict[str, Any]) -> None:
        saved = save_tree(self.root, scan(self.root), self._objects, self._inventory.saved)
        generation = self._inventory.generation + 1
        inventory = msgspec.structs.replace(self._inventory, generation=generation, note=note, saved=saved)
        write_inventory(self.store, inventory)
        self._inventory, self._note = inventory, note
        self._conceded, self._ours = Concessions(), frozenset()
        self._index()

    def confirm(self) -> None:
        """Drop what the last advance has replaced. Raises OSError."""
        self._before = None
        self._objects.keep_only(*numbers(self._inventory.saved.values()))

    def retreat(self, note: dict[str, Any]) -> None:
        """Undo the last advance if it was revocable, and replace the note; the tree itself is left as it is.

        Raises TreeError if that cannot be saved.
        """
        if self._before is None:
            self.set_note(note)
            return
        inventory, conceded = self._before
        generation = self._inventory.generation + 1
        inventory = msgspec.structs.replace(inventory, generation=generation, note=note)
        try:
            write_inventory(self.store, inventory)
        except OSError as error:
            raise _unsaved(self.store, error) from error
        self._inventory, self._note, self._conceded, self._before = inventory, note, conceded, None
        self._ours = frozenset()
        self._index()

    def _drop_unaccepted(self) -> None:
        """Remove what was saved in vain: the tree may need the room to be put back."""
        with suppress(OSError, TreeError):
            counts = read_inventory(
                self.store
            ).generation  # it may be the new one, if only the last step failed
            if counts == self._inventory.generation:
                self._objects.keep_only(*numbers(self._inventory.saved.values()))

    def set_note(self, note: dict[str, Any]) -> None:
        """Replace the note alone, in one step."""
        try:
            write_note(self.store, Note(self._inventory.generation, note))
        except OSError as error:
            raise _unsaved(self.store, error) from error
        self._note = note

    def close(self) -> None:
        """Forget the tree as it was: it is kept as it is now. The store is removed."""
        remove_store(self.store)

    def _index(self) -> None:
        saved = self._inventory.saved
        self._entries = {path: each.entry for path, each in saved.items()}
        self._entries |= {path: each.entry for path, each in self._conceded.items()}
        self._racy = {path for path, each in saved.items() if each.racy}

    def _is_retimed(self, listing: Listing) -> bool:
        """Tell whether a directory has another time: whatever was made in it has been removed again."""
        return any(
            entry.kind is Kind.DIRECTORY
            and path in self._entries
            and entry.mtime_ns != self._entries[path].mtime_ns
            for path, entry in listing.entries.items()
        )

    def _compare(self, listing: Listing, directories: Directories) -> tuple[Change, ...]:
        contents = Contents(self._inventory.saved, self._objects, directories, self._conceded)
        return compare(self._entries, listing.entries, contents, self._racy - self._ours)


def _unsaved(store: Path, error: OSError) -> TreeError:
    return TreeError(
        shown(store), f"cannot be saved to: {error.strerror or error}", "Check its disk for space and errors"
    )


def _lost(root: Path, failures: Mapping[str, OSError | None]) -> TreeError:
    path = min(failures)
    error = failures[path]
    why = (error.strerror or str(error)) if error is not None else "something else changes it"
    more = f", nor {len(failures) - 1} more" if len(failures) > 1 else ""
    command = lifted(root, sorted(path for path in failures if isinstance(failures[path], PermissionError)))
    cause = "Remove the cause" if command is None else f"Lift the flag that forbids it (`{command}`)"
    return TreeError(
        shown(root, path), f"could not be put back{more}: {why}", f"{cause}, then recover the directory"
    )
