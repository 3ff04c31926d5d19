"""What the checks of an axis find: flaws by clause, or why there is nothing to judge; and what that comes to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .report import Status


@dataclass(frozen=True, slots=True)
class Flaw:
    """A clause that the plugin breaks, and how."""

    clause: str
    what: str


@dataclass(frozen=True, slots=True)
class Skip:
    """An axis that does not apply, or was not reached, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Remark:
    """What to know about an axis that is kept."""

    text: str


UNREADABLE = Skip("what it writes cannot be followed; other axes say why")
Findings = list[Flaw | Skip | Remark]  # any flaw: failed; no flaw and a skip: skipped


def judged(findings: Iterable[Flaw | Skip | Remark]) -> tuple[Status, str, list[str]]:
    """Return the status that *findings* mean, the words beside it, and the clauses that are broken."""
    found = list(findings)
    flaws = [each for each in found if isinstance(each, Flaw)]
    if flaws:
        detail = "; ".join(f"{flaw.clause}: {flaw.what}" for flaw in flaws)
        return Status.FAILED, detail, list(dict.fromkeys(flaw.clause for flaw in flaws))
    skips = [each.reason for each in found if isinstance(each, Skip)]
    if skips:
        return Status.SKIPPED, "; ".join(dict.fromkeys(skips)), []
    return Status.PASSED, "; ".join(each.text for each in found if isinstance(each, Remark)), []


def first_of_each(findings: Findings) -> Findings:
    """Return *findings* with one flaw of each clause: where many say the same, one is enough."""
    clauses: set[str] = set()
    kept: Findings = []
    for each in findings:
        if not isinstance(each, Flaw):
            kept.append(each)
        elif each.clause not in clauses:
            clauses.add(each.clause)
            kept.append(each)
    return kept
