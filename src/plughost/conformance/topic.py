"""An axis before it is judged: what it is about, the clauses that it covers, how it is checked. Checks nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .report import Axis, Status
from .requirements import Requirement

C_co = TypeVar("C_co", covariant=True)  # how it is checked
Check = TypeVar("Check")

NOT_REACHED = "not reached"  # why an axis is skipped: what comes before it failed


@dataclass(frozen=True, slots=True)
class Topic(Generic[C_co]):
    """An axis: its id, what it is about, the clauses that it covers, and how it is checked."""

    id: str
    about: str
    clauses: tuple[str, ...]
    check: C_co

    def judged(
        self, status: Status, detail: str, broken: Sequence[str], said: Mapping[str, Requirement]
    ) -> Axis:
        """Return the axis with its verdict; the clauses that are *broken* are shown in the words of the contract."""
        told = [said[clause].says for clause in broken if clause in said]
        name = " ".join(told) if told else f"{self.about}: {', '.join(self.clauses)}"
        return Axis(self.id, name, status, detail)


def topic(contract: str, name: str, about: str, clauses: str, check: Check) -> Topic[Check]:
    """Return the axis *name* of *contract*; *clauses* are words, without the contract's name before them."""
    return Topic(f"{contract}:{name}", about, tuple(f"{contract}:{each}" for each in clauses.split()), check)
