"""For how long one plugin is told what waits for it, before it and the others are heard. Tells nothing itself.

A plugin that reads as fast as it is written to would otherwise have the thread until it knows everything that was ever
published for it. Where a turn of the others takes long, as in an application that has much to do itself, half of that
is for those who are told from then on: else they would be told next to nothing. They share it, and what they take from
each other does not count: else each would have longer turns because the others have, and the application none. Nor
does the time count in which the plugin did not read, or had nothing to read.

A signal's handler that publishes may come before any of this, and do the same: who gives way or goes on twice has once.
"""

from __future__ import annotations

TURN_S = 0.00005  # at least: one chunk as the SDK cuts them
CHUNK_BYTES = 8_192  # that make a turn of their own: half a chunk as the SDK cuts them
LONG_S = 0.002  # of the others' turn: longer than plugins need
SHARE = 0.5  # of theirs, where it was longer
MOST_S = 0.01  # of all turns together, however long theirs was


class Turns:
    """What the plugins of a fleet know of each other's turns."""

    __slots__ = ("awaited", "taken_s")

    def __init__(self) -> None:
        self.awaited = 0  # how many have given way, and are to go on
        self.taken_s = 0.0  # that all turns have taken, ever


class Pace:
    """The turns of one plugin, among all *turns*."""

    __slots__ = ("_began_at", "_others_s", "_taken_s", "_turns", "gave_way_at")

    def __init__(self, turns: Turns) -> None:
        self.gave_way_at = 0.0  # to the others, who have their turn; 0 if it is ours
        self._turns = turns
        self._began_at = 0.0
        self._taken_s = 0.0  # that all turns had taken when it gave way
        self._others_s = 0.0  # that the others took, when they last had their turn

    def begin(self, now: float, written: int) -> float:
        """Return when the turn is over that begins *now*, where so many bytes were *written* just before it."""
        self._began_at = now
        share_s = min(SHARE * self._others_s, MOST_S) / (self._turns.awaited + 1)
        if self._others_s > LONG_S and share_s > TURN_S:
            return now + share_s
        return now if written >= CHUNK_BYTES else now + TURN_S

    def end(self, now: float) -> None:
        """Note that its turn is over: it knows everything, or does not read."""
        self._turns.taken_s += now - self._began_at

    def give_way(self, now: float) -> None:
        """Note that its turn is over, and that the others have theirs from *now* on."""
        self.end(now)
        if not self.gave_way_at:
            self._turns.awaited += 1
        self.gave_way_at, self._taken_s = now, self._turns.taken_s

    def go_on(self, now: float) -> None:
        """Note that the others have had their turn."""
        if not self.gave_way_at:
            return
        taken_s = self._turns.taken_s - self._taken_s
        self._others_s, self.gave_way_at = now - self.gave_way_at - taken_s, 0.0
        self._turns.awaited -= 1
