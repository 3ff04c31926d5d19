"""Paths that are gone and paths that are new -> which of them are one thing under another name.

Theory of operation. A number of an inode is given to another file soon after its own is deleted, so it proves
nothing alone. A file was renamed if its inode and its content are the same, or if its content is, not empty, and
nobody else's. A directory was renamed if its inode is the same and something that was in it still is; what moved
along with it untouched is not mentioned again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from .directories import join, name_of, parent_of
from .sameness import Compared, is_untouched, looks_other
from .tree import Entry, Kind


class Renames:
    """What was *found* to be renamed, new path to old; what is *modified* under its new name; and what remains."""

    def __init__(
        self,
        before: Mapping[str, Entry],
        after: Mapping[str, Entry],
        contents: Compared | None,
        racy: Collection[str],
    ) -> None:
        self.found: dict[str, str] = {}
        self.modified: set[str] = set()
        self.gone = before.keys() - after.keys()
        self.new = after.keys() - before.keys()
        self._before = before
        self._after = after
        self._contents = contents
        self._racy = racy
        if self.gone and self.new:
            self._find_directories()
            self._find_inodes()
            self._find_contents()

    def _take(self, old: str, new: str) -> None:
        self.gone.discard(old)
        self.new.discard(new)

    # Directories, and what went with them

    def _find_directories(self) -> None:
        moved = dict(self._moved_directories())
        for old in sorted(self.gone) if moved else ():  # a directory comes before what is in it
            into = moved.get(parent_of(old))
            if into is not None and self._follow(old, join(into, name_of(old)), moved):
                continue
            if old in moved:
                self.found[moved[old]] = old
                self._take(old, moved[old])

    def _moved_directories(self) -> Iterator[tuple[str, str]]:
        were = {self._before[path].inode: path for path in self.gone if self._is(path, Kind.DIRECTORY)}
        pairs = [
            (were[entry.inode], path)
            for path in self.new
            if (entry := self._after[path]).kind is Kind.DIRECTORY and entry.inode in were
        ]
        if not pairs:
            return
        held, holds = _children(self.gone), _children(self.new)
        for old, new in pairs:
            if self._kept_something(old, new, held[old], holds[new]):
                yield old, new

    def _kept_something(self, old: str, new: str, held: set[str], holds: set[str]) -> bool:
        if not held and not holds:
            return self._before[old].mtime_ns == self._after[new].mtime_ns
        return any(
            self._before[join(old, name)].inode == self._after[join(new, name)].inode for name in held & holds
        )

    def _follow(self, old: str, new: str, moved: Mapping[str, str]) -> bool:
        """Settle a path whose directory was renamed, if it is there under its old name."""
        if new not in self.new:
            return False
        was, now = self._before[old], self._after[new]
        if was.kind is not now.kind or (was.kind is Kind.DIRECTORY and moved.get(old) != new):
            return False
        self._take(old, new)
        same_owner = (was.mode, was.uid, was.gid) == (now.mode, now.uid, now.gid)
        if not same_owner or (was.kind is not Kind.DIRECTORY and not self._unchanged(old, new)):
            self.modified.add(new)
        return True

    def _unchanged(self, old: str, new: str) -> bool:
        was, now = self._before[old], self._after[new]
        if looks_other(was, now):
            return False
        if is_untouched(was, now) and old not in self._racy:
            return True
        return was.kind is not Kind.FILE or self._same_content(old, new)

    # Files

    def _find_inodes(self) -> None:
        were: dict[tuple[tuple[int, int], Kind], str] = {
            (entry.inode, entry.kind): path
            for path in sorted(self.gone)
            if (entry := self._before[path]).kind is not Kind.DIRECTORY
        }
        for new in sorted(self.new):
            entry = self._after[new]
            old = were.get((entry.inode, entry.kind))
            if old is not None and old in self.gone and self._is_renamed(old, new):
                self.found[new] = old
                self._take(old, new)

    def _is_renamed(self, old: str, new: str) -> bool:
        was, now = self._before[old], self._after[new]
        if was.kind is Kind.FILE and was.size:
            return was.size == now.size and self._same_content(old, new)
        return not looks_other(was, now)

    def _find_contents(self) -> None:
        """Match what has the same content, and shares it with nothing else that is gone or new."""
        if self._contents is None:
            return
        were, are = self._by_size(self.gone, self._before), self._by_size(self.new, self._after)
        for size in were.keys() & are.keys():
            olds = _by_digest(were[size], self._contents.saved_digest)
            news = _by_digest(are[size], self._contents.digest)
            for mark in olds.keys() & news.keys():
                if len(olds[mark]) == 1 == len(news[mark]):
                    old, new = olds[mark][0], news[mark][0]
                    self.found[new] = old
                    self._take(old, new)

    @staticmethod
    def _by_size(paths: Iterable[str], entries: Mapping[str, Entry]) -> dict[int, list[str]]:
        found = defaultdict(list)
        for path in paths:
            if entries[path].kind is Kind.FILE and entries[path].size:
                found[entries[path].size].append(path)
        return found

    def _same_content(self, old: str, new: str) -> bool:
        if self._contents is None:
            return not looks_other(self._before[old], self._after[new])
        mark = self._contents.saved_digest(old)
        return mark is not None and mark == self._contents.digest(new)

    def _is(self, path: str, kind: Kind) -> bool:
        return self._before[path].kind is kind


def _children(paths: Iterable[str]) -> defaultdict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        found[parent_of(path)].add(name_of(path))
    return found


def _by_digest(paths: Iterable[str], digest: Callable[[str], bytes | None]) -> dict[bytes, list[str]]:
    found = defaultdict(list)
    for path in paths:
        mark = digest(path)
        if mark is not None:
            found[mark].append(path)
    return found
