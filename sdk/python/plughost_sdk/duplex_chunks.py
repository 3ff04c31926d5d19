"""Publishes too large for one frame: cuts items into chunks by their measured size, and puts chunks together again.

Chunks are small, because a pipe is a queue in which no key can overtake. A host lets keys pass all chunks that wait
on its side; what a key waits for is what the subscriber has read already, what its pipe holds, and the rest of a
chunk. Our host has a pipe hold 16 KiB, and a chunk of the usual size fits that whole: so a key waits for two or three
of them, which, if nobody else wants the processors, takes no longer than the slowest keys to an idle plugin do, and
with 2 MiB fifty times as long. To read them all takes half as long again as with 2 MiB; cutting and publishing them
takes longer than that, so that from plugin to plugin there is no difference.

A chunk is an envelope: `version`, `published_ns` (which publish it belongs to), `partial`, `chunk_index`, `is_final`
and `data`. Whoever receives chunks cannot trust that all come: a subscriber may begin in the middle, or a slow one may
miss some. `Accumulator` gives out data only when every chunk of one publish was there, and raises nothing for those
that are wrong.
"""

from __future__ import annotations

from . import duplex_fields as fields
from .small_json import from_json, to_json

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Encode = Callable[[Any], bytes]

CHUNK_BYTES = (
    12_000  # of one envelope; with base64, a topic of 200 letters and all, its frame is within 16 KiB
)
HELD_BYTES = 268_435_456  # 256 MiB of chunks that one accumulator holds at most
SEPARATOR = 2  # bytes between two items, at most, in a codec like JSON or msgpack


def chunks(
    items: Iterable[Any],
    encode: Encode = to_json,
    target_bytes: int = CHUNK_BYTES,
    *,
    version: int = 1,
    published_ns: int | None = None,
    data: Callable[[int, list[Any]], Any] | None = None,
    partial: bool = False,
) -> Iterator[bytes]:
    """Yield *items* as encoded envelopes of at most *target_bytes* each, in order; at least one.

    An item that is larger goes alone, in an envelope over the target. *encode* turns a value into bytes: an item, to
    measure it, and an envelope. *data* makes the envelope's data of the chunk's index and items: put totals
    into that of index 0. Without it, data is the list of items. *published_ns* is now, unless it is given, and later
    than that of any publish before it. *partial* says that the data were cut short: not all that there is was read.
    """
    if published_ns is None:
        published_ns = _now()

    def envelope(index: int, some: list[Any], *, is_final: bool) -> dict[str, Any]:
        return {
            "version": version,
            "published_ns": published_ns,
            "partial": partial,
            "chunk_index": index,
            "is_final": is_final,
            "data": some if data is None else data(index, some),
        }

    room = target_bytes - len(encode(envelope(fields.U32, [], is_final=False)))
    slices = _slices(items, encode, room)
    waiting = [next(slices, [])]  # those to send before the next slice; the first one last
    index = 0
    following = next(slices, None)
    while waiting:
        some = waiting.pop()
        is_final = not waiting and following is None
        body = encode(envelope(index, some, is_final=is_final))
        if len(body) > target_bytes and len(some) > 1:  # *data* or the codec added more than was measured
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
            continue
        yield body
        index += 1
        if not waiting and following is not None:
            waiting, following = [following], next(slices, None)


_last_ns = 0


def _now() -> int:
    """Return the time in nanoseconds since 1970: it tells publishes apart, so it never stands still or goes back."""
    global _last_ns
    import time

    _last_ns = max(_last_ns + 1, time.time_ns())
    return _last_ns


def _slices(items: Iterable[Any], encode: Encode, room: int) -> Iterator[list[Any]]:
    some: list[Any] = []
    held = 0
    for item in items:
        size = len(encode(item)) + SEPARATOR
        if some and held + size > room:
            yield some
            some, held = [], 0
        some.append(item)
        held += size
    if some:
        yield some


EMPTY = "empty"  # no chunk 0 yet
PARTIAL = "partial"  # some chunks are there, in order
COMPLETE = "complete"  # the last publish came whole
LOST = "lost"  # a chunk is missing: the rest of that publish is of no use
MISMATCH = "mismatch"  # the publisher speaks another version: say so on the screen


class Accumulator:
    """Puts the chunks of one topic together. `state` says how far it is.

    `dropped` counts what was left out: chunks without their beginning, repeated ones, and what is no chunk at all.
    `lost` counts publishes that broke off. At most *limit_bytes* are held; a publish that is larger is lost.
    """

    def __init__(
        self,
        version: int,
        decode: Callable[[bytes], Any] = from_json,
        *,
        limit_bytes: int = HELD_BYTES,
    ) -> None:
        self.version = version
        self.state = EMPTY
        self.dropped = 0
        self.lost = 0
        self.published_ns = 0  # of the publish that `state` is about
        self._decode = decode
        self._limit = limit_bytes
        self._held = 0
        self._data: list[Any] = []

    def receive(self, payload: bytes) -> list[Any] | None:
        """Take a chunk. Return the data of every chunk, in order, if it was the last one of a whole publish."""
        try:
            chunk = fields.members(self._decode(payload), "a chunk")
            version = fields.integer(chunk, "version", fields.U32)
            if version != self.version:
                self._drop(MISMATCH)
                return None
            batch = fields.integer(chunk, "published_ns", fields.U64)
            index = fields.integer(chunk, "chunk_index", fields.U32, 0)
            is_final = fields.flag({"is_final": True, **chunk}, "is_final")
            data = chunk["data"]
        except Exception:  # a codec may raise what it likes, and the publisher is not ours to trust
            self.dropped += 1
            return None
        if index == 0:
            self._begin(batch)
        elif self.state != PARTIAL or batch != self.published_ns or index < len(self._data):
            self.dropped += 1
            return None
        elif index > len(self._data):
            self._lose()
            return None
        self._data.append(data)
        self._held += len(payload)
        if self._held > self._limit:
            self._lose()
            return None
        if not is_final:
            return None
        whole = self._data
        self.state, self._data, self._held = COMPLETE, [], 0
        return whole

    def _begin(self, batch: int) -> None:
        if self.state == PARTIAL:
            self.lost += 1
        self.state, self._data, self._held = PARTIAL, [], 0
        self.published_ns = batch

    def _lose(self) -> None:
        self.lost += 1
        self.state, self._data, self._held = LOST, [], 0

    def _drop(self, state: str) -> None:
        self.dropped += 1
        self.state, self._data, self._held = state, [], 0
