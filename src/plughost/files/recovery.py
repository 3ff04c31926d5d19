"""What a killed host left behind -> the tree as it was, and whatever stood in its place kept beside it.

Between the crash and now, somebody may have worked in the tree. Nobody can tell their files from those of the plugin,
so none are removed: they are moved to a directory beside the tree. To recover twice, or after having been killed
while recovering, does no harm.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import TreeError
from .changes import Change
from .directories import ROOT
from .displaced import Displaced
from .inventory import INVENTORY
from .objects import Objects
from .overlooked import Appended
from .snapshot import Snapshot
from .store import locate, remove_store
from .tree import shown


@dataclass(frozen=True, slots=True)
class Recovered:
    """A tree that was put back after a crash: what was undone, the *note* of then, and where things went."""

    changes: tuple[Change, ...]
    note: dict[str, Any] | None
    displaced: Path | None
    _snapshot: Snapshot | None = field(default=None, repr=False, compare=False)

    def beside(self, name: str) -> Path:
        """Return a path for a file that belongs to the tree, next to it or wherever its store is."""
        assert self._snapshot is not None
        store = self._snapshot.store
        return store.with_name(f"{self._snapshot.root.name}.plughost-{name}")

    def close(self) -> None:
        """Remove what was saved, when the work that the note speaks of is done as well."""
        if self._snapshot is not None:
            self._snapshot.close()


def recover(
    root: Path,
    *,
    replaced: bool = False,
    touched: Callable[[dict[str, Any]], bool] = lambda _: True,
    ours: Callable[[Snapshot], Appended | None] = lambda _: None,
) -> Recovered | None:
    """Put *root* back if a host died while it was being worked on. The caller holds its lock.

    Returns None if there is nothing to recover from. Raises TreeError if not everything could be put back, and
    if another directory stands in the place of the one that was saved, unless it may be *replaced*. *touched* tells
    from the note whether there can be anything to put back, and *ours* what the host itself had appended to a file.
    """
    found = locate(root)
    if found is None:
        return None
    tree, store = found
    Objects(store).regain()
    if not (store / INVENTORY).exists():  # it was never complete, so nobody has touched the tree
        remove_store(store)
        return Recovered((), None, None)
    snapshot = Snapshot.open(tree, store)
    if not touched(snapshot.note):
        return Recovered((), snapshot.note, None, snapshot)
    if not replaced:
        _check_identity(tree, store, snapshot)
    if (appended := ours(snapshot)) is not None:
        snapshot.overlook(appended)
    displaced = Displaced(tree, store)
    changes = snapshot.revert(displaced)
    return Recovered(changes, snapshot.note, displaced.directory, snapshot)


def _check_identity(tree: Path, store: Path, snapshot: Snapshot) -> None:
    """Raise TreeError if somebody has put another directory in the place of the one that was saved."""
    try:
        now = os.lstat(tree)
    except OSError:
        return  # it is gone, and will be put back
    if stat.S_ISDIR(now.st_mode) and (now.st_dev, now.st_ino) != snapshot.paths[ROOT].inode:
        raise TreeError(
            shown(tree),
            "not the directory that an interrupted pass was working on, which had the same name",
            f"Recover it (`plughost transform DIRECTORY --recover`) to have the old one back and this one kept "
            f"beside it, or remove {shown(store)} to go on with this one",
        )
