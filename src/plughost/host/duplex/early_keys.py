"""Keys that were pressed before there is a process to tell -> told to the next one, or lost with it. Starts nothing.

A key is meant for what is on the screen now. One whose process never came up is not kept for a later one: that might
be in an hour, and take it for the answer to another question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...contracts.duplex.lanes import Lane
from ...contracts.duplex.parcel import Parcel

if TYPE_CHECKING:
    from .member import Member


class EarlyKeys:
    """The keys that wait for a process of *member*, which counts those that are lost."""

    __slots__ = ("_keys", "_member")

    def __init__(self, member: Member) -> None:
        self._member = member
        self._keys: list[Parcel] = []

    def __bool__(self) -> bool:
        return bool(self._keys)

    def put(self, key: Parcel, most: int) -> bool:
        """Let *key* wait. The oldest goes if it would be more than *most*. Returns whether none had to."""
        has_room = len(self._keys) < most
        if not has_room:
            del self._keys[0]
            self._member.lose(Lane.KEY)
        self._keys.append(key)
        return has_room

    def take(self) -> list[Parcel]:
        """Return all of them, for a process that is ready."""
        keys, self._keys = self._keys, []
        return keys

    def lose(self) -> None:
        """Let go of all of them: there will be no such process."""
        for _ in self.take():
            self._member.lose(Lane.KEY)
