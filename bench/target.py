"""A target of the design, and whether a measured value meets it. It never fails a run: machines differ."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from .samples import Source


class Kind(Enum):
    """What a target bounds."""

    TIMES = "at most so many times another"
    FASTER = "at least so many times faster than another"
    LEAST = "at least so many times another"
    OVER = "at most so much more than another"
    AMOUNT = "at most so much"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a target. *reached* is in the target's own terms; *met* is the answer."""

    reached: float
    met: bool
    text: str


@dataclass(frozen=True, slots=True)
class Target:
    """What the design asks of a row."""

    kind: Kind
    limit: float
    name: str  # of what it is measured against, or of the unit
    against: Source | None = None
    of_median: bool = False  # for a ratio taken within each round: its quiet value would only flatter

    @property
    def text(self) -> str:
        match self.kind:
            case Kind.TIMES:
                return f"≤ {self.limit:g} × {self.name}"
            case Kind.FASTER:
                return f"≥ {self.limit:g} × faster than {self.name}"
            case Kind.LEAST:
                return f"≥ {self.limit:g} × {self.name}"
            case Kind.OVER:
                return f"≤ {self.limit:g} ms over {self.name}"
            case Kind.AMOUNT:
                return f"≤ {self.limit:g} {self.name}"
            case never:
                assert_never(never)

    def judge(self, value: float, against: float | None) -> Verdict | None:
        """Return the verdict on *value*; None if there is nothing to hold it against."""
        reached = self._reach(value, against)
        if reached is None:
            return None
        met = reached >= self.limit if self._is_floor else reached <= self.limit
        spelled = f"{reached:.3g}"
        return Verdict(
            reached, met, f"met: {spelled}" if met else f"missed by {self._miss(reached)}: {spelled}"
        )

    @property
    def _is_floor(self) -> bool:
        return self.kind in (Kind.FASTER, Kind.LEAST)

    def _reach(self, value: float, against: float | None) -> float | None:
        if self.kind is Kind.AMOUNT:
            return value
        if against is None:
            return None
        match self.kind:
            case Kind.TIMES | Kind.LEAST:
                return value / against
            case Kind.FASTER:
                return against / value
            case Kind.OVER:
                return value - against
            case never:
                assert_never(never)

    def _miss(self, reached: float) -> str:
        if self.kind is Kind.OVER:
            return f"{reached - self.limit:.3g} ms"
        factor = self.limit / reached if self._is_floor else reached / self.limit
        return f"{factor:.3g} ×"
