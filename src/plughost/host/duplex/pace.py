"""For how long one plugin is told what waits for it, before it and the others are heard. Tells nothing itself.

A plugin that reads as fast as it is written to would otherwise have the thread until it knows everything that was ever
published for it. Where a turn of the others takes long, as in an application that has much to do itself, half of that
is its own in the next one: else it would be told next to nothing.
"""

from __future__ import annotations

TURN_S = 0.00005  # at least: one chunk as the SDK cuts them
LONG_S = 0.002  # to wait for the next turn: longer than plugins need
SHARE = 0.5  # of a wait that was longer
MOST_S = 0.01  # of a turn, however long it has waited


class Pace:
    """The turns of one plugin."""

    __slots__ = ("_waits_since",)

    def __init__(self) -> None:
        self._waits_since = 0.0

    def begin(self, now: float) -> float:
        """Return when the turn is over that begins *now*."""
        waited = now - self._waits_since if self._waits_since else 0.0
        self._waits_since = 0.0
        return now + (min(SHARE * waited, MOST_S) if waited > LONG_S else TURN_S)

    def give_way(self, now: float) -> None:
        """Note that the others have their turn from *now* on."""
        self._waits_since = now
