"""What waits to be written to a plugin, to what is written next. Bounded; writes nothing itself.

Theory of operation. A pipe is a queue that nobody can overtake in, so what is urgent must not be put behind much.
Here everything waits in lanes, and only a little is handed out at a time: every key, and one frame of the rest, or
some small ones together. A key thus waits behind one piece at most, however much was published. Of the rest, answers
to the plugin's own calls go first: it may be standing still for them. Calls and events leave in the order in which
they came here.

A signal's handler that publishes or calls comes in here between any two steps, and puts and takes as well. Python
looks for signals after a call and before a repetition: what must not be torn has neither, and what was seen before may
be gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from msgspec import Struct

from ..base import Word

JOINED = 16  # frames that are written at once: what many calls at the same time gain from is gained by then
SMALL_BYTES = 4_096  # of an answer: as many as may wait of these are not worth being counted
JOINED_BYTES = 16_384  # of them: as much as the plugin's pipe holds; one that is longer goes alone


class Lane(Word):
    """Where a frame waits."""

    KEY = "key"
    REPLY = "reply"
    CALL = "call"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may wait. Calls are bounded by those who wait for them, replies by the session."""

    keys: int = 64  # more than anyone types while a screen stands still
    events: int = 4_096
    reply_bytes: int = 67_108_864  # 64 MiB: four of the largest; one that asks for more has to read first
    event_bytes: int = 268_435_456  # 256 MiB: a publish of a hundred chunks to one that is slow to read


class Waiting(Struct, frozen=True, gc=False):
    """A frame that waits."""

    number: int  # in the order of arrival, over all lanes
    frame: bytes
    shown: bytes  # the body, as whoever watches may see it


class Promised(Struct, frozen=True):
    """A reply of *size* bytes that is encoded when it leaves. Until then only what it is made of is held."""

    number: int
    size: int
    encode: Callable[[], tuple[bytes, bytes]]  # returns the frame and its body


Reply = Waiting | Promised


def _size(reply: Reply) -> int:
    return reply.size if type(reply) is Promised else len(reply.frame)  # type: ignore[union-attr]


# What it is to look at the first of what a signal's handler has taken meanwhile, or added to.
_CHANGED = (LookupError, StopIteration, RuntimeError)
_NONE: deque[Any] = deque(maxlen=0)  # an empty lane: five hundred idle plugins have three of them each


