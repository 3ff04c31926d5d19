"""Links on an asyncio loop: descriptors by `add_reader`, one timer for all deadlines. Works on uvloop too.

Theory of operation. asyncio's own subprocess support is not used: its `wait()` waits for the pipes as well,
and its transports read with buffers that cost twenty times as much. A timer per call would halve the
throughput, so all links share one, set to the earliest deadline among them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..process.link import Link

T = TypeVar("T")


class AsyncioDriver:
    """Watches links on the running loop. It belongs to that loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._links: set[Link] = set()
        self._waiters: dict[Link, list[tuple[asyncio.Future[None], Callable[[], bool]]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    # The watcher that links see

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._loop.add_reader(fd, on_ready)

    def watch_writable(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._loop.add_writer(fd, on_ready)

    def unwatch(self, fd: int) -> None:
        self._loop.remove_reader(fd)

    def unwatch_writable(self, fd: int) -> None:
        self._loop.remove_writer(fd)

    # What hosts use

    def adopt(
        self, link: Link, on_finished: Callable[[], None], attend: Callable[[], None] | None = None
    ) -> None:
        """Run *link* until its process is gone, then call *on_finished*; *attend* to it whenever it changes."""
        self._links.add(link)
        link.on_change = _Adopted(self, link, on_finished, attend)
        link.start()

    def look_at(self, link: Link, on_finished: Callable[[], None]) -> None:
        """Something has happened to *link*: tell those whom it concerns, *on_finished* once it is over."""
        if link.finished and link in self._links:
            self._links.discard(link)
            on_finished()
        self._wake(link)
        self._schedule(link)

    def expect(self, link: Link) -> None:
        """Look at the deadlines of *link* again: something was asked of it."""
        self._schedule(link)

    async def until(self, link: Link, reached: Callable[[], bool]) -> None:
        """Wait until *reached*, which is asked again whenever *link* changes. Its deadlines bound the wait."""
        if reached():
            return
        future: asyncio.Future[None] = self._loop.create_future()
        waiter = (future, reached)
        self._waiters.setdefault(link, []).append(waiter)
        try:
            await future
        finally:
            waiters = self._waiters[link]
            waiters.remove(waiter)
            if not waiters:
                del self._waiters[link]

    def _wake(self, link: Link) -> None:
        for future, reached in self._waiters.get(link, ()):
            if not future.done() and reached():
                future.set_result(None)

    # The one timer

    def _schedule(self, link: Link) -> None:
        deadline = link.next_deadline()
        if deadline is not None and (self._timer is None or deadline < self._timer_at):
            self._set_timer(deadline)

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_later(max(0.0, at - self._clock()), self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now = self._clock()
        earliest: float | None = None
        for link in tuple(self._links):
            deadline = link.next_deadline()
            if deadline is not None and deadline <= now:
                link.on_tick(now)
                deadline = link.next_deadline()
            if deadline is not None and (earliest is None or deadline < earliest):
                earliest = deadline
        if earliest is not None and (self._timer is None or earliest < self._timer_at):
            self._set_timer(earliest)

    def stop(self) -> None:
        """Forget the timer; every link must have finished."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Adopted:
    """What is done after everything that happens to a link. A closure would be five times as large, for every link."""

    __slots__ = ("_attend", "_driver", "_link", "_on_finished")

    def __init__(
        self,
        driver: AsyncioDriver,
        link: Link,
        on_finished: Callable[[], None],
        attend: Callable[[], None] | None,
    ) -> None:
        self._driver = driver
        self._link = link
        self._on_finished = on_finished
        self._attend = attend

    def __call__(self) -> None:
        if self._attend is not None:
            self._attend()
        self._driver.look_at(self._link, self._on_finished)


async def to_the_end(work: Awaitable[T]) -> T:
    """Await *work* to its end, and be cancelled only then."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except BaseException:  # noqa: S110  it is raised below, from the task itself
            pass
    if cancelled:
        if not task.cancelled():
            task.exception()  # or the loop complains that nobody has asked for it
        raise asyncio.CancelledError
    return task.result()
