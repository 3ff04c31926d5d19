"""The binding's allow-list against what a plugin declares. Turns two lists into a verdict; grants nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..failures import FailureCode
from ..messages.quoting import quote


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a declaration is refused."""

    code: FailureCode
    message: str


def flaw(names: Sequence[str]) -> str | None:
    """Say what is wrong with a list of capability names as such, or None: empty, padded, duplicate."""
    seen: set[str] = set()
    for name in names:
        if not name.strip():
            return "a capability is empty"
        if name != name.strip():
            return f"the capability {quote(name)} is padded with blanks"
        if name in seen:
            return f"the capability {quote(name)} is listed twice"
        seen.add(name)
    return None


def judge(allowed: Sequence[str], declared: Sequence[str] | None) -> Refusal | None:
    """Return why *declared* is refused, or None if every declared capability is allowed.

    A binding that grants something wants an explicit declaration; a plugin never grants itself anything.
    """
    if not declared:
        if allowed:
            return Refusal(
                FailureCode.CAPABILITY_NOT_DECLARED,
                f"the binding grants {', '.join(allowed)}, but the plugin declares no capabilities",
            )
        return None
    problem = flaw(declared)
    if problem is not None:
        return Refusal(FailureCode.CAPABILITY_NOT_DECLARED, problem)
    known = set(allowed)  # a plugin's list may be long
    for name in declared:
        if name not in known:
            granted = ", ".join(allowed) if allowed else "nothing"
            return Refusal(
                FailureCode.CAPABILITY_NOT_ALLOWED,
                f"the plugin asks for {quote(name)}, and its binding grants {granted}",
            )
    return None
