"""When a plugin's next process is started. Turns what happened, and when, into actions; it does none of them itself.

`states` has the table, `restart` the policy. `Lifecycle` adds time and memory: it is told what happened, returns what
to do, and `next_deadline` says when it wants to be told the time. It never waits, so a plugin in backoff
costs its host nothing. At most one process of a plugin exists: one that failed its init may still be on its way out
when its backoff ends, and the next start then waits for its exit.
"""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from ..autopsy import ExitStatus
from ..errors import LocalProtocolError
from .restart import Failures, RestartPolicy, SpawnMode
from .states import (
    INITIAL,
    TRANSITIONS,
    Actions,
    BeginShutdown,
    Happening,
    Refuse,
    RefuseReason,
    Spawn,
    State,
    StopReason,
)


class _Process(StrEnum):
    NONE = "none"
    STARTING = "starting"
    ALIVE = "alive"


class Lifecycle:
    """The machine. Each method is something that happened at *now*, in seconds of a clock that does not go back.

    An eager plugin is due at once: `tick` starts it. Raises LocalProtocolError for what cannot have happened,
    such as the exit of a process that never was.
    """

    __slots__ = (
        "_backoff_until", "_failures", "_last_used", "_now", "_process", "_running_since", "_wanted",
        "closed", "policy", "state",
    )  # fmt: skip

    def __init__(self, policy: RestartPolicy, now: float = 0.0) -> None:
        self.policy = policy
        self.state = INITIAL
        self.closed = False  # the host has closed: nothing is started any more
        self._failures = Failures(policy)
        self._now = now
        self._process = _Process.NONE
        self._wanted = policy.spawn is SpawnMode.EAGER
        self._backoff_until = now
        self._running_since = now
        self._last_used = now

    @property
    def attempt(self) -> int:
        """How many failures in a row have not been forgiven yet: it chooses the wait."""
        return self._failures.attempt

    @property
    def failures(self) -> tuple[float, ...]:
        """When the failures were that still count towards quarantine."""
        return self._failures.within(self._now)

    @property
    def ended(self) -> bool:
        """Whether the host has closed and no process is left."""
        return self.closed and self._process is _Process.NONE

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do, if nothing else happens before. It may have passed already."""
        match self.state:
            case State.IDLE:
                return self._now if self._wanted and self._process is _Process.NONE else None
            case State.BACKOFF:  # a process on its way out: its exit is what we wait for
                return self._backoff_until if self._process is _Process.NONE else None
            case State.RUNNING:
                stable = self._running_since + self.policy.stable_s if self.attempt else None
                idle = self._last_used + self.policy.idle_reap_s if self.policy.idle_reap_s else None
                return min((at for at in (stable, idle) if at is not None), default=None)
            case State.SPAWNING | State.QUARANTINED | State.SHUTTING_DOWN:
                return None
            case _:
                assert_never(self.state)

    def wanted(self, now: float) -> Actions:
        """Somebody has a request: it is served, waits (for an init, a backoff, an exit), or is refused."""
        self._note(now)
        if self.closed:
            return (Refuse(RefuseReason.CLOSED),)
        if self.state is State.QUARANTINED:
            return (Refuse(RefuseReason.QUARANTINED),)
        if self.state is State.RUNNING:
            self._last_used = max(self._last_used, self._now)
        elif self.state is not State.SPAWNING:  # whoever waits for an init shares its fate
            self._wanted = True
        return self._start_if_due()

    def unwanted(self) -> None:
        """Whoever had a request has given up: what was to be started for it is not, unless it is eager."""
        if self.policy.spawn is not SpawnMode.EAGER:
            self._wanted = False

    def follow(self, policy: RestartPolicy) -> None:
        """Go on under another *policy*; what has failed so far counts by it."""
        self.policy = policy
        self._failures.follow(policy)

    def used(self, at: float, *, until: float | None = None) -> None:
        """Something went to or came from the plugin at *at*, perhaps a while ago.

        A call that may last *until* then keeps it in use so long.
        """
        self._note(at)
        self._last_used = max(self._last_used, at if until is None else until)

    def is_idle(self, now: float) -> bool:
        """Tell whether it runs, and nobody has used it for so long that it is to be let go."""
        reap = self.policy.idle_reap_s
        return self.state is State.RUNNING and bool(reap) and now >= self._last_used + reap

    def spawned(self, now: float) -> Actions:
        """The process exists; it has yet to answer init."""
        self._note(now)
        self._expect(_Process.STARTING, "spawned")
        self._process = _Process.ALIVE
        # The host closed while it was being started: what came too late has to go.
        return (BeginShutdown(StopReason.CLOSED),) if self.state is State.SHUTTING_DOWN else ()

    def init_done(self, now: float) -> None:
        """The plugin answered init as it should. Too late, it changes nothing."""
        self._note(now)
        self._expect(_Process.ALIVE, "init_done")
        if self.state is State.SPAWNING:
            self._running_since = self._last_used = self._now
            self._move(Happening.INIT_DONE)

    def exec_failed(self, now: float) -> Actions:
        """There is no process: its program cannot be executed."""
        self._note(now)
        self._expect(_Process.STARTING, "exec_failed")
        self._process = _Process.NONE
        return self._gone() if self.state is State.SHUTTING_DOWN else self._fail()

    def init_failed(self, now: float) -> Actions:
        """The plugin refused init, answered it wrongly, or not in time; its process is still there."""
        self._note(now)
        self._expect(_Process.ALIVE, "init_failed")
        if self.state is not State.SPAWNING:  # it is being brought down already
            return ()
        return (BeginShutdown(StopReason.INIT_FAILED), *self._fail())

    def exited(self, now: float, status: ExitStatus, *, during_shutdown: bool = False) -> Actions:
        """The process is gone. *during_shutdown*: the host had let it go (a wedged one that it killed has failed)."""
        self._note(now)
        self._expect(_Process.ALIVE, "exited")
        self._process = _Process.NONE
        match self.state:
            case State.SHUTTING_DOWN:
                return self._gone()
            case State.SPAWNING:  # before it answered init no exit is a good one
                return self._gone() if during_shutdown else self._fail()
            case State.RUNNING:
                meant = during_shutdown or (status.ok and not self.policy.exit_zero_is_crash)
                return self._gone() if meant else self._fail()
            case State.IDLE | State.BACKOFF | State.QUARANTINED:  # it had failed before
                return self._start_if_due()
            case _:
                assert_never(self.state)

    def reload(self, now: float) -> Actions:
        """Somebody has mended the plugin: forget its failures. What ran, or was to run, is started anew."""
        self._note(now)
        self._failures.clear()
        eager = self.policy.spawn is SpawnMode.EAGER
        match self.state:
            case State.RUNNING | State.SPAWNING:
                self._wanted = not self.closed  # whatever its policy: its subscriptions went with its process
                self._move(Happening.STOP)
                return () if self._process is _Process.STARTING else (BeginShutdown(StopReason.RELOAD),)
            case State.BACKOFF | State.QUARANTINED:
                self._move(Happening.RELOAD)
                self._wanted = (self._wanted or eager) and not self.closed
            case State.IDLE | State.SHUTTING_DOWN:
                self._wanted = (self._wanted or eager) and not self.closed
            case _:
                assert_never(self.state)
        return self._start_if_due()

    def stop(self, now: float) -> Actions:
        """Somebody does not need it for now: what runs is brought down, and what was to run is not started."""
        self._note(now)
        self._wanted = False
        match self.state:
            case State.SPAWNING | State.RUNNING:
                self._move(Happening.STOP)
                return () if self._process is _Process.STARTING else (BeginShutdown(StopReason.STOPPED),)
            case State.BACKOFF if self._process is _Process.NONE:
                self._move(Happening.BACKOFF_OVER)
            case State.BACKOFF:  # a process on its way out: it is gone soon
                self._move(Happening.STOP)
            case State.IDLE | State.QUARANTINED | State.SHUTTING_DOWN:
                pass
            case _:
                assert_never(self.state)
        return ()

    def tick(self, now: float) -> Actions:
        """It is *now*: do what is due."""
        self._note(now)
        if self.is_idle(self._now):
            self._move(Happening.STOP)
            return (BeginShutdown(StopReason.IDLE),)
        return self._start_if_due()

    def shutdown(self, now: float) -> Actions:
        """The host closes: nothing is started any more, and what runs is brought down."""
        self._note(now)
        if self.closed:
            return ()
        self.closed = True
        self._wanted = False
        refuse = Refuse(RefuseReason.CLOSED)
        match self.state:
            case State.SPAWNING | State.RUNNING:
                self._move(Happening.STOP)
                return (refuse, BeginShutdown(StopReason.CLOSED))
            case State.BACKOFF:
                gone = self._process is _Process.NONE
                self._move(Happening.BACKOFF_OVER if gone else Happening.STOP)
            case State.IDLE | State.QUARANTINED | State.SHUTTING_DOWN:
                pass
            case _:
                assert_never(self.state)
        return (refuse,)

    def _note(self, now: float) -> None:
        self._now = max(self._now, now)
        stable = self._now >= self._running_since + self.policy.stable_s
        if self.state is State.RUNNING and stable:
            self._failures.forgive()

    def _expect(self, process: _Process, happening: str) -> None:
        if self._process is not process:
            raise LocalProtocolError(f"{happening}: the process is {self._process}, while {self.state}")

    def _move(self, happening: Happening) -> None:
        self.state = TRANSITIONS[self.state, happening]

    def _fail(self) -> Actions:
        self._failures.add(self._now)
        if self._failures.enough(self._now):
            self._move(Happening.FAILED_ENOUGH)
            return (Refuse(RefuseReason.QUARANTINED),)
        self._backoff_until = self._now + self._failures.wait_s()
        self._move(Happening.FAILED)
        return self._start_if_due()

    def _gone(self) -> Actions:
        self._move(Happening.EXITED)
        return self._start_if_due()

    def _start_if_due(self) -> Actions:
        """Start what is wanted and may be started, and what crashed once its backoff is over."""
        if self._process is not _Process.NONE or self.state not in (State.IDLE, State.BACKOFF):
            return ()
        if self.state is State.BACKOFF and self._now < self._backoff_until:
            return ()
        if self._wanted or self.state is State.BACKOFF:
            self._wanted = False
            self._process = _Process.STARTING
            self._move(Happening.START)
            return (Spawn(),)
        return ()
