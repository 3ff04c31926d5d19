"""Plugins that are to work together: what they require, and whom they exclude, to a list of problems. Starts nothing.

A pattern is a capability (`lang:python`) or all of a kind (`lang:*`). What a plugin requires must be offered by some
plugin of the set, itself included. What it conflicts with must not be offered by another one. `provider:*` among the
conflicts of a plugin that offers `provider:github` claims one owner for that target, not for all of them: all known
providers say it, and yet they are used side by side. Without an offer of that kind it excludes the whole kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..messages.quoting import quote


@dataclass(frozen=True, slots=True)
class Member:
    """What one plugin of a set says about itself."""

    name: str
    capabilities: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a set cannot work together: which plugin says so, in which list, and a sentence."""

    name: str
    key: str
    message: str


def judge(members: Sequence[Member]) -> list[Problem]:
    """Return everything that keeps *members* from working together; empty if nothing does."""
    problems = []
    for index, member in enumerate(members):
        others = [other for place, other in enumerate(members) if place != index]
        problems += _same_name(member, members[:index])
        problems += _unmet(member, members)
        problems += _excluded(member, others)
    return problems


def matches(pattern: str, capability: str) -> bool:
    """Tell whether *capability* is what *pattern* names."""
    kind, colon, name = pattern.partition(":")
    if colon and name == "*":
        return capability.startswith(f"{kind}:")
    return pattern == capability


def _same_name(member: Member, before: Sequence[Member]) -> list[Problem]:
    if all(member.name != other.name for other in before):
        return []
    return [Problem(member.name, "name", f"two plugins call themselves {quote(member.name)}")]


def _unmet(member: Member, members: Sequence[Member]) -> list[Problem]:
    offered = [capability for other in members for capability in other.capabilities]
    return [
        Problem(member.name, "requires", f"it requires {quote(pattern)}, which none of the plugins offers")
        for pattern in member.requires
        if not any(matches(pattern, capability) for capability in offered)
    ]


def _excluded(member: Member, others: Sequence[Member]) -> list[Problem]:
    found = []
    for pattern in member.conflicts_with:
        own = [capability for capability in member.capabilities if matches(pattern, capability)]
        claimed = own if pattern.endswith(":*") else []
        found += [
            Problem(
                member.name,
                "conflicts_with",
                f"it excludes {quote(pattern)}, and {quote(other.name)} offers {quote(capability)}",
            )
            for other in others
            for capability in other.capabilities
            if matches(pattern, capability) and (not claimed or capability in claimed)
        ]
    return found
