"""Two listings of a tree -> what was created, modified, deleted and renamed in between. Opens no file itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from .renames import Renames
from .sameness import Compared, differs
from .tree import Entry


class ChangeKind(StrEnum):
    """What happened to a path."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that is not as it was. *before* is the old path of what was renamed.

    A directory that was renamed stands for all in it; what changed in it besides has changes of its own.
    """

    path: str
    kind: ChangeKind
    before: str | None = None


def compare(
    before: Mapping[str, Entry],
    after: Mapping[str, Entry],
    contents: Compared | None = None,
    racy: Collection[str] = (),
) -> tuple[Change, ...]:
    """Return what differs, by path. Without *contents*, only what can be seen from outside counts."""
    modified = {path for path in before.keys() & after.keys() if differs(path, before, after, contents, racy)}
    renames = Renames(before, after, contents, racy)
    found = [Change(path, ChangeKind.MODIFIED) for path in modified | renames.modified]
    found += [Change(path, ChangeKind.RENAMED, old) for path, old in renames.found.items()]
    found += [Change(path, ChangeKind.CREATED) for path in renames.new]
    found += [Change(path, ChangeKind.DELETED) for path in renames.gone]
    return tuple(sorted(found, key=lambda change: change.path))
