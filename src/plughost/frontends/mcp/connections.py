"""HTTP connections within bounds: how many, and how long each may take to send a request.

A connection that has sent no whole request head is not known to be a client: it has shown no token. Such connections
have a deadline, which data does not extend, and so have those that owe the body of a request. If there are too many,
the oldest of them is closed, so that nobody can keep clients out by opening connections and sending nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a server takes. *head_s*, *body_s* and *idle_s* are seconds."""

    head_s: float = 10.0  # for a whole request head, from the connection or from the last answer
    body_s: float = 60.0  # for the body of a request, from its head
    unknown: int = 64  # connections without a request
    connections: int = 512  # in all: each client has a few
    idle_s: float = 600.0  # a session of the protocol with no request: its client has left
    sessions: int = 256  # of the protocol: each is a few objects


class Awaited(Enum):
    """What a connection owes before it can be answered."""

    HEAD = "head"
    BODY = "body"


class Connections:
    """The connections of one server that owe something, and until when. Oldest first."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._seconds = {Awaited.HEAD: bounds.head_s, Awaited.BODY: bounds.body_s}
        self._waiting: dict[BoundedProtocol, tuple[Awaited, asyncio.TimerHandle]] = {}

    def protocol(self, *args: Any, **kwargs: Any) -> BoundedProtocol:
        """Make the protocol of a connection: what uvicorn takes for a class."""
        return BoundedProtocol(self, *args, **kwargs)

    def expect(self, connection: BoundedProtocol, what: Awaited | None) -> None:
        """*connection* owes *what*, within its time: data do not extend that."""
        if connection in self._waiting and self._waiting[connection][0] is what:
            return
        self.forget(connection)
        if what is None:
            return
        if what is Awaited.HEAD:
            unknown = [each for each, (owed, _) in self._waiting.items() if owed is Awaited.HEAD]
            if len(unknown) >= self.bounds.unknown:
                unknown[0].drop()
        self._waiting[connection] = (what, connection.loop.call_later(self._seconds[what], connection.drop))

    def make_room(self) -> bool:
        """Close the oldest connection that owes something, and tell whether there was one."""
        oldest = next(iter(self._waiting), None)
        if oldest is not None:
            oldest.drop()
        return oldest is not None

    def forget(self, connection: BoundedProtocol) -> None:
        """*connection* owes nothing, or is gone."""
        _, timer = self._waiting.pop(connection, (None, None))
        if timer is not None:
            timer.cancel()


class BoundedProtocol(H11Protocol):
    """A connection that is closed if it takes too long to send a request."""

    def __init__(self, others: Connections, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._others = others

    def drop(self) -> None:
        """Close the connection at once."""
        self._others.forget(self)
        self.connections.discard(self)
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > self._others.bounds.connections and not self._others.make_room():
            self.drop()
        else:
            self._others.expect(self, Awaited.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._others.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._others.expect(self, self._awaited())

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._others.expect(self, self._awaited())

    def _awaited(self) -> Awaited | None:
        begun = (
            self.cycle is not None
        )  # uvicorn's types do not say so: there is none before the first request
        if self.transport.is_closing():
            return None
        if begun and not self.cycle.response_complete:
            return Awaited.BODY if self.conn.their_state is h11.SEND_BODY else None
        return Awaited.HEAD
