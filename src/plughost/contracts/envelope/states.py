"""Who may say what, when. Nothing else decides a transition; the diagram in the docs is drawn from this table.

A conversation is one worker: it is started, may wait for its request, is told once, answers once and exits.
The exit is half of the answer. A worker that asks for input ends too: the next one is told what was answered.
"""

from __future__ import annotations

from ..base import Word
from ..conversation import Speaker


class State(Word):
    """Where a conversation is."""

    STARTED = "started"
    WORKING = "working"
    ANSWERED = "answered"
    RETIRING = "retiring"
    CLOSED = "closed"
    FAILED = "failed"


class Said(Word):
    """What can happen in a conversation."""

    REQUEST = "request"
    REPLY = "reply"
    GOODBYE = "goodbye"  # the host lets a worker go that it has told nothing
    EXIT = "exit"
    FAULT = "fault"


TRANSITIONS: dict[tuple[State, Speaker, Said], State] = {
    # (state, speaker, what is said): next state.        Absent means forbidden.
    (State.STARTED, Speaker.HOST, Said.REQUEST): State.WORKING,
    (State.STARTED, Speaker.HOST, Said.GOODBYE): State.RETIRING,
    (State.STARTED, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.WORKING, Speaker.PLUGIN, Said.REPLY): State.ANSWERED,
    (State.WORKING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.ANSWERED, Speaker.PLUGIN, Said.EXIT): State.CLOSED,
    (State.ANSWERED, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.RETIRING, Speaker.PLUGIN, Said.EXIT): State.CLOSED,
}

INITIAL = State.STARTED
FINAL = frozenset({State.CLOSED, State.FAILED})
