"""What a state means to whoever asked for something, or asks what happened. Says; decides nothing."""

from __future__ import annotations

from typing import assert_never

from .states import State


def obstacle(state: State, request_id: int | None) -> str:
    """Say why the worker cannot be given anything, and what to do."""
    match state:
        case State.STARTING:
            return "the worker has not introduced itself yet. Wait until it has"
        case State.IDLE:
            return "no request runs. Run one"
        case State.WAITING:
            return f"request {request_id} waits for an answer. Answer it, or interrupt it"
        case State.RUNNING | State.INTERRUPTING | State.SETTLING:
            return f"request {request_id} is {state.value}. Wait for its end, or interrupt it"
        case State.ENDING | State.ENDED | State.FAILED:
            return f"the session is {state.value}. Start another"
        case never:
            assert_never(never)


def during(state: State, request_id: int | None) -> str:
    """Complete the sentence "it ended …": what the worker was doing."""
    if state is State.STARTING:
        return "before it had introduced itself"
    return "while nothing ran" if request_id is None else f"while request {request_id} ran"


def terminated(text: str) -> str:
    """Return *text* as it is written to stdin: whole lines."""
    return text if text.endswith("\n") else text + "\n"
