"""Events for `async for`: from the moment it is made until its host is closed. Bounded; never holds up a call."""

from __future__ import annotations

import asyncio
from typing import Self

from .events import Event, EventBus, EventQueue


class EventStream:
    """An asynchronous iterator of events. `end` lets it run out after what it still holds."""

    def __init__(self, bus: EventBus) -> None:
        self._queue = EventQueue()
        self._more = asyncio.Event()
        self._ended = False
        self._unsubscribe = bus.subscribe(self._listen)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while (event := self._queue.take()) is None:
            if self._ended:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        return event

    def end(self) -> None:
        """Take no more events; a reader gets those that came before."""
        self._unsubscribe()
        self._ended = True
        self._more.set()

    def _listen(self, event: Event) -> None:
        self._queue.put(event)
        self._more.set()
