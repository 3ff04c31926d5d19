"""What is to be done at which moment -> done when it is told the time, unless it was called off. Never waits."""

from __future__ import annotations

import heapq
from collections.abc import Callable

FEW = 64  # called off and still in the heap: not worth the trouble

Work = Callable[[], None]


class Timers:
    """Work and when it is due. What is called off is let go of at once, and leaves no more than as much behind."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._work: dict[int, Work] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._work)

    def add(self, at: float, work: Work) -> Callable[[], None]:
        """Do *work* at *at*. Returns how to call it off."""
        self._number += 1
        number = self._number
        self._work[number] = work
        heapq.heappush(self._heap, (at, number))
        return lambda: self._drop(number)

    def pass_to(self, now: float) -> None:
        """It is *now*: do what is due, earliest first."""
        while self._heap and self._heap[0][0] <= now:
            work = self._work.pop(heapq.heappop(self._heap)[1], None)
            if work is not None:
                work()

    def next_deadline(self) -> float | None:
        """Return when something is due; perhaps something that was called off."""
        return self._heap[0][0] if self._heap else None

    def clear(self) -> None:
        """Call off everything."""
        self._heap.clear()
        self._work.clear()

    def _drop(self, number: int) -> None:
        self._work.pop(number, None)
        if len(self._heap) > 2 * len(self._work) + FEW:
            self._heap = [entry for entry in self._heap if entry[1] in self._work]
            heapq.heapify(self._heap)
