"""Who may say what, when. Nothing else decides a transition; the diagram in the docs is drawn from this table.

A conversation is one process: it is started, shaken hands with, asked one thing at a time as often as the host
likes, and let go by closing its input. Whatever is not in the table ends it in FAILED.
"""

from __future__ import annotations

from ..base import Word
from ..conversation import Speaker


class State(Word):
    """Where a conversation is."""

    STARTED = "started"
    HANDSHAKING = "handshaking"
    READY = "ready"
    ASKED = "asked"
    RETIRING = "retiring"
    CLOSED = "closed"
    FAILED = "failed"


class Said(Word):
    """What can happen in a conversation."""

    HELLO = "hello"
    INFO = "plugin info"
    REQUEST = "request"
    RESULT = "result"
    GOODBYE = "goodbye"  # the host closes the plugin's input
    EXIT = "exit"
    FAULT = "fault"


TRANSITIONS: dict[tuple[State, Speaker, Said], State] = {
    # (state, speaker, what is said): next state.        Absent means forbidden.
    (State.STARTED, Speaker.HOST, Said.HELLO): State.HANDSHAKING,
    (State.STARTED, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.HANDSHAKING, Speaker.PLUGIN, Said.INFO): State.READY,
    (State.HANDSHAKING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.READY, Speaker.HOST, Said.REQUEST): State.ASKED,
    (State.READY, Speaker.HOST, Said.GOODBYE): State.RETIRING,
    (State.READY, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.ASKED, Speaker.PLUGIN, Said.RESULT): State.READY,
    (State.ASKED, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.RETIRING, Speaker.PLUGIN, Said.EXIT): State.CLOSED,
    (State.RETIRING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
}

INITIAL = State.STARTED
FINAL = frozenset({State.CLOSED, State.FAILED})
