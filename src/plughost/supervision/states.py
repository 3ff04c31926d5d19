"""The states of a plugin's life, over many processes, and what they ask for. Nothing else decides a transition.

The machine that walks this table in time is `lifecycle.Lifecycle`; the diagram in the docs is drawn from the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a plugin is."""

    IDLE = "idle"
    SPAWNING = "spawning"
    RUNNING = "running"
    BACKOFF = "backoff"
    QUARANTINED = "quarantined"
    SHUTTING_DOWN = "shutting down"


class Happening(StrEnum):
    """What can happen to a plugin."""

    START = "it is wanted, or its wait is over"
    INIT_DONE = "init is answered"
    FAILED = "it fails"
    FAILED_ENOUGH = "it fails once too often"
    EXITED = "its process ends, as it may"
    BACKOFF_OVER = "the wait is called off"
    STOP = "it is idle, stopped, reloaded, or the host closes"
    RELOAD = "somebody has mended it"


TRANSITIONS: dict[tuple[State, Happening], State] = {
    # (state, what happens): next state.        Absent means forbidden.
    (State.IDLE, Happening.START): State.SPAWNING,
    (State.SPAWNING, Happening.INIT_DONE): State.RUNNING,
    (State.SPAWNING, Happening.FAILED): State.BACKOFF,
    (State.SPAWNING, Happening.FAILED_ENOUGH): State.QUARANTINED,
    (State.SPAWNING, Happening.STOP): State.SHUTTING_DOWN,
    (State.SPAWNING, Happening.EXITED): State.IDLE,
    (State.RUNNING, Happening.FAILED): State.BACKOFF,
    (State.RUNNING, Happening.FAILED_ENOUGH): State.QUARANTINED,
    (State.RUNNING, Happening.STOP): State.SHUTTING_DOWN,
    (State.RUNNING, Happening.EXITED): State.IDLE,
    (State.BACKOFF, Happening.START): State.SPAWNING,
    (State.BACKOFF, Happening.BACKOFF_OVER): State.IDLE,
    (State.BACKOFF, Happening.RELOAD): State.IDLE,
    (State.BACKOFF, Happening.STOP): State.SHUTTING_DOWN,
    (State.QUARANTINED, Happening.RELOAD): State.IDLE,
    (State.SHUTTING_DOWN, Happening.EXITED): State.IDLE,
}

INITIAL = State.IDLE


class StopReason(StrEnum):
    """Why a process is brought down."""

    IDLE = "idle"
    RELOAD = "reload"
    INIT_FAILED = "init failed"
    STOPPED = "stopped"
    CLOSED = "host closed"


class RefuseReason(StrEnum):
    """Why nobody is served."""

    QUARANTINED = "quarantined"
    CLOSED = "host closed"


@dataclass(frozen=True, slots=True)
class Spawn:
    """Start a process; say `spawned` or `exec_failed`."""


@dataclass(frozen=True, slots=True)
class BeginShutdown:
    """Bring the process down; say `exited` when it is gone."""

    reason: StopReason


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer whoever waits for this plugin with an error: no process will serve them."""

    reason: RefuseReason


Action = Spawn | BeginShutdown | Refuse
Actions = tuple[Action, ...]
