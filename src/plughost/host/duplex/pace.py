"""For how long one plugin is told what waits for it, before it and the others are heard. Tells nothing itself.

A plugin that reads as fast as it is written to would otherwise have the thread until it knows everything that was ever
published for it. Where a turn of the others takes long, as in an application that has much to do itself, half of that
is its own from then on: else it would be told next to nothing. Only their turns count for that, not the time in which
the plugin did not read, or had nothing to read.
"""

from __future__ import annotations

TURN_S = 0.00005  # at least: one chunk as the SDK cuts them
CHUNK_BYTES = 8_192  # that make a turn of their own: half a chunk as the SDK cuts them
LONG_S = 0.002  # of the others' turn: longer than plugins need
SHARE = 0.5  # of theirs, where it was longer
MOST_S = 0.01  # of a turn, however long theirs was


class Pace:
    """The turns of one plugin."""

    __slots__ = ("_others_s", "gave_way_at")

    def __init__(self) -> None:
        self.gave_way_at = 0.0  # to the others, who have their turn; 0 if it is ours
        self._others_s = 0.0  # that they took, when they last had theirs

    def begin(self, now: float, written: int) -> float:
        """Return when the turn is over that begins *now*, where so many bytes were *written* just before it."""
        if self._others_s > LONG_S:
            return now + min(SHARE * self._others_s, MOST_S)
        return now if written >= CHUNK_BYTES else now + TURN_S

    def give_way(self, now: float) -> None:
        """Note that the others have their turn from *now* on."""
        self.gave_way_at = now

    def go_on(self, now: float) -> None:
        """Note that the others have had their turn."""
        self._others_s, self.gave_way_at = now - self.gave_way_at, 0.0
