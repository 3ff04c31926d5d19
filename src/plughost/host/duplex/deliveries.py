"""Publishes -> what one subscriber is to be told, in publish order and within bounds. Knows of no other subscriber.

A signal's handler that publishes comes in between any two steps, and puts and takes as well. Python looks for signals
after a call and before a repetition: what must not be torn has neither, and what was seen before may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .frame_room import PAYLOAD_LIMIT

NO_TOPICS: frozenset[str] = frozenset()  # one for all: five hundred idle plugins have several each
ENTRY_COST = 512  # bytes of book-keeping for a topic or a delivery, beside its name and payload


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """What snapshots may cost. All in bytes, but for *subscriptions* of one plugin and *waiting* deliveries to one."""

    payload: int = PAYLOAD_LIMIT  # of one publish: what fits the frame that delivers it
    topic: int = 512  # of a topic's name: names of people's making are a tenth of that
    publisher: int = 67_108_864  # of all that one plugin has published last: a quarter of the store
    plugins: int = (
        201_326_592  # of what all plugins have published last: the last quarter is the host's alone
    )
    store: int = 268_435_456  # of the latest of all topics
    subscriptions: int = 4096  # as many topics as nobody writes by hand
    waiting: int = (
        24_576  # deliveries: 256 MiB in chunks as the SDK cuts them; one further behind will not catch up
    )
    queue: int = (
        268_435_456  # of all that waits for one subscriber: as much as the store; the newest stays anyway
    )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One publish. *version* rises with every publish, whatever its topic."""

    topic: str
    payload: bytes
    version: int
    publisher: str
    cost: int = field(init=False, repr=False, compare=False)  # what it costs to keep it, in bytes

    def __post_init__(self) -> None:  # asked for many times a publish
        object.__setattr__(self, "cost", len(self.topic.encode()) + len(self.payload) + ENTRY_COST)


class Tally(Struct, frozen=True):
    """What became of the publishes for one subscriber. Whatever was *queued* waits, or is counted once more here."""

    queued: int = 0
    delivered: int = 0
    replaced: int = 0  # by a newer one of a latest-state topic
    dropped: int = 0  # because too much waited
    forgotten: int = 0  # because the process that had subscribed was gone, or may not hear of it any more


NOTHING_YET = Tally()
_NONE: Any = MappingProxyType({})  # where nothing waits: five hundred idle plugins have two of them each


class Deliveries:
    """The queue of one subscriber. *tally* counts, *cost* is what waits, in bytes."""

    __slots__ = ("_last", "_latest_state", "_limits", "_newest", "_waiting", "cost", "tally")

    def __init__(self, limits: SnapshotLimits) -> None:
        self.tally = NOTHING_YET
        self.cost = 0
        self._limits = limits
        self._latest_state = NO_TOPICS
        self._waiting: dict[int, Snapshot] = _NONE  # by version, so in publish order
        self._last: dict[str, int] = _NONE  # the newest waiting version of each topic
        self._newest = 0  # version that was ever put

    def __len__(self) -> int:
        return len(self._waiting)

    def keep_latest_of(self, topics: Iterable[str]) -> None:
        """Let a publish of one of *topics* take the place of the one before, if that still waits."""
        self._latest_state = frozenset(topics) or NO_TOPICS

    def put(self, snapshot: Snapshot) -> None:
        """Queue *snapshot* at the end; twice is once. If too much waits, the oldest is dropped, never the newest."""
        topic, version = snapshot.topic, snapshot.version
        before: int | None = None
        if version <= self._newest:  # a signal's handler has put it, since its own had to come behind it
            return
        if not self._waiting:
            self._waiting, self._last = {}, {}
        if topic in self._latest_state and topic in self._last:
            before = self._last[topic]
        self._waiting[version] = snapshot
        self._last[topic] = self._newest = version
        self.cost += snapshot.cost
        self._count(queued=1)
        if self._remove(before) is not None:
            self._count(replaced=1)
        while len(self._waiting) > 1 and self._too_much():
            if self._remove_oldest() is not None:
                self._count(dropped=1)

    def take(self) -> Snapshot | None:
        """Take the oldest, or None if nothing waits."""
        while self._waiting:
            snapshot = self._remove_oldest()
            if snapshot is not None:
                self._count(delivered=1)
                return snapshot
        return None

    def forget(self, unwanted: Callable[[str], bool]) -> None:
        """Let go of what waits of the topics that are *unwanted* by now."""
        for snapshot in list(self._waiting.values()):
            if unwanted(snapshot.topic) and self._remove(snapshot.version) is not None:
                self._count(forgotten=1)

    def _too_much(self) -> bool:
        return len(self._waiting) > self._limits.waiting or self.cost > self._limits.queue

    def _remove_oldest(self) -> Snapshot | None:
        """Remove the oldest and return it, or None if a signal's handler has done so."""
        try:
            return self._remove(next(iter(self._waiting)))
        except (StopIteration, RuntimeError):  # none is left, or others are
            return None

    def _remove(self, version: int | None) -> Snapshot | None:
        """Remove what has *version* and return it, or None if it does not wait any more."""
        if version is None or version not in self._waiting:
            return None
        snapshot = self._waiting[version]
        del self._waiting[version]
        self.cost -= snapshot.cost
        if snapshot.topic in self._last and self._last[snapshot.topic] == version:
            del self._last[snapshot.topic]
        if not self._waiting:
            self._waiting = self._last = _NONE
        return snapshot

    def _count(self, **more: int) -> None:
        while True:
            before = self.tally
            after = replace(before, **{key: getattr(before, key) + by for key, by in more.items()})
            if self.tally is before:  # else a signal's handler has counted as well
                self.tally = after
                return
