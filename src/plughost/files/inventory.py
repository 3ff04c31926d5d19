"""What a snapshot holds -> JSON and back. Refuses a document that names a path outside of its tree.

A path is any bytes but NUL, JSON is text: each byte of a path is written as the character of that number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ..errors import TreeError
from .directories import ROOT, parent_of
from .tree import Entry, Kind, shown

FORMAT = 1
INVENTORY = "snapshot.json"  # while it is there, the tree may be touched
NOTE = "note.json"
BEING_WRITTEN = ".new"  # the end of the name of a document that does not count yet


class Saved(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One path of a snapshot: what it was, and where what it held is kept.

    *copy* and *original* are numbers in the store: of the copied content, and of a hard link to the inode itself.
    A *racy* one was changed so shortly before it was saved that the clock may not tell a later change apart.
    """

    entry: Entry
    copy: int | None = None
    original: int | None = None
    racy: bool = False
    xattrs: dict[str, bytes] = {}


class Inventory(msgspec.Struct, frozen=True):
    """All of a snapshot. *token* begins the names of our temporary files in the tree, *tree* is its real path."""

    generation: int
    token: str
    note: dict[str, Any]
    saved: dict[str, Saved]
    tree: str = ""  # a store that is not beside its tree does not tell by its name whose it is
    format: int = FORMAT


class Note(msgspec.Struct, frozen=True):
    """A note that was replaced since: it counts only beside the inventory of its *generation*."""

    generation: int
    note: dict[str, Any]


def write_inventory(store: Path, inventory: Inventory) -> None:
    """Make *inventory* that of *store*, in one step."""
    saved = {_to_wire(path): _wire(each, _to_wire) for path, each in inventory.saved.items()}
    tree = _to_wire(inventory.tree)
    _write(store, INVENTORY, msgspec.json.encode(msgspec.structs.replace(inventory, saved=saved, tree=tree)))
    (store / NOTE).unlink(missing_ok=True)  # of an older generation: it no longer counts


def write_note(store: Path, note: Note) -> None:
    """Replace the note alone, in one step. A loss of power may bring the older one back; a kill does not."""
    _write(store, NOTE, msgspec.json.encode(note), durable=False)


def read_inventory(store: Path) -> Inventory:
    """Return the inventory of *store* with the note that counts. Raises TreeError if it is damaged."""
    try:
        inventory = msgspec.json.decode((store / INVENTORY).read_bytes(), type=Inventory)
        saved = {from_wire(path): _wire(each, from_wire) for path, each in inventory.saved.items()}
        _check(inventory.format, saved)
        note = _read_note(store, inventory)
    except (msgspec.MsgspecError, ValueError, OSError) as error:
        problem = f"what was saved of the directory cannot be read: {error}"
        remedy = "Compare the directory with what is in there by hand, then remove this"
        raise TreeError(shown(store / INVENTORY), problem, remedy) from error
    return msgspec.structs.replace(inventory, saved=saved, tree=from_wire(inventory.tree), note=note)


def _read_note(store: Path, inventory: Inventory) -> dict[str, Any]:
    try:
        replaced = msgspec.json.decode((store / NOTE).read_bytes(), type=Note)
    except FileNotFoundError:
        return inventory.note
    return replaced.note if replaced.generation == inventory.generation else inventory.note


def _check(version: int, saved: dict[str, Saved]) -> None:
    if version != FORMAT:
        raise ValueError(f"it has format {version}, not {FORMAT}")
    if ROOT not in saved:
        raise ValueError("it has no root")
    for path in saved:
        above = saved.get(parent_of(path))
        names = path.split("/")
        if path != ROOT and (".." in names or ROOT in names or "" in names or "\0" in path):
            raise ValueError(f"{path!r} is no path in the directory")
        if above is None or above.entry.kind is not Kind.DIRECTORY:
            raise ValueError(f"{path!r} is in no directory")


def _wire(saved: Saved, turn: Callable[[str], str]) -> Saved:
    """Turn the texts inside of *saved* as well."""
    if saved.entry.target is not None:
        entry = msgspec.structs.replace(saved.entry, target=turn(saved.entry.target))
        saved = msgspec.structs.replace(saved, entry=entry)
    if saved.xattrs:
        saved = msgspec.structs.replace(
            saved, xattrs={turn(name): value for name, value in saved.xattrs.items()}
        )
    return saved


def _to_wire(path: str) -> str:
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def from_wire(path: str) -> str:
    """Return a path as the system has it."""
    return path if path.isascii() else os.fsdecode(path.encode("latin-1"))


def _write(store: Path, name: str, data: bytes, *, durable: bool = True) -> None:
    """Replace the document *name*: whoever is killed meanwhile leaves the old one or the new one.

    One that is *durable* is on disk, and not only on its way there, when this returns.
    """
    path = os.path.join(store, name)
    try:
        with open(path + BEING_WRITTEN, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(path + BEING_WRITTEN, path)
    except OSError:
        with suppress(OSError):  # it takes room, where there may be none
            os.unlink(path + BEING_WRITTEN)
        raise
    if durable:
        sync_directory(store)


def sync_directory(path: Path) -> None:
    """Let the names in the directory *path* survive a loss of power."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def numbers(saved: Iterable[Saved]) -> tuple[set[int], set[int]]:
    """Return the numbers of the copies and of the originals that are referred to."""
    all_saved = list(saved)
    copies = {each.copy for each in all_saved if each.copy is not None}
    originals = {each.original for each in all_saved if each.original is not None}
    return copies, originals
