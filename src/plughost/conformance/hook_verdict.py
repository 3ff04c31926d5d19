"""What a check of the `hook` contract says: a text for what is wrong, or a word about it. Turns it into a status."""

from __future__ import annotations

from collections.abc import Callable

from .hook_examination import Examination
from .report import Status
from .verdict import Remark, Skip

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
