"""The short way of a call through a plugin that does nothing else: written at once, its answer heard in one step.

It is taken when nobody watches the wire and nothing waits to be told; where anything is unusual, the long way through
the session goes on from there. Both ways end the same tickets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...contracts.duplex import straight
from ...errors import LocalProtocolError
from ...supervision.states import State
from ..engine import Engine
from ..ground import Ground
from .ticket import Ticket

if TYPE_CHECKING:
    from .member import DuplexLink, Member


class Shortcut:
    """The short way to and from the processes of one member. *calls* are its tickets, by their ids."""

    __slots__ = ("_bus", "_calls", "_clock", "_ground", "_member")

    def __init__(self, member: Member, calls: dict[int, Ticket], engine: Engine, ground: Ground) -> None:
        self._member = member
        self._calls = calls
        self._bus = engine.bus
        self._clock = engine.clock
        self._ground = ground

    def say(self, ticket: Ticket) -> bool:
        """Ask the plugin at once, if it runs and is asked nothing else. Returns whether that is done."""
        member, ask = self._member, ticket.ask
        link = member.link
        if link is None or ask is None or member.lifecycle.state is not State.RUNNING or not self._bus.quiet:
            return False
        session, now, left = link.conversation, self._clock(), ask.timeout_s
        if left is not None and ask.in_all:
            if ticket.until is None:
                ticket.until = now + left
            else:
                left = max(0.0, ticket.until - now)
        try:
            written = session.call_at_once(ask.method, ask.params, left, now)
        except LocalProtocolError as error:  # it cannot be said in JSON
            ticket.end(error)
            return True
        if written is None:
            return False
        call_id, frame, body = written
        member.touched = ticket.asked_at = now
        ticket.call_id = call_id
        self._calls[call_id] = ticket
        rest = link.say_at_once(frame, body)
        if rest:
            session.postpone()
            link.say_rest(rest)
        if rest or left is not None:
            self._ground.expect(link)
        return True

    def hear(self, link: DuplexLink, data: bytes) -> int:
        """Hear the answers with which *data* begins. Returns how many bytes they are."""
        member, calls, session = self._member, self._calls, link.conversation
        if not (calls and self._bus.quiet and session.is_listening and member.is_at_ease):
            return 0
        at, limit = 0, member.binding.limits.frame_bytes
        while at < len(data) and calls:
            # Which call it answers is known only when it is decoded: like the oldest one, as a guess.
            first = next(iter(calls.values()))
            if first.ask is None or not first.by_result:
                break
            heard = straight.hear(data, at, first.ask.result, limit)
            if heard is None:
                break
            call_id, result, body, end = heard
            ticket = calls.get(call_id)
            if ticket is None or (ticket is not first and not self._is_alike(ticket, first)):
                break
            if call_id in session.lanes.calls:  # it cannot know of it yet
                break
            at = end
            link.note_heard(body)
            session.answered_at_once(call_id)
            del calls[call_id]
            ticket.end_with(result)
        return at

    @staticmethod
    def _is_alike(ticket: Ticket, other: Ticket) -> bool:
        """Tell whether what was decoded for *other* is what *ticket* waits for."""
        if ticket.ask is None or other.ask is None or not ticket.by_result:
            return False
        return ticket.ask.result is other.ask.result
