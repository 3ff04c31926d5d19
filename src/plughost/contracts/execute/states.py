"""Who may say what, when. Nothing else decides a transition; the diagram in the docs is drawn from this table.

A conversation is one process: it is started, shaken hands with, may wait as a spare, answers one request
and exits. Whatever is not in the table ends it in FAILED.
"""

from __future__ import annotations

from ..base import Word
from ..conversation import Speaker


class State(Word):
    """Where a conversation is."""

    STARTED = "started"
    HANDSHAKING = "handshaking"
    READY = "ready"
    EXECUTING = "executing"
    ANSWERED = "answered"
    RETIRING = "retiring"
    CLOSED = "closed"
    FAILED = "failed"


class Said(Word):
    """What can happen in a conversation."""

    HANDSHAKE = "handshake"
    REQUEST = "request"
    RESPONSE = "response"
    MORE = "more bytes"  # after the response: noted, not understood
    GOODBYE = "goodbye"  # the host lets a spare go
    EXIT = "exit"
    FAULT = "fault"


TRANSITIONS: dict[tuple[State, Speaker, Said], State] = {
    # (state, speaker, what is said): next state.        Absent means forbidden.
    (State.STARTED, Speaker.HOST, Said.HANDSHAKE): State.HANDSHAKING,
    (State.STARTED, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.HANDSHAKING, Speaker.PLUGIN, Said.HANDSHAKE): State.READY,
    (State.HANDSHAKING, Speaker.HOST, Said.GOODBYE): State.RETIRING,
    (State.HANDSHAKING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.READY, Speaker.HOST, Said.REQUEST): State.EXECUTING,
    (State.READY, Speaker.HOST, Said.GOODBYE): State.RETIRING,
    (State.READY, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.EXECUTING, Speaker.PLUGIN, Said.RESPONSE): State.ANSWERED,
    (State.EXECUTING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.ANSWERED, Speaker.PLUGIN, Said.MORE): State.ANSWERED,
    (State.ANSWERED, Speaker.PLUGIN, Said.EXIT): State.CLOSED,
    (State.ANSWERED, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.RETIRING, Speaker.PLUGIN, Said.EXIT): State.CLOSED,
}

INITIAL = State.STARTED
FINAL = frozenset({State.CLOSED, State.FAILED})
