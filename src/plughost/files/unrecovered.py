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
from .directories import parent_of
from .inventory import INVENTORY, from_wire
from .store import STORE_END, apart, passes, places
from .tree import Entry, Kind, shown


class _Head(msgspec.Struct):
    """What an inventory of any format begins with: it tells ours from a file that only has its name."""

    generation: int
    token: str
    format: int
    tree: str = ""


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
        if any(map(_head, places(above))):
            yield above, "which it lies in"
    for below in _below(tree, entries):
        yield below, "which lies in it"


def _below(tree: Path, entries: Mapping[str, Entry]) -> Iterator[Path]:
    end = f"{STORE_END}/{INVENTORY}"
    for path in entries:
        if path.endswith(end):
            store = tree / parent_of(path)
            other = store.name.removesuffix(STORE_END)
            if len(other) > 1 and other.startswith(".") and _head(store) is not None:
                yield store.with_name(other[1:])
    for left in _left_apart():
        # It need not be there itself: a plugin may have removed it. But it is put back only into a directory that is.
        if left != tree and left.is_relative_to(tree):
            above = entries.get(parent_of(left.relative_to(tree).as_posix()))
            if above is not None and above.kind is Kind.DIRECTORY:
                yield left


def _left_apart() -> Iterator[Path]:
    """Yield the directories whose stores are not beside them."""
    directory = passes()
    if directory is None:
        return
    for name in _names(directory):
        head = _head(directory / name)
        tree = Path("" if head is None else from_wire(head.tree))
        if (
            tree.is_absolute() and apart(tree) == directory / name
        ):  # else the store was moved, and nobody will find it
            yield tree


def _names(directory: Path) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(directory))
    return []


def _head(store: Path) -> _Head | None:
    """Return what *store* begins with, if this user's pass has left it and it says how its directory was."""
    with suppress(OSError, msgspec.MsgspecError):
        status, inventory = os.lstat(store), store / INVENTORY
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if ours and stat.S_ISREG(os.lstat(inventory).st_mode):
            return msgspec.json.decode(inventory.read_bytes(), type=_Head)
    return None