class Lanes:
    """The frames that wait for one process."""

    __slots__ = (
        "_bounds", "_event_bytes", "_number", "_reply_bytes", "calls", "events", "keys", "lost_events", "lost_keys",
        "replies",
    )  # fmt: skip

    def __init__(self, bounds: Bounds) -> None:
        self.lost_keys = self.lost_events = 0  # since the beginning
        self._bounds = bounds
        self.keys: deque[Waiting] = _NONE
        self.replies: deque[Reply] = _NONE
        self.events: deque[Waiting] = _NONE
        self.calls: dict[int, Waiting] = {}  # by id, because callers give up
        self._event_bytes = self._reply_bytes = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self.calls) + len(self.keys) + len(self.replies) + len(self.events)

    def __bool__(self) -> bool:
        return bool(self.calls or self.keys or self.replies or self.events)

    @property
    def has_more_than_calls(self) -> bool:
        """Whether a key, a reply or an event waits."""
        return bool(self.keys or self.replies or self.events)

    @property
    def dropped(self) -> dict[Lane, int]:
        """How many frames each lane has lost, since the beginning."""
        return {Lane.KEY: self.lost_keys, Lane.EVENT: self.lost_events}

    def is_fed(self, events: int, event_bytes: int) -> bool:
        """Tell whether so many events wait, or so many bytes of them."""
        return len(self.events) >= events or self._event_bytes >= event_bytes

    def waiting(self, lane: Lane) -> int:
        """Return how many frames wait in *lane*."""
        return len(self.calls if lane is Lane.CALL else self._lane(lane))

    def has_room(self, size: int) -> bool:
        """Tell whether a reply of *size* bytes has room: not if the plugin leaves too much of its answers unread."""
        if size <= SMALL_BYTES or not self.replies:
            return True
        return self._reply_bytes + size <= self._bounds.reply_bytes

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
        waiting, size = Waiting(self._number, frame, shown), len(frame)
        self._lane(lane, begin=True).append(waiting)
        if lane is Lane.REPLY:
            self._reply_bytes += size
            return 0
        if lane is Lane.EVENT:
            self._event_bytes += size
        gone = 0
        while self._over(lane):
            try:
                self._drop_oldest(lane)
            except _CHANGED:
                continue
            gone += 1
        if gone:
            self._count_lost(lane, gone)
        return gone

    def promise(self, size: int, encode: Callable[[], tuple[bytes, bytes]]) -> None:
        """Let a reply of *size* bytes wait that is encoded when it leaves: one that is not read costs no encoding."""
        self._number += 1
        self._lane(Lane.REPLY, begin=True).append(Promised(self._number, size, encode))
        self._reply_bytes += size

    def take(self, *, all_lanes: bool) -> list[Waiting]:
        """Return what is written next, urgent first: every key, and one frame more or some small ones.

        Unless *all_lanes*, nothing but a reply is: the plugin is not ready for the rest.
        """
        if not all_lanes:
            return self._take_reply()
        keys, self.keys = self.keys, _NONE
        taken = list(keys)
        size, most = 0, len(taken) + JOINED
        while len(taken) < most:
            try:
                first: Reply
                if self.replies:
                    first, pop = self.replies[0], self._pop_reply
                elif self.calls and (not self.events or self._first_call().number < self.events[0].number):
                    first, pop = self._first_call(), self._pop_call
                elif self.events:
                    first, pop = self.events[0], self._pop_event
                else:
                    break
                if size and size + _size(first) > JOINED_BYTES:  # it would not be alone
                    break
                waiting = pop()
            except _CHANGED:
                continue
            taken.append(waiting)
            size += len(waiting.frame)
        return taken

    def take_calls(self) -> tuple[bytes, list[bytes]]:
        """Like `take`, where nothing but calls waits. Returns their frames, joined, and what is shown of them."""
        frames, shown, size = list[bytes](), list[bytes](), 0
        for call_id, waiting in self._first_calls():
            size += len(waiting.frame)
            if frames and size > JOINED_BYTES:
                break
            if self.calls.pop(call_id, None) is not None:  # else it was written meanwhile
                frames.append(waiting.frame)
                shown.append(waiting.shown)
        return b"".join(frames), shown

    def withdraw(self, call_id: int) -> bool:
        """Take a call out that still waits. Returns whether it did."""
        return self.calls.pop(call_id, None) is not None

    def clear(self) -> None:
        """Forget everything."""
        self.clear_notifications()
        self.replies = _NONE
        self._reply_bytes = 0
        self.calls.clear()

    def clear_notifications(self) -> None:
        """Forget keys and events, and count them: nobody will be told of them."""
        self._count_lost(Lane.KEY, len(self.keys))
        self._count_lost(Lane.EVENT, len(self.events))
        self.keys = self.events = _NONE
        self._event_bytes = 0

    def _lane(self, lane: Lane, *, begin: bool = False) -> deque[Any]:
        match lane:
            case Lane.KEY:
                if begin and self.keys is _NONE:
                    fresh: deque[Any] = deque()
                    self.keys = self.keys or fresh
                return self.keys
            case Lane.REPLY:
                if begin and self.replies is _NONE:
                    fresh = deque()
                    self.replies = self.replies or fresh
                return self.replies
            case _:
                if begin and self.events is _NONE:
                    fresh = deque()
                    self.events = self.events or fresh
                return self.events

    def _take_reply(self) -> list[Waiting]:
        while self.replies:
            try:
                return [self._pop_reply()]
            except _CHANGED:
                continue
        return []

    def _first_calls(self) -> list[tuple[int, Waiting]]:
        while True:
            try:
                return list(islice(self.calls.items(), JOINED))
            except _CHANGED:
                continue

    def _first_call(self) -> Waiting:
        return next(iter(self.calls.values()))

    def _pop_call(self) -> Waiting:
        return self.calls.pop(next(iter(self.calls)))

    def _pop_reply(self) -> Waiting:
        reply = self.replies.popleft()
        size = _size(reply)
        self._reply_bytes -= size
        if not self.replies:
            self.replies = _NONE
        if isinstance(reply, Promised):
            return Waiting(reply.number, *reply.encode())
        return reply

    def _pop_event(self) -> Waiting:
        waiting = self.events.popleft()
        size = len(waiting.frame)
        self._event_bytes -= size
        if not self.events:
            self.events = _NONE
        return waiting

    def _count_lost(self, lane: Lane, count: int) -> None:
        if lane is Lane.KEY:
            self.lost_keys += count
        else:
            self.lost_events += count

    def _drop_oldest(self, lane: Lane) -> None:
        if lane is Lane.KEY:
            self.keys.popleft()
        else:
            self._pop_event()

    def _over(self, lane: Lane) -> bool:
        bounds = self._bounds
        if lane is Lane.KEY:
            return len(self.keys) > bounds.keys
        count = len(self.events)
        return count > bounds.events or (self._event_bytes > bounds.event_bytes and count > 1)
