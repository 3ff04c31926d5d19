"""A link on the caller's own thread: `poll` on its descriptors until what the caller wants has happened.

No loop and no other thread: handing a call to a loop thread and back costs ten times as much as the call.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence

from ..process.link import Link
from .deferral import Deferral

_READ = select.POLLIN
_WRITE = select.POLLOUT
# The interpreter handles a signal between two instructions, or when it interrupts a system call. One that comes
# in between, or to another thread, is not noticed before `poll` returns: so it returns, now and then.
SIGNAL_S = 0.5


class PollDriver:
    """Watches one link, or several that are waited for together. Whichever thread calls `run` does the work."""

    __slots__ = ("_clock", "_poll", "_readers", "_writers", "deferral")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.deferral: Deferral | None = None  # whose signals are delivered while it waits
        self._poll = select.poll()
        self._readers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Callable[[], None]] = {}

    # The watcher that the link sees

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._readers[fd] = on_ready
        self._poll.register(fd, _READ)

    def watch_writable(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._writers[fd] = on_ready
        self._poll.register(fd, _WRITE)

    def unwatch(self, fd: int) -> None:
        if self._readers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def unwatch_writable(self, fd: int) -> None:
        if self._writers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    # What hosts use

    def turn(self) -> None:
        """Do what can be done without waiting."""
        for fd, mask in self._poll.poll(0):
            self._dispatch(fd, mask)

    def run(self, link: Link, reached: Callable[[], bool]) -> None:
        """Work on *link* until *reached*. The session's deadlines and the ladder bound it."""
        while not reached():
            self.step(link)

    def step(self, link: Link, longest: float | None = None) -> None:
        """Wait for the next thing to happen to *link*, at most *longest* seconds, and let it happen."""
        self._wait(link.next_deadline(), longest)
        self._tick(link)

    def step_together(self, links: Sequence[Link]) -> None:
        """Wait for the next thing to happen to any of *links*, and let it happen."""
        deadlines = [at for link in links if (at := link.next_deadline()) is not None]
        self._wait(min(deadlines, default=None), None)
        for link in links:
            self._tick(link)

    def _wait(self, deadline: float | None, longest: float | None) -> None:
        wait = SIGNAL_S if longest is None else min(longest, SIGNAL_S)
        if deadline is not None:
            wait = min(wait, max(0.0, deadline - self._clock()))
        # What has arrived is heard before what is overdue is judged.
        milliseconds = wait * 1000 + 0.5
        deferral, poll = self.deferral, self._poll.poll
        for fd, mask in (
            poll(milliseconds) if deferral is None else deferral.interruptible(poll, milliseconds)
        ):
            self._dispatch(fd, mask)

    def _tick(self, link: Link) -> None:
        now = self._clock()
        deadline = link.next_deadline()
        if deadline is not None and deadline <= now:
            link.on_tick(now)

    def _dispatch(self, fd: int, mask: int) -> None:
        if fd in self._writers and mask & ~_READ:
            self._writers[fd]()
        elif fd in self._readers:
            self._readers[fd]()
