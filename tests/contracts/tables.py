"""State tables, walked: which states can be reached from which."""

from __future__ import annotations

from enum import Enum
from types import ModuleType


def reachable(states: ModuleType, start: Enum) -> set[Enum]:
    """Return the states that a conversation can come to from *start*, which is one of them."""
    reached, fresh = {start}, [start]
    while fresh:
        state = fresh.pop()
        following = {after for (before, _, _), after in states.TRANSITIONS.items() if before is state}
        fresh += following - reached
        reached |= following
    return reached
