"""What a check of the `duplex` contract finds: flaws by clause, or why there is nothing to judge. Judges nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .duplex_examination import Examination


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
Check = Callable[["Examination"], Findings]
