"""A deadline that passed while we were busy elsewhere -> when it is judged. Reads nothing, and keeps no clock.

Theory of operation. A plugin that says more than a pipe holds waits for us with the rest. If it is we who are late,
that rest is not there yet when the deadline is looked at, however early it was ready: the plugin writes it once we
have read, and for that it has to be given the processor. To read on at once finds an empty pipe, and to wait for
more would keep the others waiting. So one piece is read, and the deadline is put off, once and for a moment; what
comes meanwhile is heard in turn with everybody else. A host that is on time puts nothing off, and neither does
one that has found less than the smallest pipe holds: then nobody had to wait for it.
"""

from __future__ import annotations

from .appetite import LEAST_READ

PUNCTUAL_S = 0.01  # later than this is late: timers and turns take a few milliseconds
RESPITE_S = 1.0  # for the rest of a largest frame, and an exit, on a machine that is busy
SMALLEST_PIPE = LEAST_READ  # bytes: what Linux gives to whoever has too many
_NEVER = float("-inf")


class Respite:
    """Whether the deadline of one plugin is put off, and until when."""

    __slots__ = ("_due", "_until", "_waited")

    def __init__(self) -> None:
        self._due = self._until = self._waited = _NEVER

    def note(self, now: float, count: int) -> None:
        """It is *now*, and *count* bytes were read at once."""
        if count >= SMALLEST_PIPE:
            self._waited = now

    def lasts(self, due: float | None, now: float) -> bool:
        """Tell whether what was *due* is not to be judged yet. What came by *now* has been noted."""
        if due is None or now < due:
            return False
        if due != self._due and now - due > PUNCTUAL_S and self._waited >= due:
            self._due, self._until = due, now + RESPITE_S
        return due == self._due and now < self._until

    def moved(self, due: float | None) -> float | None:
        """Return when to look at what is *due*."""
        return self._until if due == self._due else due
