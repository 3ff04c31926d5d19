"""Who may say what, when. Nothing else decides a transition; the diagram in the docs is drawn from this table.

A conversation is one worker process: it introduces itself, is given one request after the other, and ends. A request
is over when the worker has said so and its output is complete: in between it is settling. Whatever is not in the table
ends it in FAILED.
"""

from __future__ import annotations

from ..base import Word
from ..conversation import Speaker


class State(Word):
    """Where a conversation is."""

    STARTING = "starting"
    IDLE = "idle"  # ready for code
    RUNNING = "running"
    WAITING = "waiting for stdin"
    INTERRUPTING = "interrupting"
    SETTLING = "settling"
    ENDING = "ending"
    ENDED = "ended"
    FAILED = "failed"


class Said(Word):
    """What can happen in a conversation that moves it."""

    READY = "backend_info"
    RUN = "stdin_write"
    ANSWER = "answer"
    ASK = "readline_start"  # and nothing to answer it with
    LINE = "readline_result"
    INTERRUPT = "interrupt"
    INTERRUPTED = "interrupted"
    REQUEST_END = "request_end"
    SETTLED = "end of output"
    SESSION_END = "session_end"  # by the worker also: the end of the sideband, its exit
    EXIT = "exit"
    FAULT = "fault"


OPEN = (State.IDLE, State.RUNNING, State.WAITING, State.INTERRUPTING, State.SETTLING)
BUSY = (State.RUNNING, State.WAITING, State.INTERRUPTING)

TRANSITIONS: dict[tuple[State, Speaker, Said], State] = {
    # (state, speaker, what is said): next state.        Absent means forbidden.
    (State.STARTING, Speaker.PLUGIN, Said.READY): State.IDLE,
    (State.STARTING, Speaker.HOST, Said.SESSION_END): State.ENDING,
    (State.STARTING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
    (State.IDLE, Speaker.HOST, Said.RUN): State.RUNNING,
    (State.IDLE, Speaker.HOST, Said.INTERRUPT): State.IDLE,
    (State.RUNNING, Speaker.PLUGIN, Said.ASK): State.WAITING,
    (State.RUNNING, Speaker.HOST, Said.INTERRUPT): State.INTERRUPTING,
    (State.RUNNING, Speaker.PLUGIN, Said.REQUEST_END): State.SETTLING,
    (State.WAITING, Speaker.HOST, Said.ANSWER): State.RUNNING,
    (State.WAITING, Speaker.PLUGIN, Said.LINE): State.RUNNING,
    (State.WAITING, Speaker.HOST, Said.INTERRUPT): State.INTERRUPTING,
    (State.WAITING, Speaker.PLUGIN, Said.INTERRUPTED): State.RUNNING,
    (State.WAITING, Speaker.PLUGIN, Said.REQUEST_END): State.SETTLING,
    (State.INTERRUPTING, Speaker.PLUGIN, Said.INTERRUPTED): State.RUNNING,
    (State.INTERRUPTING, Speaker.PLUGIN, Said.ASK): State.WAITING,
    (State.INTERRUPTING, Speaker.HOST, Said.INTERRUPT): State.INTERRUPTING,
    (State.INTERRUPTING, Speaker.PLUGIN, Said.REQUEST_END): State.SETTLING,
    (State.SETTLING, Speaker.HOST, Said.INTERRUPT): State.SETTLING,
    (State.SETTLING, Speaker.PLUGIN, Said.SETTLED): State.IDLE,
    **{(state, Speaker.HOST, Said.SESSION_END): State.ENDING for state in OPEN},
    **{(state, Speaker.PLUGIN, Said.SESSION_END): State.ENDING for state in OPEN},
    **{(state, Speaker.PLUGIN, Said.FAULT): State.FAILED for state in OPEN},
    (State.ENDING, Speaker.PLUGIN, Said.EXIT): State.ENDED,
    (State.ENDING, Speaker.PLUGIN, Said.FAULT): State.FAILED,
}

INITIAL = State.STARTING
FINAL = frozenset({State.ENDED, State.FAILED})
