"""Many processes on whichever thread waits: one leads and works for all, the others are woken when it concerns them.

Theory of operation. A call from another thread by way of a loop thread costs ten times as much as the call, so whoever
calls does the work: it writes, polls and reads until its own answer is there, and everything that comes meanwhile is
dealt with on the way. If several threads call, one leads and the others sleep; the leader wakes them, and hands over
when it is done. Plugins live on while nobody calls: then a keeper, a thread of its own, leads. It steps back at once
when somebody calls, and stays away for a moment afterwards, so that a row of calls is not slowed down by it.

Everything is done under one lock, which is given up only to wait.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ...errors import HostClosed, LocalProtocolError
from ...process.link import Link, Watcher
from .member import nothing_is_due

SIGNAL_S = 0.5  # a wait is not longer: the interpreter notices signals in between
REST_S = 0.02  # for which the keeper stays away after a call
LED_LONG_S = 0.1  # whoever led for longer wakes the keeper when it is done; else it looks by itself
IDLE_LOOK_S = 0.25  # how often the keeper looks whether somebody still leads

_READ, _WRITE = select.POLLIN, select.POLLOUT  # epoll has the same numbers


class _Poller:
    """`epoll` where there is one: its cost does not grow with the number of processes."""

    def __init__(self) -> None:
        self._epoll = hasattr(select, "epoll")
        self._on: Any = select.epoll() if self._epoll else select.poll()

    def register(self, fd: int, mask: int) -> None:
        self._on.register(fd, mask)

    def unregister(self, fd: int) -> None:
        self._on.unregister(fd)

    def poll(self, seconds: float) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = self._on.poll(seconds if self._epoll else seconds * 1000)
        return found

    def close(self) -> None:
        if self._epoll:
            self._on.close()


class Crowd:
    """The ground of a fleet without a loop. *closed* tells whether the host is."""

    def __init__(self, clock: Callable[[], float], closed: Callable[[], bool]) -> None:
        self.guard = threading.RLock()
        self.tick: Callable[[float], None] = nothing_is_due
        self._clock = clock
        self._closed = closed
        self._poller = _Poller()
        self._ready: dict[int, Callable[[], None]] = {}
        self._links: set[Link] = set()
        self._due = float("inf")  # nothing is due before; it may be too early, never too late
        self._fleet_due = float("inf")
        self._posted: deque[Callable[[], None]] = deque()
        self._bell, self._ringer = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._ringer, False)
        self._poller.register(self._bell, _READ)
        self._leader: int | None = None
        self._polling = False
        self._working: int | None = None  # the thread that deals with what came
        self._followers: dict[threading.Condition, Callable[[], bool]] = {}
        self._keeper: threading.Thread | None = None
        self._keeper_leads = False
        self._keeper_may_look = threading.Condition(self.guard)
        self._last_led = 0.0
        self._ended = False

    # The ground that the fleet sees

    @property
    def watcher(self) -> Watcher:
        return self

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._ready[fd] = on_ready
        self._poller.register(fd, _READ)
        self._ring()

    def watch_writable(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._ready[fd] = on_ready
        self._poller.register(fd, _WRITE)
        self._ring()

    def unwatch(self, fd: int) -> None:
        if self._ready.pop(fd, None) is not None:
            self._poller.unregister(fd)

    unwatch_writable = unwatch

    def adopt(self, link: Link, attend: Callable[[], None]) -> None:
        def changed() -> None:
            attend()
            if link.finished:
                self._links.discard(link)
                return
            at = link.next_deadline()
            if at is not None and at < self._due:
                self._due = at
                self._ring()

        self._links.add(link)
        link.on_change = changed
        link.start()

    def wake_at(self, at: float) -> None:
        if at < self._fleet_due:
            self._fleet_due = at
            self._ring()

    def post(self, work: Callable[[], None]) -> None:
        with self.guard:  # or the bell might be taken away under our hands
            self._posted.append(work)
            self._ring()

    # What the host uses

    def keep(self) -> None:
        """Begin to look after the plugins while nobody calls."""
        with self.guard:
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="plughost-keeper", daemon=True)
                self._keeper.start()

    @property
    def is_working_here(self) -> bool:
        """Whether this very thread deals with what came, and has called us from there."""
        return self._working == threading.get_ident()

    def check_may_wait(self) -> None:
        """Raise LocalProtocolError in a callback: the thread that would have to hear the answer is this one."""
        if self.is_working_here:
            raise LocalProtocolError(
                "a callback of the host may not wait for a plugin: do it on another thread"
            )

    def wait(self, reached: Callable[[], bool]) -> None:
        """Work until *reached*, or let somebody else work. The guard is held, once. Deadlines bound it."""
        me = threading.get_ident()
        while not reached():
            if self._leader in (None, me):  # a signal handler may have interrupted us
                self._lead(me, reached)
            else:
                self._follow(reached)

    def end(self) -> None:
        """Let go of everything. No link may be left."""
        with self.guard:
            if self._ended:
                return
            self._ended = True
            self._ring()
            self._keeper_may_look.notify_all()
            if self._leader is None:
                self._dispose()
        if self._keeper is not None and self._keeper is not threading.current_thread():
            self._keeper.join(SIGNAL_S * 4)

    # Leading and following

    def _lead(self, me: int, reached: Callable[[], bool]) -> None:
        before, self._leader = self._leader, me
        began = self._clock()
        try:
            while not reached():
                if self._ended:
                    raise HostClosed("the host is closed")
                self._step()
        finally:
            self._leader = before
            self._last_led = self._clock()
            for condition in self._followers:
                condition.notify()
                break
            else:
                if self._last_led - began > LED_LONG_S:
                    self._keeper_may_look.notify()

    def _follow(self, reached: Callable[[], bool]) -> None:
        if self._keeper_leads:
            self._ring()
        condition = threading.Condition(self.guard)
        self._followers[condition] = reached
        try:
            condition.wait(SIGNAL_S)
        finally:
            del self._followers[condition]

    def _keep(self) -> None:
        me = threading.get_ident()
        with self.guard:
            while not self._ended and not (self._closed() and not self._links):
                if self._leader is not None:
                    self._keeper_may_look.wait(IDLE_LOOK_S)
                elif self._followers or self._clock() - self._last_led < REST_S:
                    self._keeper_may_look.wait(REST_S)
                else:
                    self._keeper_leads = True
                    try:
                        self._lead(me, lambda: bool(self._followers) or self._ended)
                    except HostClosed:
                        break
                    finally:
                        self._keeper_leads = False
            if self._ended:
                self._dispose()

    # One step

    def _step(self) -> None:
        """Wait for what happens next, the guard given up meanwhile, and deal with it."""
        now = self._clock()
        until = min(self._due, self._fleet_due)
        wait = 0.0 if self._posted else max(0.0, min(SIGNAL_S, until - now))
        self._polling = True
        self.guard.release()
        try:
            found = self._poller.poll(wait)
        finally:
            self.guard.acquire()
            self._polling = False
        self._working = threading.get_ident()
        try:
            for fd, _mask in found:
                on_ready = self._ready.get(fd)
                if on_ready is not None:
                    on_ready()
                elif fd == self._bell:
                    self._hear_bell()
            while self._posted:
                self._posted.popleft()()
            self._pass_time()
        finally:
            self._working = None
        for condition, reached in self._followers.items():
            if reached():
                condition.notify()

    def _pass_time(self) -> None:
        now = self._clock()
        if now >= self._fleet_due:
            self._fleet_due = float("inf")
            self.tick(now)
        if now < self._due:
            return
        self._due = float("inf")
        for link in tuple(self._links):
            at = link.next_deadline()
            if at is not None and at <= now:
                link.on_tick(now)
                at = link.next_deadline()
            if at is not None and at < self._due:
                self._due = at

    def _ring(self) -> None:
        """Wake whoever polls: there is more to look at, or something is due earlier."""
        if self._polling:
            with contextlib.suppress(BlockingIOError):  # it rings already
                os.write(self._ringer, b"!")

    def _hear_bell(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._bell, 4096)

    def _dispose(self) -> None:
        if self._bell >= 0:
            self._poller.close()
            os.close(self._bell)
            os.close(self._ringer)
            self._bell = self._ringer = -1
