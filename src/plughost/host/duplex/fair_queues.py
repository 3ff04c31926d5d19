"""Fair queues of the actions that plugins invoke on one plugin, one per caller.

Without them a plugin that invokes another's actions without end fills that one's queue, and the application's own call
to it waits behind thousands. So of each asker only a few wait to be written to the owner, and only some are unanswered,
because the owner's pipe and its own buffer hold hundreds. The rest wait here. An action may wait for a later one of the
same asker: when the owner answers none for a while, it is asked for a few more.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

AT_ONCE = 16  # of one asker: as many as are written together
UNANSWERED = 32  # of one asker, as long as the owner answers: what the application's own call waits behind
AT_ONCE_BYTES = 65_536  # of one asker: as much as the owner's pipe holds; what is larger waits alone

IsUnwritten = Callable[[], bool]
Start = Callable[[], IsUnwritten | None]  # None: it is over already


class FairQueues:
    """The queues of one owner, by the names of the askers."""

    __slots__ = ("_allowed", "_has_moved", "_starting", "_unanswered", "_unwritten", "_waiting")

    def __init__(self) -> None:
        self._unwritten: dict[str, dict[IsUnwritten, int]] = {}  # sizes of what was started, in that order
        self._waiting: dict[str, deque[tuple[Start, int]]] = {}
        self._starting: set[str] = set()
        self._unanswered: Counter[str] = Counter()
        self._allowed: dict[str, int] = {}  # to be unanswered, of those to whom more was conceded
        self._has_moved = False  # something is over since `relent` was last called

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, asker: str, start: Start, size: int = 0) -> None:
        """Let *start* wait for its turn: `go_on` calls it. It will have about *size* bytes to be written."""
        self._waiting.setdefault(asker, deque()).append((start, size))

    def go_on(self) -> bool:
        """Start what may be started, a few of each asker. Returns whether more could be at once."""
        for asker in tuple(self._unwritten):
            self._free(asker)
        askers = tuple(self._waiting)
        for asker in askers:
            for _ in range(AT_ONCE):
                if not self._is_next(asker):
                    break
                self._start_next(asker)
        return any(self._is_next(asker) for asker in askers)

    @property
    def is_held_back(self) -> bool:
        """Whether something waits because much of the same asker is unanswered."""
        return any(self._has_enough(asker) for asker in self._waiting)

    def over(self, asker: str) -> None:
        """Note that something of *asker* that was started is over."""
        self._has_moved = True
        self._unanswered[asker] -= 1
        if self._unanswered[asker] < UNANSWERED:
            self._allowed.pop(asker, None)
        if not self._unanswered[asker]:
            del self._unanswered[asker]

    def relent(self) -> None:
        """Let a few more of each asker be unanswered, if nothing was over since this was last called."""
        if not self._has_moved:
            for asker in self._waiting:
                self._allowed[asker] = self._unanswered[asker] + AT_ONCE
        self._has_moved = False

    def forget(self, asker: str) -> None:
        """Do not start what waits of *asker*: its process is gone."""
        self._waiting.pop(asker, None)

    def _start_next(self, asker: str) -> None:
        self._starting.add(asker)  # what is over at once has us go on: whoever starts does so anyway
        try:
            waiting = self._waiting[asker]
            start, size = waiting.popleft()
            if not waiting:
                del self._waiting[asker]
            self._unanswered[asker] += 1
            if (is_unwritten := start()) is None:
                self.over(asker)
            else:
                self._unwritten.setdefault(asker, {})[is_unwritten] = size
        finally:
            self._starting.discard(asker)

    def _is_next(self, asker: str) -> bool:
        """Tell whether the next one of *asker* may be started."""
        if asker in self._starting or asker not in self._waiting or self._has_enough(asker):
            return False
        self._free(asker)
        sizes = self._unwritten.get(asker, {}).values()
        return len(sizes) < AT_ONCE and sum(sizes) < AT_ONCE_BYTES

    def _has_enough(self, asker: str) -> bool:
        return self._unanswered[asker] >= self._allowed.get(asker, UNANSWERED)

    def _free(self, asker: str) -> None:
        """Forget what is written by now, or over. It is written in the order in which it was started."""
        unwritten = self._unwritten.get(asker, {})
        for each in tuple(unwritten):
            if each():
                return
            unwritten.pop(each, None)
        self._unwritten.pop(asker, None)
