"""What waits to be written to a plugin, to what is written next. Bounded; writes nothing itself.

Theory of operation. A pipe is a queue that nobody can overtake in, so what is urgent must not be put behind much.
Here everything waits in lanes, and only a little is handed out at a time: every key, and one frame of the rest.
A key thus waits behind one frame at most, however much was published. Of the rest, answers to the plugin's own calls
go first: it may be standing still for them. Calls and events leave in the order in which they came, so that a call
finds the plugin as the events before it made it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import NamedTuple

from ..base import Word


class Lane(Word):
    """Where a frame waits."""

    KEY = "key"
    REPLY = "reply"
    CALL = "call"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may wait. Calls and replies are bounded by those who wait for them."""

    keys: int = 64  # more than anyone types while a screen stands still
    events: int = 4_096
    event_bytes: int = 268_435_456  # 256 MiB: a publish of a hundred chunks to one that is slow to read


class Waiting(NamedTuple):
    """A frame that waits."""

    number: int  # in the order of arrival, over all lanes
    frame: bytes
    shown: bytes  # the body, as whoever watches may see it


class Lanes:
    """The frames that wait for one process."""

    __slots__ = (
        "_bounds",
        "_event_bytes",
        "_lanes",
        "_number",
        "calls",
        "dropped",
        "events",
        "keys",
        "replies",
    )

    def __init__(self, bounds: Bounds) -> None:
        self.dropped = {Lane.KEY: 0, Lane.EVENT: 0}  # since the beginning
        self._bounds = bounds
        self.keys: deque[Waiting] = deque()
        self.replies: deque[Waiting] = deque()
        self.events: deque[Waiting] = deque()
        self._lanes = {Lane.KEY: self.keys, Lane.REPLY: self.replies, Lane.EVENT: self.events}
        self.calls: OrderedDict[int, Waiting] = OrderedDict()  # by id, because callers give up
        self._event_bytes = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self.calls) + len(self.keys) + len(self.replies) + len(self.events)

    def waiting(self, lane: Lane) -> int:
        """Return how many frames wait in *lane*."""
        return len(self.calls) if lane is Lane.CALL else len(self._lanes[lane])

    def holds(self, call_id: int) -> bool:
        """Tell whether a call still waits."""
        return call_id in self.calls

    def put_call(self, call_id: int, frame: bytes, shown: bytes) -> None:
        """Let a call wait, until it is taken or withdrawn."""
        self._number += 1
        self.calls[call_id] = Waiting(self._number, frame, shown)

    def put(self, lane: Lane, frame: bytes, shown: bytes) -> int:
        """Let *frame* wait in *lane*. Returns how many older ones had to go for it."""
        self._number += 1
        self._lanes[lane].append(Waiting(self._number, frame, shown))
        if lane is Lane.EVENT:
            self._event_bytes += len(frame)
        gone = 0
        while self._over(lane):
            self._pop(lane)
            gone += 1
        if gone:
            self.dropped[lane] += gone
        return gone

    def take(self, *, all_lanes: bool) -> list[Waiting]:
        """Return what is written next, urgent first: every key and one frame more.

        Unless *all_lanes*, nothing but a reply is: the plugin is not ready for the rest.
        """
        if not all_lanes:
            return [self.replies.popleft()] if self.replies else []
        taken: list[Waiting] = []
        if self.keys:
            taken.extend(self.keys)
            self.keys.clear()
        if self.replies:
            taken.append(self.replies.popleft())
        elif self.calls and (not self.events or self._first_call().number < self.events[0].number):
            taken.append(self.calls.popitem(last=False)[1])
        elif self.events:
            taken.append(self._pop(Lane.EVENT))
        return taken

    def withdraw(self, call_id: int) -> bool:
        """Take a call out that still waits. Returns whether it did."""
        return self.calls.pop(call_id, None) is not None

    def clear(self) -> None:
        """Forget everything."""
        self.clear_notifications()
        self._lanes[Lane.REPLY].clear()
        self.calls.clear()

    def clear_notifications(self) -> None:
        """Forget keys and events."""
        self._lanes[Lane.KEY].clear()
        self._lanes[Lane.EVENT].clear()
        self._event_bytes = 0

    def _first_call(self) -> Waiting:
        return next(iter(self.calls.values()))

    def _pop(self, lane: Lane) -> Waiting:
        waiting = self._lanes[lane].popleft()
        if lane is Lane.EVENT:
            self._event_bytes -= len(waiting.frame)
        return waiting

    def _over(self, lane: Lane) -> bool:
        count, bounds = len(self._lanes[lane]), self._bounds
        match lane:
            case Lane.KEY:
                return count > bounds.keys
            case Lane.EVENT:
                return count > bounds.events or (self._event_bytes > bounds.event_bytes and count > 1)
            case _:
                return False
