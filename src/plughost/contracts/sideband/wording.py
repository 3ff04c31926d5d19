"""What a state means to whoever asked for something, or asks what happened. Says; decides nothing."""

from __future__ import annotations

from typing import assert_never

from ...failures import Stage
from ...messages.quoting import quote
from .states import State

NO_INTRODUCTION = "it did not send backend_info in time"


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


def tried(request_id: int | None, next_id: int, prompt: str) -> str:
    """Say of the code of request *next_id* that the worker may take it for the input of the one before."""
    return (
        f"request {request_id} ended at the prompt {quote(prompt)}, which is not known as one for code: if that was a "
        f"question, the input of request {next_id} is its answer"
    )


def during(state: State, request_id: int | None) -> str:
    """Complete the sentence "it ended …": what the worker was doing."""
    if state is State.STARTING:
        return "before it had introduced itself"
    return "while nothing ran" if request_id is None else f"while request {request_id} ran"


def stage(state: State, request_id: int | None, *, ending: bool) -> Stage:
    """Return how far a conversation has come. *ending*: the host wants its end."""
    if state is State.STARTING:
        return Stage.HANDSHAKE
    if ending or state is State.ENDED:
        return Stage.TEARDOWN
    return Stage.IDLE if request_id is None else Stage.EXECUTE


def terminated(text: str) -> str:
    """Return *text* as it is written to stdin: whole lines."""
    return text if text.endswith("\n") else text + "\n"
