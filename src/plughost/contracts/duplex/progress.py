"""How far a `duplex` conversation has come: as a stage for autopsies, and in words for messages. Moves nothing."""

from __future__ import annotations

from typing import assert_never

from ...failures import Stage
from .states import State


def stage(state: State, *, asked: bool) -> Stage:
    """Return the stage of *state*; *asked*: the plugin has a call to answer."""
    match state:
        case State.STARTED | State.FAILED:
            return Stage.LAUNCH
        case State.INITIALISING:
            return Stage.HANDSHAKE
        case State.RUNNING:
            return Stage.EXECUTE if asked else Stage.IDLE
        case State.SHUTTING_DOWN | State.CLOSED:
            return Stage.TEARDOWN
        case never:
            assert_never(never)


def moment(state: State, *, asked: bool) -> str:
    """Say when something happened that happens now."""
    match state:
        case State.STARTED | State.INITIALISING:
            return "before it had answered plugin/init"
        case State.SHUTTING_DOWN:
            return "while it was shut down"
        case _:
            return "before it had answered" if asked else "while nothing was asked of it"


def stray(head: bytes) -> str | None:
    """Say what to do about text on stdout that is no frame, or None."""
    if head.lstrip()[:14].lower() == b"content-length":
        return None
    return "It printed to stdout, which carries frames only. Print to stderr instead."
