"""What a check of the `hook` contract says: a text for what is wrong, or one of these. Turns it into a status."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .hook_examination import Examination
from .report import Status


@dataclass(frozen=True, slots=True)
class Skip:
    """An axis that does not apply, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Remark:
    """An axis that passed, and what to know about it."""

    text: str


Verdict = str | Skip | Remark | None
Check = Callable[[Examination], Verdict]


def judged(verdict: Verdict) -> tuple[Status, str]:
    """Return the status that *verdict* means, and the words beside it."""
    match verdict:
        case None:
            return Status.PASSED, ""
        case Remark(text):
            return Status.PASSED, text
        case Skip(reason):
            return Status.SKIPPED, reason
        case problem:
            return Status.FAILED, problem
