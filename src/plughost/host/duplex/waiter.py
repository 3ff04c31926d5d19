"""A task that waits for the end of its call, and how it is woken: by whoever has read the answer. Decides nothing.

Theory of operation. A future wakes a task by way of the loop: a handle for each, and one turn of the loop later. Where
many calls are in flight that is a fifth of all that a call costs. A `Waiter` is what a task awaits instead. The answers
of one read are noted first; when that is done, and nothing is half done any more, the tasks go on from there, one after
another, each in its own context. Whatever ends a call at another time wakes its task by way of the loop, as usual.

To a task, a waiter is a future: asyncio takes any object for one that has `_asyncio_future_blocking` and these methods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context

from .ticket import Ticket


class Waiter:
    """What one task awaits, once. It has no result: its ticket has."""

    __slots__ = ("_asyncio_future_blocking", "_callback", "_cancelled", "_context", "_loop", "is_over")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asyncio_future_blocking = False
        self._callback: Callable[[Waiter], object] | None = None
        self._context: Context | None = None
        self._cancelled: asyncio.CancelledError | None = None
        self.is_over = False

    def __await__(self) -> Generator[Waiter, None, None]:
        if not self.is_over:
            self._asyncio_future_blocking = True
            yield self

    def wake(self) -> None:
        """Let the task go on, here and now, if it waits."""
        callback, self._callback = self._callback, None
        if callback is not None:
            assert self._context is not None, "a task names its context"
            self._context.run(callback, self)

    # What a task asks of a future

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def done(self) -> bool:
        return self.is_over

    def cancelled(self) -> bool:
        return self._cancelled is not None

    def add_done_callback(self, callback: Callable[[Waiter], object], *, context: Context) -> None:
        self._callback, self._context = callback, context

    def cancel(self, msg: object = None) -> bool:
        if self.is_over:
            return False
        self.is_over = True
        self._cancelled = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        self._loop.call_soon(self.wake)
        return True

    def result(self) -> None:
        cancelled, self._cancelled = self._cancelled, None
        if cancelled is not None:
            raise cancelled


class Waiters:
    """The waiters of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: list[Waiter] = []
        self._is_hearing = False

    def end(self, ticket: Ticket) -> None:
        """Its *ticket* is over: wake whoever waits for it, at the end of what is being heard, or in a moment."""
        waiter: Waiter = ticket.waiter
        if not waiter.is_over:  # else its task was cancelled, and may not know it yet
            waiter.is_over = True
            if not self._ready and not self._is_hearing:
                self._loop.call_soon(self._wake_all)
            self._ready.append(waiter)

    def hear(self, on_ready: Callable[[], None]) -> None:
        """Do what is to be done about a descriptor that is ready, and then wake those whose calls that has ended."""
        self._is_hearing = True
        try:
            on_ready()
        finally:
            self._is_hearing = False
            if self._ready:
                self._wake_all()

    def _wake_all(self) -> None:
        ready, self._ready = self._ready, []
        ready.reverse()
        try:
            while ready:
                ready.pop().wake()
        finally:
            for waiter in reversed(ready):  # one of them has ended the loop: the others go on if that goes on
                self._loop.call_soon(waiter.wake)


class Heard:
    """What a loop calls when a descriptor is ready. A closure would be larger, and every plugin has three of them."""

    __slots__ = ("_on_ready", "_waiters")

    def __init__(self, waiters: Waiters, on_ready: Callable[[], None]) -> None:
        self._waiters = waiters
        self._on_ready = on_ready

    def __call__(self) -> None:
        self._waiters.hear(self._on_ready)
