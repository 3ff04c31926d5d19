"""How a process is brought down: close stdin, SIGTERM, SIGKILL, reap; every rung bounded. Pure arithmetic.

It decides when the next rung is due. Somebody else steps on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..contracts.base import Rung

_ORDER = (Rung.CLOSE_STDIN, Rung.TERMINATE, Rung.KILL)


@dataclass(frozen=True, slots=True)
class Grace:
    """How long each rung may take, in seconds."""

    close_stdin_s: float = 0.5
    terminate_s: float = 0.5
    reap_s: float = 2.0

    def after(self, rung: Rung) -> float:
        match rung:
            case Rung.CLOSE_STDIN:
                return self.close_stdin_s
            case Rung.TERMINATE:
                return self.terminate_s
            case Rung.KILL:
                return self.reap_s


class Ladder:
    """One descent. `rung` is where it stands; `gave_up` is set when even SIGKILL did not help in time."""

    __slots__ = ("_ended", "_grace", "_until", "gave_up", "rung")

    def __init__(self, grace: Grace) -> None:
        self._grace = grace
        self._ended = False
        self._until: float | None = None
        self.rung: Rung | None = None
        self.gave_up = False

    def begin(self, rung: Rung, now: float) -> Rung | None:
        """Step onto *rung*; return it if it is new, None if the descent is already there or lower, or over."""
        if self._ended or (self.rung is not None and _ORDER.index(self.rung) >= _ORDER.index(rung)):
            return None
        self.rung = rung
        self._until = now + self._grace.after(rung)
        return rung

    def tick(self, now: float) -> Rung | None:
        """Return the rung that is due now, or None."""
        if self._until is None or self.rung is None or now < self._until:
            return None
        if self.rung is Rung.KILL:
            self._until = None
            self.gave_up = True
            return None
        return self.begin(_ORDER[_ORDER.index(self.rung) + 1], now)

    def end(self) -> None:
        """The process is gone: nothing is due any more, and `rung` stays where it was when it went."""
        self._ended = True
        self._until = None

    def next_deadline(self) -> float | None:
        return self._until
