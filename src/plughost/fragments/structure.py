"""Values of several texts -> one value that holds them all. Refuses whatever the texts do not agree on.

Mappings are merged key by key, keys in the order in which they were first seen. Lists follow each other; an item that
equals one that is there already is not added again. Anything else has to be the same in all texts. Each value
remembers where it comes from, so that whoever writes the result can write it as it was written.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import FragmentError
from ..messages.quoting import quote

DEPTH_LIMIT = 64  # values within values: configurations have ten, and reading, merging and writing recurse


@dataclass(frozen=True, slots=True)
class Text:
    """What a *plugin* offered for *path*."""

    plugin: str
    path: str
    content: str

    def wrong(self, problem: str, remedy: str) -> FragmentError:
        return FragmentError(self.plugin, self.path, problem, remedy)


@dataclass(slots=True)
class Leaf:
    """A value without parts. Two are the same if their *mark* is; *shown* is for people."""

    plugin: str
    mark: Hashable
    shown: str
    source: Any


@dataclass(slots=True)
class Table:
    """A mapping: what each key is written as, and its value, by what makes the key."""

    plugin: str
    source: Any
    items: dict[str, tuple[Any, Tree]] = field(default_factory=dict)


@dataclass(slots=True)
class Series:
    """A list. *marks* are those of its items, once something was merged into it."""

    plugin: str
    source: Any
    items: list[Tree] = field(default_factory=list)
    marks: set[Hashable] | None = None


Tree: TypeAlias = Leaf | Table | Series


def merge(base: Tree, more: Tree, path: str) -> None:
    """Merge *more* into *base*, which is changed; *path* names their file. Raises FragmentError."""
    _merge(base, more, path, ())


def mark_of(tree: Tree) -> Hashable:
    """Return what *tree* is apart from how it is written: two of them are the same if this is. Keys have no order."""
    if isinstance(tree, Leaf):
        return tree.mark
    if isinstance(tree, Series):
        return "list", tuple(map(mark_of, tree.items))
    return "mapping", frozenset((key, mark_of(value)) for key, (_, value) in tree.items.items())


def _merge(base: Tree, more: Tree, path: str, keys: tuple[str, ...]) -> None:
    if isinstance(base, Table) and isinstance(more, Table):
        for key, (source, value) in more.items.items():
            if key in base.items:
                _merge(base.items[key][1], value, path, (*keys, key))
            else:
                base.items[key] = source, value
    elif isinstance(base, Series) and isinstance(more, Series):
        if base.marks is None:  # kept: thousands of texts, each with an item more, would take squared time
            base.marks = set(map(mark_of, base.items))
        for item in more.items:
            mark = mark_of(item)
            if mark not in base.marks:
                base.marks.add(mark)
                base.items.append(item)
    elif mark_of(base) != mark_of(more):
        problem = f"{_at(keys)} is {_describe(more)} here and {_describe(base)} by {base.plugin}"
        raise FragmentError(more.plugin, path, problem, "Let both say the same, or one of them nothing")


def _at(keys: tuple[str, ...]) -> str:
    return quote(".".join(keys)) if keys else "the whole"


def _describe(tree: Tree) -> str:
    if isinstance(tree, Leaf):
        return tree.shown
    return "a list" if isinstance(tree, Series) else "a mapping"
