"""What killed passes have left of directories above and below a tree -> a refusal to work on that tree.

Its files may be half done: whoever saves them now takes them for what they should be, and who recovers the other
directory later undoes what was made of them meanwhile. Asks only for stores that count, and are ours.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ..errors import TreeError
from .directories import ROOT, parent_of
from .inventory import INVENTORY
from .store import STORE_END, apart, passes, places
from .tree import Entry, Kind, shown


class _Head(msgspec.Struct):
    """What an inventory of any format begins with: it tells ours from a file that only has its name."""

    generation: int
    token: str
    format: int


def refuse(tree: Path, entries: Mapping[str, Entry]) -> None:
    """Raise TreeError if a pass was killed over a directory above *tree*, or below it, and nobody has recovered that.

    *tree* is a real path, and *entries* all that is in it.
    """
    for other, lies in _found(tree, entries):
        raise TreeError(
            shown(tree),
            f"a pass over {shown(other)}, {lies}, was cut short: what it left may be half done",
            f"Recover that first: `{shlex.join(['plughost', 'transform', shown(other), '--recover'])}`",
        )


def _found(tree: Path, entries: Mapping[str, Entry]) -> Iterator[tuple[Path, str]]:
    for above in tree.parents:
        if any(map(_counts, places(above))):
            yield above, "which it lies in"
    for below in _below(tree, entries):
        yield below, "which lies in it"


def _below(tree: Path, entries: Mapping[str, Entry]) -> Iterator[Path]:
    end = f"{STORE_END}/{INVENTORY}"
    for path in entries:
        if path.endswith(end):
            store = tree / parent_of(path)
            other = store.name.removesuffix(STORE_END)
            if len(other) > 1 and other.startswith(".") and _counts(store):
                yield store.with_name(other[1:])
    kept = _names(passes())
    if kept:  # hardly ever: only then it is worth it to find out what the name of each directory's would be
        for path, entry in entries.items():
            if entry.kind is Kind.DIRECTORY and path != ROOT:
                store_apart = apart(tree / path)
                if store_apart is not None and store_apart.name in kept and _counts(store_apart):
                    yield tree / path


def _names(directory: Path | None) -> set[str]:
    with suppress(OSError):
        return set() if directory is None else set(os.listdir(directory))
    return set()


def _counts(store: Path) -> bool:
    """Tell whether *store* is one that this user's pass has left, and that says how its directory was."""
    with suppress(OSError, msgspec.MsgspecError):
        status, inventory = os.lstat(store), store / INVENTORY
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if ours and stat.S_ISREG(os.lstat(inventory).st_mode):
            msgspec.json.decode(inventory.read_bytes(), type=_Head)
            return True
    return False
