"""What every session looks like: four inputs (bytes, end of file, process exit, time), and what it asks for.

A session never reads, writes, kills, sleeps or logs. It is told what happened and says what it wants:
bytes to send, the next moment it wants to be told the time, and events. That is why one session serves
the asyncio host, the blocking host, the tests and a replay alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from ..autopsy import ExitStatus, Survivor, WireFrame
from ..failures import FailureCode, Stage


class Word(Enum):
    """A word of a conversation. It hashes by identity: Enum's own hash is a call in Python, many times a message."""

    __hash__ = object.__hash__


class Channel(Word):
    """A pipe between host and plugin, seen from the plugin."""

    STDIN = "stdin"
    STDOUT = "stdout"
    STDERR = "stderr"
    CONTROL_OUT = "control out"  # of `sideband`: what the host tells beside stdin
    CONTROL_IN = "control in"  # of `sideband`: what the plugin tells beside stdout and stderr


class Rung(Word):
    """The rungs of the ladder on which a process is brought down, in order."""

    CLOSE_STDIN = "close_stdin"
    TERMINATE = "terminate"
    KILL = "kill"


class FramePassed(NamedTuple):  # made twice for every call: a frozen dataclass takes four times as long
    """One whole frame went to the plugin ("out") or came from it ("in")."""

    direction: str
    frame: bytes


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The session moved on."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class HandshakeDone:
    """The plugin has introduced itself, and its introduction was accepted."""

    plugin_id: str
    plugin_version: str


@dataclass(frozen=True, slots=True)
class InputEnded:
    """Everything has been said: close the plugin's stdin once it is written, and let it go on."""


@dataclass(frozen=True, slots=True)
class EndWanted:
    """The session is done with the process: bring it down, beginning at *rung*."""

    rung: Rung


@dataclass(frozen=True, slots=True)
class Fault:
    """The plugin failed, as far as a session can see: the driver adds what only it knows."""

    code: FailureCode
    stage: Stage
    message: str
    limit: str | None = None
    hint: str | None = None  # better advice than the table's, where the session knows more
    when: str = ""  # "before it had answered": completes the sentence "it ended with exit status 1 …"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What only the one who ran the process knows about how it ended."""

    exit: ExitStatus | None = None
    rung: str | None = None
    stderr_tail: str = ""
    frames: tuple[WireFrame, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    unread: int = 0  # bytes we wrote that the plugin never read
    command: tuple[str, ...] = ()


Event = FramePassed | StateChanged | HandshakeDone | InputEnded | EndWanted


class Session(Protocol):
    """A conversation with no I/O."""

    marks: dict[str, float]  # when each stage was reached

    def receive_data(self, data: bytes, channel: Channel) -> None: ...
    def receive_eof(self, channel: Channel) -> None: ...
    def receive_exit(self, status: ExitStatus) -> None: ...
    def receive_tick(self, now: float) -> None:
        """It is *now*: whatever is overdue has failed."""

    def note_time(self, now: float) -> None:
        """It is *now*, but something else has happened: hear that first, judge what is overdue later."""

    def receive_broken_pipe(self) -> None:
        """What we had to say could not be written: the plugin no longer reads."""

    def receive_progress(self) -> None:
        """A part of what was handed out has been written: the plugin reads."""

    def receive_sent(self) -> None:
        """Everything handed out so far by `data_to_send` has been written."""

    def next_deadline(self) -> float | None: ...
    def next_event(self) -> Event | None: ...
    def data_to_send(self) -> list[tuple[Channel, bytes]]: ...

    @property
    def settled(self) -> bool:
        """The conversation is over; only the process may still have to go."""
