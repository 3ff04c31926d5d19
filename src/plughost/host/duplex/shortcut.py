"""The short way of a call through a plugin that does nothing else: written at once, its answer heard in one step.

It is taken when nobody watches the wire and nothing waits to be told; where anything is unusual, the long way through
the session goes on from there. Both ways end the same tickets.

Theory of operation. After every switch from one process to the other, code runs several times as slowly as in a loop of
its own: what counts is how much of it there is. So what has to be so for the short way is looked at once, and noted by
the session as being at rest; whatever else happens to the session ends that. The next call, and its answer, need one
look then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from plughost_sdk.frames.content_length import encode, only

from ...contracts.duplex import straight
from ...contracts.duplex.session import DuplexSession
from ...errors import LocalProtocolError
from ...process.wire_log import SHORT_FRAME
from ...supervision.states import State
from ..engine import Engine
from ..ground import Ground
from .ticket import Ticket

LOOK_S = 1.0  # how often to look whether a plugin that was called still has its input

if TYPE_CHECKING:
    from .member import DuplexLink, Member


class Shortcut:
    """The short way to and from the processes of one member. *calls* are its tickets, by their ids."""

    __slots__ = ("_alone", "_bus", "_calls", "_clock", "_ground", "_member")

    def __init__(self, member: Member, calls: dict[int, Ticket], engine: Engine, ground: Ground) -> None:
        self._member = member
        self._calls = calls
        self._bus = engine.bus
        self._clock = engine.clock
        self._ground = ground
        self._alone: Ticket | None = None  # the call under way, if it was asked by the short way

    def say(self, ticket: Ticket) -> bool:
        """Ask the plugin at once, or with others in a moment, if it runs. Returns whether that is done."""
        link, ask = self._member.link, ticket.ask
        if link is None or ask is None or not self._bus.quiet:
            return False
        session = link.conversation
        if not session.at_rest and not self._comes_to_rest(link):
            return False
        clock, left = self._clock, ask.timeout_s
        now = clock()
        if left is not None and ask.in_all:
            left = ticket.left(now, left)
        try:
            body = session.call_at_once(ask.method, ask.params, left, now)
        except LocalProtocolError as error:  # it cannot be said in JSON, or in a frame
            ticket.end(error)
            return True
        calls = self._calls
        self._member.touched = ticket.asked_at = now
        ticket.call_id = call_id = session.calls.next_id - 1
        frame = encode(body, len(body))
        if left is None and self._member.look_at < now:  # else a deadline has it looked at
            self._member.look_soon(now)
        if calls:
            calls[call_id], self._alone = ticket, None
            session.lanes.put_call(call_id, frame, body)
            self._ground.say_soon(link)
            return True
        calls[call_id] = ticket
        self._alone = ticket if ticket.by_result and len(body) <= SHORT_FRAME else None
        link.wire.note_call(body)
        is_written = self._write(link, frame)
        if left is not None or not is_written:
            self._ground.expect(link)
        return True

    def write_calls(self, link: DuplexLink) -> bool:
        """Write the calls that wait to be made together. Returns False where that is not for the short way to do."""
        session = link.conversation
        if not session.at_rest or not self._bus.quiet:
            return False
        lanes = session.lanes
        while lanes.calls and session.at_rest:
            frames, shown = lanes.take_calls()
            link.wire.note_all("out", shown)
            self._write(link, frames)
        return True

    def _write(self, link: DuplexLink, frames: bytes) -> bool:
        """Write *frames*, the rest when there is room. Returns whether that is done."""
        session, written = link.conversation, 0
        # What a signal's handler has to say from here on waits. What it has said just now may not be written whole.
        is_writing, session.unsent = session.unsent, True
        if not is_writing:
            try:
                written = link.process.write(frames)
            except OSError:  # it is found again, and dealt with, when the rest is written
                written = 0
            except BaseException:
                session.unsent = False
                raise
            if written == len(frames):
                session.unsent = False
        if written < len(frames):
            session.note_time(self._clock())
            session.postpone()
            link.say_rest(memoryview(frames)[written:])
            return False
        if not session.at_rest:  # something was said meanwhile
            self._ground.say_soon(link)
        return True

    def _comes_to_rest(self, link: DuplexLink) -> bool:
        """Look whether a call may go by the short way. Where even short frames may be too long, none does."""
        member = self._member
        if member.lifecycle.state is not State.RUNNING or member.binding.limits.frame_bytes < SHORT_FRAME:
            return False
        self._alone = None  # what is under way is not alone any more, or was not noted as a pair
        return member.is_at_ease and link.conversation.come_to_rest()

    def hear(self, link: DuplexLink, data: bytes) -> int:
        """Hear the answers with which *data* begins. Returns how many bytes they are."""
        ticket, session = self._alone, link.conversation
        if ticket is None or not session.at_rest or self._member.has_events or not self._bus.quiet:
            return self._hear_many(link, data)
        body = only(data)
        if body is None or len(body) > SHORT_FRAME:
            return self._hear_many(link, data)
        answer = straight.decode(body, ticket.ask.result)  # type: ignore[union-attr]  # it was asked something
        if answer is None or self._calls.get(answer.id) is not ticket:
            return self._hear_many(link, data)
        self._alone = None
        link.wire.note_answer(body)
        del self._calls[answer.id], session.calls.methods[answer.id]
        ticket.is_over, ticket.result = True, answer.result
        if ticket.on_over is not None:
            ticket.on_over(ticket)
        return len(data)

    def _hear_many(self, link: DuplexLink, data: bytes) -> int:
        """Like `hear`, of however many answers, whoever was asked in which way."""
        member, calls, session = self._member, self._calls, link.conversation
        self._alone = None
        if not (calls and self._bus.quiet and session.is_listening and member.is_at_ease):
            return 0
        at, bodies = 0, list[bytes]()
        while at < len(data) and calls:
            # Which call an answer is for is known only when it is decoded: like the oldest one, as a guess.
            oldest = next(iter(calls.values()))
            if oldest.ask is None or not oldest.by_result:
                break
            end = self._hear_alike(session, data, at, oldest.ask.result, bodies)
            if end == at:
                break
            at = end
        if bodies:
            link.wire.note_all("in", bodies)
        return at

    def _hear_alike(
        self, session: DuplexSession, data: bytes, at: int, kind: type[Struct] | None, bodies: list[bytes]
    ) -> int:
        """Hear answers from *at* on whose callers wait for a *kind*; add them to *bodies*. Returns where they end."""
        calls, methods, unsent = self._calls, session.calls.methods, session.lanes.calls
        for answer, body, end in straight.answers(data, at, kind, self._member.binding.limits.frame_bytes):
            call_id = answer.id
            ticket = calls.get(call_id)
            if ticket is None or call_id in unsent:  # of which the plugin cannot know yet
                break
            if not ticket.by_result or ticket.ask is None or ticket.ask.result is not kind:
                break
            at = end
            bodies.append(body)
            del calls[call_id], methods[call_id]
            if not ticket.is_over:
                ticket.is_over, ticket.result = True, answer.result
                if ticket.on_over is not None:
                    ticket.on_over(ticket)
        return at
