"""Turns a crash pattern into the timeline that would happen. Starts nothing.

The very `Lifecycle` that a host uses is driven here, with invented time. What a process does takes the time that its
word says; being executed, answering init and going when told take none.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from ..autopsy import ExitStatus
from .lifecycle import Lifecycle
from .pattern import Does, Pattern
from .restart import RestartPolicy
from .states import Action, Actions, BeginShutdown, Refuse, Spawn, State


class Event(StrEnum):
    """What a row of a timeline tells."""

    ASKED = "asked"
    REFUSED = "refused"
    STARTED = "started"
    RUNNING = "running"
    STABLE = "stable"
    FAILED = "failed"
    EXITED = "exited"  # by itself, as it may
    BACKOFF_OVER = "backoff over"
    STOPPING = "stopping"
    GONE = "gone"  # after it was told to
    RELOAD = "reload"
    SHUTDOWN = "shutdown"
    PATTERN_OVER = "pattern over"


@dataclass(frozen=True, slots=True)
class Moment:
    """One row of a timeline: what happened, and where the plugin is after it."""

    at_s: float
    state: State
    event: Event  # for programs
    what: str  # for people
    process: int | None  # which one, from 1
    attempt: int
    failures: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """What would happen."""

    moments: tuple[Moment, ...]
    started: int  # processes
    unused: int  # words about processes that were never started
    state: State  # at the end


def simulate(policy: RestartPolicy, pattern: Pattern, *, ask_after_s: float = 0.0) -> Timeline:
    """Return what *policy* makes of *pattern*.

    Somebody asks for the plugin at the beginning (unless it is eager), and *ask_after_s* seconds after each process
    has gone and after a reload, as long as there is a word for the next process.
    """
    return _Simulation(policy, pattern, ask_after_s).run()


class _Happens(StrEnum):
    ASK = "ask"
    RELOAD = "reload"
    SHUTDOWN = "shutdown"
    INIT_FAILED = "init failed"
    EXITED = "exited"


class _Simulation:
    """A driver of one lifecycle whose processes are words."""

    def __init__(self, policy: RestartPolicy, pattern: Pattern, ask_after_s: float) -> None:
        self.policy = policy
        self.lives = pattern.lives
        self.ask_after_s = ask_after_s
        self.life = Lifecycle(policy)
        self.moments: list[Moment] = []
        self.started = 0
        # (when, in which order it was put here, what, which process): equal times keep their order.
        self.agenda: list[tuple[float, int, _Happens, int]] = []
        self.entries = 0
        self.to_do: deque[Action] = deque()  # before anything else happens
        self.over = False
        for each in pattern.interventions:
            self.put(each.at, _Happens(each.operator.value))
        if self.life.next_deadline() is None:
            self.put(0.0, _Happens.ASK)

    def run(self) -> Timeline:
        now = 0.0
        while not self.over:
            if self.to_do:
                self.act(now, self.to_do.popleft())
                continue
            deadline = self.life.next_deadline()
            if self.agenda and (deadline is None or self.agenda[0][0] <= deadline):
                now, _, happens, process = heapq.heappop(self.agenda)
                self.happen(now, happens, process)
            elif deadline is not None:
                now = max(now, deadline)
                self.tick(now)
            else:
                break
        used = min(self.started, len(self.lives))
        return Timeline(tuple(self.moments), used, len(self.lives) - used, self.life.state)

    def put(self, at: float, happens: _Happens, process: int = 0) -> None:
        self.entries += 1
        heapq.heappush(self.agenda, (at, self.entries, happens, process))

    def say(self, now: float, event: Event, what: str, process: int | None = None) -> None:
        life = self.life
        self.moments.append(Moment(now, life.state, event, what, process, life.attempt, len(life.failures)))

    def happen(self, now: float, happens: _Happens, process: int) -> None:
        match happens:
            case _Happens.ASK:
                if process in (0, self.started):  # else the plugin is there again by itself
                    self.ask(now)
            case _Happens.RELOAD:
                actions = self.life.reload(now)
                self.say(now, Event.RELOAD, "the plugin is reloaded: its failures are forgotten")
                if self.life.state is State.IDLE:
                    self.ask_again(now)
                self.to_do.extend(actions)
            case _Happens.SHUTDOWN:
                actions = self.life.shutdown(now)
                self.say(now, Event.SHUTDOWN, "the host closes")
                self.to_do.extend(actions)
            case _Happens.INIT_FAILED | _Happens.EXITED:
                if process == self.started and self.life.state in (State.SPAWNING, State.RUNNING):
                    self.end(now, happens, process)
            case _:
                assert_never(happens)

    def ask(self, now: float) -> None:
        actions = self.life.wanted(now)
        refused = next((each.reason for each in actions if isinstance(each, Refuse)), None)
        if refused is not None:
            self.say(now, Event.REFUSED, f"a request comes and is refused: {refused}")
        elif self.life.state is State.RUNNING:
            self.say(now, Event.ASKED, "a request comes and is served", self.started)
        elif Spawn() not in actions:
            self.say(now, Event.ASKED, "a request comes and waits")
        else:
            self.say(now, Event.ASKED, "a request comes")
            self.to_do.extend(actions)

    def tick(self, now: float) -> None:
        before, attempt = self.life.state, self.life.attempt
        actions = self.life.tick(now)
        if before is State.BACKOFF:
            self.say(now, Event.BACKOFF_OVER, "the wait is over")
        elif before is State.RUNNING and attempt and not self.life.attempt:
            self.say(
                now, Event.STABLE, f"stable for {self.policy.stable_s:g} s: the next wait is the first again"
            )
        self.to_do.extend(actions)

    def act(self, now: float, action: Action) -> None:
        match action:
            case Spawn():
                self.start(now)
            case BeginShutdown(reason):
                self.stop(now, f"process {self.started} is told to go: {reason}")
            case Refuse():
                pass  # nobody's request is left open: each is told when it comes
            case _:
                assert_never(action)

    def start(self, now: float) -> None:
        self.started += 1
        if self.started > len(self.lives):
            self.say(
                now, Event.PATTERN_OVER, f"process {self.started} is due; the pattern says no more of it"
            )
            self.over = True
            return
        does, seconds = self.lives[self.started - 1].does, self.lives[self.started - 1].seconds
        self.say(now, Event.STARTED, f"process {self.started} is started", self.started)
        if does is Does.EXEC_FAILS:
            self.fail(now, self.life.exec_failed(now), f"process {self.started} cannot be executed")
            return
        self.life.spawned(now)
        if does is Does.INIT_FAILS:
            self.put(now + seconds, _Happens.INIT_FAILED, self.started)
            return
        self.life.init_done(now)
        self.say(now, Event.RUNNING, f"process {self.started} has answered init", self.started)
        self.life.used(now, until=now + seconds)
        if does in (Does.CRASH, Does.EXIT_ZERO):
            self.put(now + seconds, _Happens.EXITED, self.started)

    def end(self, now: float, happens: _Happens, process: int) -> None:
        """The process does what its word says."""
        if happens is _Happens.INIT_FAILED:
            actions = self.life.init_failed(now)
            self.fail(now, actions, f"process {process} fails its init")
            return
        zero = self.lives[process - 1].does is Does.EXIT_ZERO
        actions = self.life.exited(now, ExitStatus(code=0 if zero else 1))
        what = f"process {process} exits with 0" if zero else f"process {process} crashes"
        if self.life.state is State.IDLE:
            self.say(now, Event.EXITED, f"{what}, as it may", process)
            self.ask_again(now)
            self.to_do.extend(actions)
        else:
            self.fail(now, actions, what)

    def fail(self, now: float, actions: Actions, what: str) -> None:
        """Tell of a failure that has happened, and what follows from it."""
        life, policy = self.life, self.policy
        count = f"failure {len(life.failures)} of {policy.failures_to_quarantine} in {policy.failure_window_s:g} s"
        follows = (
            "quarantined" if life.state is State.QUARANTINED else f"wait {policy.wait_s(life.attempt):g} s"
        )
        self.say(now, Event.FAILED, f"{what} ({count}): {follows}", self.started)
        self.ask_again(now)
        self.to_do.extend(actions)

    def stop(self, now: float, what: str) -> None:
        """The process goes when told."""
        stopping = self.life.state is State.SHUTTING_DOWN  # else it has failed, and that was told
        if stopping:
            self.say(now, Event.STOPPING, what, self.started)
            self.ask_again(now)
        actions = self.life.exited(now, ExitStatus(code=0), during_shutdown=True)
        if stopping:
            self.say(now, Event.GONE, f"process {self.started} has gone", self.started)
        self.to_do.extend(actions)

    def ask_again(self, now: float) -> None:
        if self.started < len(self.lives):
            self.put(now + self.ask_after_s, _Happens.ASK, self.started)
