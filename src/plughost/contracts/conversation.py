"""What every session keeps: its state, the table that moves it, its clock, what it asks for. Knows no message."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

from ..errors import LocalProtocolError, RemoteProtocolError
from .base import Channel, Event, FramePassed, StateChanged, Word

S = TypeVar("S", bound=Enum)
W = TypeVar("W", bound=Enum)


class Speaker(Word):
    """Who said it."""

    HOST = "host"
    PLUGIN = "plugin"


class Conversation(Generic[S, W]):
    """A state, moved by a table of (state, speaker, what is said)."""

    __slots__ = ("_events", "_now", "_outgoing", "_transitions", "marks", "state")

    def __init__(self, initial: S, transitions: Mapping[tuple[S, Speaker, W], S], now: float) -> None:
        self.state = initial
        self.marks: dict[str, float] = {"started": now}  # when each stage was reached
        self._transitions = transitions
        self._now = now
        self._events: list[Event] = []  # few at a time: five hundred idle plugins have one each
        self._outgoing: list[tuple[Channel, bytes]] = []

    def note_time(self, now: float) -> None:
        if now > self._now:
            self._now = now

    def receive_progress(self) -> None:
        """A part of what was handed out has been written. Most contracts need not know."""

    def next_event(self) -> Event | None:
        return self._events.pop(0) if self._events else None

    def data_to_send(self) -> list[tuple[Channel, bytes]]:
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def _say(self, line: bytes) -> None:
        """Send *line*, which ends in its line feed."""
        self._outgoing.append((Channel.STDIN, line))
        self._events.append(FramePassed("out", line[:-1]))

    def _advance(self, speaker: Speaker, said: W) -> None:
        following = self._transitions.get((self.state, speaker, said))
        if following is None:
            error = LocalProtocolError if speaker is Speaker.HOST else RemoteProtocolError
            raise error(f"{speaker.value} may not say {said.value} while {self.state.value}")
        if following is not self.state:
            self._events.append(StateChanged(self.state.value, following.value))
            self.state = following
