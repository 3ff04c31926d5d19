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


def unframed(head: bytes, *, is_too_large: bool) -> str | None:
    """Say what to do about output that begins with *head* and is no frame, or a frame that is too large; or None."""
    if b"content-length" in head.lower():
        return None if is_too_large else _FRAME
    if head.lstrip()[:1] in (b"{", b"["):
        return f"It writes messages without a header before each. {_FRAME}"
    return "It printed to stdout, which carries frames only. Print to stderr instead."


_FRAME = (
    "A frame is `Content-Length: ` and the length of its body in bytes, not characters; CRLF, CRLF; and then the body, "
    "with nothing after it."
)
