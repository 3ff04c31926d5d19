"""Plugins that are to work together: what they require, and whom they exclude, to a list of problems. Starts nothing.

A pattern is a capability (`lang:python`) or all of a kind (`lang:*`). What a plugin requires must be offered by some
plugin of the set, itself included. What it conflicts with must not be offered by another one. `provider:*` among the
conflicts of a plugin that offers `provider:github` claims one owner for that target, not for all of them: all known
providers say it, and yet they are used side by side. Without an offer of that kind it excludes the whole kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
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
    offers = _offers(members)
    for index, member in enumerate(members):
        problems += _same_name(member, members[:index])
        problems += _unmet(member, offers)
        problems += _excluded(member, index, offers, members)
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


def _unmet(member: Member, offers: Mapping[str, Sequence[int]]) -> list[Problem]:
    return [
        Problem(member.name, "requires", f"it requires {quote(pattern)}, which none of the plugins offers")
        for pattern in member.requires
        if pattern not in offers
    ]


def _excluded(
    member: Member, index: int, offers: Mapping[str, Sequence[int]], members: Sequence[Member]
) -> list[Problem]:
    """Return whom *member*, the one at *index*, keeps away. *offers* says who offers a capability, or a kind of it."""
    found = []
    own = set(member.capabilities)
    for pattern in dict.fromkeys(member.conflicts_with):
        claimed = {capability for capability in own if matches(pattern, capability)}
        # A claim for oneself concerns these capabilities only; any other pattern whatever it matches.
        sought = claimed if pattern.endswith(":*") and claimed else {pattern}
        rivals = {other for each in sorted(sought) for other in offers.get(each, ()) if other != index}
        found += [
            Problem(
                member.name,
                "conflicts_with",
                f"it excludes {quote(pattern)}, and {quote(members[other].name)} offers "
                f"{quote(_offered(members[other], sought))}",
            )
            for other in sorted(rivals)
        ]
    return found


def _offered(member: Member, sought: AbstractSet[str]) -> str:
    """Return the first capability of *member* that is among those *sought*, patterns included."""
    return next(
        capability
        for capability in member.capabilities
        if any(matches(pattern, capability) for pattern in sought)
    )


def _offers(members: Sequence[Member]) -> dict[str, list[int]]:
    """Return who offers each capability, and each kind of them, by place in the set."""
    found: dict[str, list[int]] = {}
    for index, member in enumerate(members):
        kinds = {f"{name.partition(':')[0]}:*" for name in member.capabilities if ":" in name}
        for each in {*member.capabilities, *kinds}:
            found.setdefault(each, []).append(index)
    return found
