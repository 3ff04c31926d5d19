"""Calls that a plugin did not answer in time -> whether it is slow, wedged, or hangs. Pure; ends nothing.

A call is missed when it took as long as the plugin's limits allow. Callers may have less patience than that: what they
gave up is no fault of the plugin, unless it has answered nothing at all, not even late, for as long as that.
"""

from __future__ import annotations

ROUNDING_S = 0.001  # of clocks and timers
MISSES_TO_FAIL = 3  # calls in a row that a plugin did not answer: it is not slow, it hangs


class Patience:
    """What is known of one process that does not answer."""

    __slots__ = ("_late", "_misses", "_since", "is_wedged")

    def __init__(self) -> None:
        self.is_wedged = False  # it has missed a call, and has not answered since
        self._misses = 0
        self._since: float | None = None  # when the first call was made of those that were given up
        self._late = 0  # how many answers had come too late by then

    @property
    def is_strained(self) -> bool:
        """Whether an answer would be news."""
        return self._since is not None or self._misses > 0 or self.is_wedged

    @property
    def is_over(self) -> bool:
        """Whether the plugin hangs."""
        return self._misses >= MISSES_TO_FAIL

    @property
    def misses(self) -> int:
        return self._misses

    def miss(self, asked_at: float, now: float, limit_s: float, late: int) -> float | None:
        """A call that was *asked_at* is given up *now*; so far so many answers came too *late*.

        Returns how long nothing was answered, if that is longer than *limit_s*: the call counts then.
        """
        if self._since is None or late != self._late:  # it does answer, only too late for whoever asked
            self._since, self._late = asked_at, late
        took = now - min(asked_at, self._since)
        if took < limit_s - ROUNDING_S:
            return None
        self._misses += 1
        self._since = now  # the next one counts when as much time has passed again
        return took

    def answered(self) -> bool:
        """It has answered. Returns whether it was wedged until now."""
        was_wedged = self.is_wedged
        self.is_wedged, self._misses, self._since = False, 0, None
        return was_wedged
