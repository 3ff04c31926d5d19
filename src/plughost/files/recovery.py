"""What a killed host left behind -> the tree as it was, and whatever stood in its place kept beside it.

Between the crash and now, somebody may have worked in the tree. Nobody can tell their files from those of the plugin,
so none are removed: they are moved to a directory beside the tree. To recover twice, or after having been killed
while recovering, does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .changes import Change
from .displaced import Displaced
from .inventory import INVENTORY
from .snapshot import Snapshot
from .store import locate, remove_store


@dataclass(frozen=True, slots=True)
class Recovered:
    """A tree that was put back after a crash: what was undone, the *note* of then, and where things went."""

    changes: tuple[Change, ...]
    note: dict[str, Any] | None
    displaced: Path | None
    _snapshot: Snapshot | None = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        """Remove what was saved, when the work that the note speaks of is done as well."""
        if self._snapshot is not None:
            self._snapshot.close()


def recover(root: Path) -> Recovered | None:
    """Put *root* back if a host died while it was being worked on. The caller holds its lock.

    Returns None if there is nothing to recover from. Raises TreeError if not everything could be put back.
    """
    found = locate(root)
    if found is None:
        return None
    tree, store = found
    if not (store / INVENTORY).exists():  # it was never complete, so nobody has touched the tree
        remove_store(store)
        return Recovered((), None, None)
    snapshot = Snapshot.open(tree, store)
    displaced = Displaced(tree, store)
    changes = snapshot.revert(displaced)
    return Recovered(changes, snapshot.note, displaced.directory, snapshot)
