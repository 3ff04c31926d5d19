"""The host's calls that are not over, with their deadlines, by id. Gives out ids; knows no answer and no wire."""

from __future__ import annotations

import heapq

SPARE = 1_024  # deadlines of calls that are over, which are kept beside as many as there are calls under way
FIRST_ID = 1  # ids count up from here in every process; 0 is legal but never given out


class Ledger:
    """The calls under way. Ids that were given out are never given out again."""

    __slots__ = ("_deadlines", "methods", "next_id")

    def __init__(self) -> None:
        self.next_id = FIRST_ID
        self.methods: dict[int, str] = {}  # of the calls under way, by their ids
        self._deadlines: list[tuple[float, int]] = []  # a heap; also of calls that are over by now

    def __len__(self) -> int:
        return len(self.methods)

    def __contains__(self, call_id: object) -> bool:
        return call_id in self.methods

    def new_id(self) -> int:
        """Give out an id."""
        self.next_id += 1
        return self.next_id - 1

    def gave_out(self, call_id: int) -> bool:
        """Tell whether there was ever a call of this id."""
        return FIRST_ID <= call_id < self.next_id

    def open(self, call_id: int, method: str, until: float | None) -> None:
        """Note a call, and until when it waits; None is for ever."""
        self.methods[call_id] = method
        if until is not None:
            self.expect(call_id, until)

    def expect(self, call_id: int, until: float) -> None:
        """Note until when a call waits."""
        heapq.heappush(self._deadlines, (until, call_id))
        if len(self._deadlines) > SPARE + 2 * len(self.methods):
            self._forget_closed()

    def _forget_closed(self) -> None:
        """Let go of deadlines of calls that are over: an early one that is not would keep them all."""
        before = len(self._deadlines)
        kept = [each for each in self._deadlines if each[1] in self.methods]
        heapq.heapify(kept)
        if len(self._deadlines) == before:  # else a signal's handler has added to it
            self._deadlines = kept

    def close(self, call_id: int) -> str:
        """Note that a call is over. Returns its method."""
        return self.methods.pop(call_id)

    def calls(self) -> list[int]:
        """Return the calls under way, oldest first."""
        return list(self.methods)

    def next_due(self) -> tuple[float, int] | None:
        """Return the earliest deadline, and the call whose it is."""
        while self._deadlines and self._deadlines[0][1] not in self.methods:
            heapq.heappop(self._deadlines)
        return self._deadlines[0] if self._deadlines else None
