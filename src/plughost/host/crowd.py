"""Many processes on whichever thread waits: one leads and works for all, the others are woken when it concerns them.

Theory of operation. A call from another thread by way of a loop thread costs ten times as much as the call, so whoever
calls does the work: it writes, polls and reads until its own answer is there, and everything that comes meanwhile is
dealt with on the way. If several threads call, one leads and the others sleep; the leader wakes them, and hands over
when it is done. Plugins live on while nobody calls: then a keeper, a thread of its own, leads. It steps back at once
when somebody calls, and stays away for a moment afterwards, so that a row of calls is not slowed down by it.

Everything is done under one lock, which is given up only to wait; see `turn` for how others get it then.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from threading import get_ident
from typing import Any, Protocol

from ..errors import HostClosed
from ..process.link import Link
from ..process.watcher import Watcher
from .deferral import Deferral
from .ground import nothing_is_due
from .turn import Turn

FOR_EVER = float("inf")
MOMENT_S = 0.01  # deadlines are not looked at before nothing has happened for so long: no limit is as short
SIGNAL_S = 0.5  # a wait is not longer: the interpreter notices signals in between
REST_S = 0.02  # for which the keeper stays away after a call
LED_LONG_S = 0.1  # whoever led for longer wakes the keeper when it is done; else it looks by itself
IDLE_LOOK_S = (
    0.25  # how often the keeper looks whether somebody still leads who has led for that long already
)

_READ, _WRITE = select.POLLIN, select.POLLOUT  # epoll has the same numbers


class _Poller:
    """`epoll` where there is one: its cost does not grow with the number of processes."""

    def __init__(self) -> None:
        self._epoll = hasattr(select, "epoll")
        self._on: Any = select.epoll() if self._epoll else select.poll()
        self.poll: Callable[[float], list[tuple[int, int]]] = self._on.poll if self._epoll else self._poll

    def register(self, fd: int, mask: int) -> None:
        self._on.register(fd, mask)

    def unregister(self, fd: int) -> None:
        self._on.unregister(fd)

    def _poll(self, seconds: float) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = self._on.poll(seconds * 1000)
        return found

    def close(self) -> None:
        if self._epoll:
            self._on.close()


class Goal(Protocol):
    """What a thread waits for."""

    @property
    def is_over(self) -> bool: ...


class Pending(Protocol):
    """Whether a signal has come, for which a wait is to be broken off."""

    @property
    def is_pending(self) -> bool: ...


class _NoSignal:
    is_pending = False


_NO_SIGNAL = _NoSignal()


def _nothing() -> None:
    """Do nothing: who waits looks again whether it has to."""


class _UntilCalled:
    """The goal of the keeper: that somebody else wants to work."""

    def __init__(self, followers: Collection[object], over: Callable[[], bool]) -> None:
        self._followers = followers
        self._over = over

    @property
    def is_over(self) -> bool:
        return bool(self._followers) or self._over()


class _Adopted:
    """What is done after everything that happens to a link. A closure would be six times as large, for every link."""

    __slots__ = ("_attend", "_crowd", "_link")

    def __init__(self, crowd: Crowd, link: Link, attend: Callable[[], None]) -> None:
        self._crowd = crowd
        self._link = link
        self._attend = attend

    def __call__(self) -> None:
        self._attend()
        self._crowd.look_at(self._link)


class Crowd:
    """The ground of a fleet without a loop. *over* tells whether the host is closed and has no process left."""

    def __init__(self, clock: Callable[[], float], over: Callable[[], bool]) -> None:
        self.guard = threading.RLock()
        self.turn = Turn()  # for everybody but who leads
        # Whether this very thread is at work already, and calls us from there: from a callback, or a signal handler.
        self.is_working_here: Callable[[], bool] = self.guard._is_owned  # type: ignore[attr-defined]  # as Condition does
        self.tick: Callable[[float], None] = nothing_is_due
        self._clock = clock
        self._over = over
        self._poller = _Poller()
        self._poll = self._poller.poll
        self._ready: dict[int, Callable[[], None]] = {}
        self._links: set[Link] = set()
        self._due = FOR_EVER  # nothing is due before, of links that have not changed; never too late
        self._changed: set[Link] = (
            set()
        )  # their deadlines are looked at when nothing has happened for a moment
        self._fleet_due = FOR_EVER
        self._looked = 0.0  # when they were looked at last
        self._now = clock()  # when the last step was done
        self._posted: deque[Callable[[], None]] = deque()
        self._to_go_on: set[Link] = set()
        self._bell, self._ringer = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._ringer, False)
        self._poller.register(self._bell, _READ)
        # The thread that works, if any does: it has the guard, but while it waits.
        self.leader: int | None = None
        self._polling = False
        self._followers: dict[threading.Condition, tuple[Goal, Pending]] = {}
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
        self._links.add(link)
        link.on_change = _Adopted(self, link, attend)
        link.start()

    def look_at(self, link: Link) -> None:
        """Something has happened to *link*: its deadlines are others, or it is over."""
        if link.finished:
            self._links.discard(link)
            self._changed.discard(link)
        else:
            self.expect(link)

    def expect(self, link: Link) -> None:
        if link not in self._changed:
            self._changed.add(link)
            if self._polling:
                self._ring()

    def say_soon(self, link: Link) -> None:
        link.say()
        self.expect(link)

    def go_on_soon(self, link: Link) -> None:
        if link in self._to_go_on:
            return
        self._to_go_on.add(link)
        self._posted.append(partial(self._go_on, link))
        if self.leader is None:
            self._leave_to_keeper()
        else:
            self._ring()

    def _go_on(self, link: Link) -> None:
        self._to_go_on.discard(link)
        link.pump()  # also one that has ended: its last words may not have been heard to their end

    def wake_at(self, at: float) -> None:
        if at < self._fleet_due:
            self._fleet_due = at
            self._ring()

    def post(self, work: Callable[[], None]) -> None:
        self.want()
        with self.guard:  # or the bell might be taken away under our hands
            self.turn.has_come()
            self._posted.append(work)
            self._ring()

    # What the host uses

    def keep(self) -> None:
        """Begin to look after the plugins while nobody calls."""
        with self.guard:
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="plughost-keeper", daemon=True)
                self._keeper.start()

    def want(self) -> None:
        """Say that this thread takes the guard next: then whoever leads makes way. `turn.has_come` ends that."""
        if self.leader is not None:
            self.turn.want()

    def wait(self, goal: Goal, signal: Pending = _NO_SIGNAL) -> None:
        """Work until *goal* is over, or let somebody else work; or until a *signal* has come.

        The guard is held, once, and given up while nothing happens. Deadlines bound it.
        """
        me = get_ident()
        while self.leader is not None and self.leader != me:  # else a signal handler has interrupted us
            if goal.is_over or signal.is_pending:
                return
            self._follow(goal, signal)
        before, self.leader = self.leader, me
        try:
            if not goal.is_over:
                self._step(MOMENT_S)  # most answers come at once: nothing else is looked at before
                if not goal.is_over:
                    self._work_on(goal, signal)
        finally:
            self.leader = before
            self._last_led = self._now
            if self._posted and before is None:
                self._leave_to_keeper()
            if before is not None:  # whom we have interrupted may poll, and not know what we have heard
                self._polling = True
                self._ring()
            if self._followers:
                next(iter(self._followers)).notify()

    def _work_on(self, goal: Goal, signal: Pending) -> None:
        """Work until *goal* is over, or until a *signal* has come. The keeper is told if that took long."""
        until = self._now + LED_LONG_S
        try:
            while not (goal.is_over or signal.is_pending):
                self._step(self._pause())
        finally:
            if self._now > until and not self._followers:
                self._keeper_may_look.notify()

    def wait_deferring(self, goal: Goal, deferral: Deferral) -> None:
        """Like `wait`; a signal that *deferral* holds is delivered in between, when nothing is half done."""
        self.wait(goal, deferral)
        while deferral.is_pending:
            self.deliver(deferral)
            self.wait(goal, deferral)

    def deliver(self, deferral: Deferral) -> None:
        """Deliver what *deferral* holds. The guard is given up meanwhile: a handler may use the host."""
        self.guard.release()
        try:
            deferral.deliver()
        finally:
            self.guard.acquire()

    def look(self) -> None:
        """Let whoever polls look at what it waits for. For a signal's handler, and for any thread."""
        self.post(_nothing)

    def end(self) -> None:
        """Let go of everything. No link may be left."""
        self.want()
        with self.guard:
            self.turn.has_come()
            self._ended = True
            self._ring()
            self._keeper_may_look.notify_all()
            if self.leader is None:
                self._dispose()
        if self._keeper is not None and self._keeper is not threading.current_thread():
            self._keeper.join(SIGNAL_S * 4)

    # Leading and following

    def _follow(self, goal: Goal, signal: Pending) -> None:
        if self._keeper_leads:
            self._ring()
        condition = threading.Condition(self.guard)
        self._followers[condition] = goal, signal
        try:
            condition.wait(SIGNAL_S)
        finally:
            self.turn.has_come(condition)
            del self._followers[condition]

    def _leave_to_keeper(self) -> None:
        """Let the keeper do what was posted, and not stay away for a moment first."""
        self._last_led = 0.0
        self._keeper_may_look.notify()

    def _keep(self) -> None:
        with self.guard:
            while not self._ended and not self._over():
                rested = self._clock() - self._last_led
                if self.leader is not None:  # whoever leads for long says when it is done: see `wait`
                    self._keeper_may_look.wait(REST_S if rested < IDLE_LOOK_S else IDLE_LOOK_S)
                elif self._followers:
                    self._keeper_may_look.wait(REST_S)
                elif rested < REST_S:
                    self._keeper_may_look.wait(REST_S - rested)
                else:
                    self._keeper_leads = True
                    try:
                        self.wait(_UntilCalled(self._followers, self._over))
                    except HostClosed:
                        break
                    except (
                        BaseException
                    ) as error:  # an application's function wants to end this thread: it may not
                        sys.excepthook(type(error), error, error.__traceback__)
                    finally:
                        self._keeper_leads = False
            if self.leader is None:  # else it has to be told to go, and does the rest
                self._ended = True
                self._dispose()

    # One step

    def _pause(self) -> float:
        """Return how long nothing is due."""
        if self._changed:  # it is not looked at yet, and nothing is so urgent
            return MOMENT_S
        pause = min(self._due, self._fleet_due) - self._now
        return SIGNAL_S if pause > SIGNAL_S else max(0.0, pause)

    def _step(self, pause: float) -> None:
        """Wait for what happens next, the guard given up meanwhile, and deal with it."""
        if self._ended:
            raise HostClosed("the host is closed")
        guard, poll, clock, ready = self.guard, self._poll, self._clock, self._ready
        self._polling = True  # whoever posts something from here on rings
        guard.release()
        try:
            found = poll(0.0 if self._posted else pause)
            self.turn.make_way()
        finally:
            guard.acquire()
            self._polling = False
        for fd, _mask in found:
            if fd in ready:
                ready[fd]()
            elif fd == self._bell:
                self._hear_bell()
        for _ in range(len(self._posted)):  # what they post in turn comes after others
            self._posted.popleft()()
        self._now = now = clock()
        if not found or now - self._looked > MOMENT_S:  # a flood must not keep us from looking
            self._pass_time(now)
            self._now = clock()
        if self._followers:
            for condition, (goal, signal) in self._followers.items():
                if goal.is_over or signal.is_pending:
                    self.turn.want(condition)
                    condition.notify()

    def _look_at_changed(self) -> None:
        for link in self._changed:
            at = link.next_deadline()
            if at is not None and at < self._due:
                self._due = at
        self._changed.clear()

    def _pass_time(self, now: float) -> None:
        self._looked = now
        self._look_at_changed()
        if now >= self._fleet_due:
            self._fleet_due = FOR_EVER
            self.tick(now)
        if now < self._due:
            return
        self._due = FOR_EVER
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
