"""The binding's allow-list against what a plugin declares. Turns two lists into a verdict; grants nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ..failures import FailureCode
from ..messages.quoting import quote

MOST_HINTED = 8  # names in a hint: more than these belong into a file


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a declaration is refused."""

    code: FailureCode
    message: str
    bare_hint: str | None = None  # the next step for who gave the list on a command line


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
                "Let the plugin list the capabilities it uses, or leave `--allow` out.",
            )
        return None
    problem = flaw(declared)
    if problem is not None:
        return Refusal(FailureCode.CAPABILITY_NOT_DECLARED, problem)
    known = set(allowed)  # a plugin's list may be long
    missing = tuple(name for name in declared if name not in known)
    if not missing:
        return None
    granted = ", ".join(allowed) if allowed else "nothing"
    message = f"the plugin asks for {quote(missing[0])}, and its binding grants {granted}"
    return Refusal(FailureCode.CAPABILITY_NOT_ALLOWED, message, _grant_hint(missing))


def _grant_hint(missing: Sequence[str]) -> str | None:
    """Say how a bare command is granted what it asks for, or None if that cannot be typed as shown."""
    words = [f"--allow {shlex.quote(name)}" for name in missing[:MOST_HINTED] if name.isprintable()]
    if len(words) < len(missing):
        return None
    return f"If you trust it with that, grant it on the command line, before the `--`: {' '.join(words)}"
