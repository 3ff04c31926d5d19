"""Who may say what, when. Nothing else decides a transition; the diagram in the docs is drawn from this table.

A conversation is one process: it is started, told who it is, spoken with both ways as long as anyone likes, and told
to end. Calls and notifications do not move it. Whatever is not in the table ends it in FAILED.
"""

from __future__ import annotations

from ..base import Word
from ..conversation import Speaker


class State(Word):
    """Where a conversation is."""

    STARTED = "started"
    INITIALISING = "initialising"
    RUNNING = "running"
    SHUTTING_DOWN = "shutting down"
    CLOSED = "closed"
    FAILED = "failed"


class Said(Word):
    """What can happen in a conversation that moves it."""

    INIT = "plugin/init"  # by the host: the request; by the plugin: its answer
    SHUTDOWN = "plugin/shutdown"
    EXIT = "exit"
    FAULT = "fault"


TRANSITIONS: dict[tuple[State, Speaker, Said], State] = {
    # (state, speaker, what is said): next state.        Absent means forbidden.
    (State.STARTED, Speaker.HOST, Said.INIT): State.INITIALISING,
    (State.STARTED, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.INITIALISING, Speaker.PLUGIN, Said.INIT): State.RUNNING,
    (State.INITIALISING, Speaker.HOST, Said.SHUTDOWN): State.SHUTTING_DOWN,
    (State.INITIALISING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.RUNNING, Speaker.HOST, Said.SHUTDOWN): State.SHUTTING_DOWN,
    (State.RUNNING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.SHUTTING_DOWN, Speaker.PLUGIN, Said.EXIT): State.CLOSED,
    (State.SHUTTING_DOWN, Speaker.PLUGIN, Said.FAULT): State.FAILED,
}

INITIAL = State.STARTED
FINAL = frozenset({State.CLOSED, State.FAILED})
