"""The `duplex` conversation with no I/O: what is written next, who gets which answer, which code a fault gets.

Theory of operation. Both sides call, both answer, and nobody waits for a turn: each side numbers its own calls, and a
message without a method is an answer. The session keeps two ledgers, of the calls that the plugin has not answered
and of those that the host has not. Every call of the host is over exactly once, with an answer, a timeout, or the
fault that ended the process. What is no message is dropped and counted; only bytes that are no frame end the process,
because nobody can tell where the next frame begins. What waits to be written waits in `lanes`.

Two queues lead out: `next_event` is for whoever runs the process, `next_news` for the host.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, assert_never

from msgspec.structs import replace
from plughost_sdk.frames.errors import FrameError, FrameTooLarge, TruncatedFrame

from ...autopsy import ExitStatus
from ...errors import LocalProtocolError, RemoteProtocolError
from ...failures import FailureCode, Stage
from ...messages import jsonrpc
from ...messages.jsonrpc import Id, Reason
from ...messages.quoting import quote
from ..base import Channel, EndWanted, Fault, FramePassed, HandshakeDone, Rung
from ..conversation import Conversation, Speaker
from . import bulk, introduction, progress
from .inbox import Inbox, Overfull
from .introduction import Introduction
from .lanes import Lane, Lanes
from .ledger import Ledger
from .messages import InitParams, ShutdownParams
from .news import Answered, Called, Dropped, Ignored, InitDone, News, Told, worth_telling
from .parcel import Parcel, framed, parcel
from .states import INITIAL, TRANSITIONS, Said, State
from .terms import Terms

UNSHOWN = "…"  # in place of the plugin's configuration, which may hold secrets
MALFORMED = FailureCode.MALFORMED_RESPONSE
_RUNNING, _STDIN = State.RUNNING, Channel.STDIN  # found in a fraction of the time, several times a call
_OPEN = (State.STARTED, State.INITIALISING, State.RUNNING)
_TALKING = (*_OPEN, State.SHUTTING_DOWN)
_LATE = Fault(FailureCode.TIMEOUT, Stage.EXECUTE, "it did not answer in time", "limits.timeout_s")
_NOTHING: list[tuple[Channel, bytes]] = []


class DuplexSession(Conversation[State, Said]):
    """One process of the `duplex` contract, from its start to its exit."""

    __slots__ = (
        "_asked", "_ending", "_inbox", "_init_id", "_init_until", "_shutdown_id",
        "_terms", "_until", "at_rest", "calls", "fault", "ignored", "introduction", "lanes", "news", "unsent",
    )  # fmt: skip

    def __init__(self, terms: Terms, now: float) -> None:
        super().__init__(INITIAL, TRANSITIONS, now)
        self.introduction: Introduction | None = None
        self.fault: Fault | None = None
        self.ignored: Counter[Reason] = Counter()
        self._terms = terms
        self._inbox = Inbox(terms.frame_bytes, terms.values)
        self.lanes = Lanes(terms.bounds)
        self.news: list[News] = []  # for `next_news`; who is in a hurry may look whether it is empty
        self.calls = Ledger()
        self._asked: dict[Id, None] = {}  # the plugin's calls
        self._init_id: int | None = None
        self._shutdown_id: int | None = None
        self._init_until: float | None = None
        self._until: float | None = None  # for what was handed out to be written, or shutdown to be answered
        self.at_rest = False  # see `come_to_rest`
        self.unsent = False  # something was handed out and is not written yet
        self._ending = False

    # What the host does

    def begin(self, init: InitParams) -> None:
        """Tell the plugin who it is and what it may do. Raises LocalProtocolError if that does not fit a frame."""
        call_id = self.calls.next_id
        body = jsonrpc.encode_request(call_id, "plugin/init", init)
        frame = framed(body, self._terms.frame_bytes, "plugin/init")
        if init.config is not None:
            body = jsonrpc.encode_request(call_id, "plugin/init", replace(init, config=UNSHOWN))
        self._advance(Speaker.HOST, Said.INIT)
        self._init_id = self.calls.new_id()
        self._init_until = self._now + self._terms.handshake_s
        self.lanes.put(Lane.REPLY, frame, body)  # the one lane that does not wait for init

    def call(
        self, method: str, params: Any, timeout_s: float | None = None, *, now: float | None = None
    ) -> int:
        """Ask the plugin for something, and return the id under which `Answered` will tell what became of it.

        It is sent once init is answered, and its time counts from now. Raises LocalProtocolError, for this
        call alone, if it does not fit a frame, and when the process was told to end. A process that has failed
        fails the call too.
        """
        if self.state is not _RUNNING and self.state in (State.SHUTTING_DOWN, State.CLOSED):
            raise LocalProtocolError(f"{method} cannot be called: the plugin is {self.state.value}")
        if now is not None and now > self._now:
            self._now = now
        call_id = self.calls.next_id
        body = jsonrpc.encode_request(call_id, method, params)
        frame = framed(body, self._terms.frame_bytes, method)
        self.calls.next_id += 1
        if self.fault is not None:
            self.news.append(Answered(call_id, method, self.fault, sent=False))
            return call_id
        self.calls.open(call_id, method, None if timeout_s is None else self._now + timeout_s)
        self.at_rest = False
        self.lanes.put_call(call_id, frame, body)
        return call_id

    def come_to_rest(self) -> bool:
        """Look whether calls may go the short way, and note it: until something else happens, that stays so.

        The plugin runs, everything it wrote was heard, and nothing but calls waits to be written to it.
        """
        self.at_rest = self.is_listening and not (self.unsent or self.lanes.has_more_than_calls)
        return self.at_rest

    def call_at_once(self, method: str, params: Any, timeout_s: float | None, now: float) -> bytes:
        """Like `call`, of a session at rest, which it stays. Its id is the one before `calls.next_id`. Raises alike.

        Returns the body, to be written now, `postpone`d in part, or put to the `lanes`.
        """
        calls, call_id = self.calls, self.calls.next_id
        body = jsonrpc.encode_request(call_id, method, params)
        if len(body) > self._terms.frame_bytes:
            framed(body, self._terms.frame_bytes, method)  # it finds the words
        calls.next_id = call_id + 1
        calls.methods[call_id] = method
        self._now = now
        if timeout_s is not None:
            calls.expect(call_id, now + timeout_s)
        return body

    def postpone(self) -> None:
        """What was to be written now cannot be written whole: `receive_sent` will tell when it is."""
        self.at_rest = False
        self.unsent = True
        if self._terms.write_s is not None:
            self._until = self._now + self._terms.write_s

    def forget(self, call_id: int) -> None:
        """Nobody waits for *call_id* any more: it is not sent if it was not yet, and not told of."""
        self.at_rest = False
        if call_id in self.calls:
            self.calls.close(call_id)
            self.lanes.withdraw(call_id)

    def notify(self, method: str, params: Any, lane: Lane = Lane.EVENT) -> bool:
        """Tell the plugin something once init is answered. Returns whether it is still to be told anything.

        Raises LocalProtocolError, for this one alone, if it does not fit a frame. A full lane loses its oldest.
        """
        return self.tell(parcel(jsonrpc.encode_notification(method, params)), lane)

    def tell(self, parcel: Parcel, lane: Lane = Lane.EVENT) -> bool:
        """Like `notify`, for a notification that is encoded already: one that goes to many."""
        if lane not in (Lane.KEY, Lane.EVENT):
            raise LocalProtocolError(f"a notification does not go by the {lane.value} lane")
        parcel.check(self._terms.frame_bytes)
        if self.state not in _OPEN:
            return False
        self.at_rest = False
        for lost in range(self.lanes.put(lane, parcel.frame, parcel.body), 0, -1):
            count = self.lanes.dropped[lane] - lost + 1
            if worth_telling(count):
                self.news.append(Dropped(lane, count))
        return True

    def answer(self, id: Id, result: Any) -> bool:
        """Answer the plugin's call *id*. Returns False if the result does not fit: the plugin is told so.

        Raises LocalProtocolError if it has no such call. An answer to a process that is gone is dropped.
        """
        size, encode = bulk.prepared(id, result)
        if size > self._terms.frame_bytes or not self.lanes.has_room(size):
            self.refuse(id, jsonrpc.INTERNAL_ERROR, f"no room for a result of {size} bytes")
            return False
        if self._take_asked(id):
            self.lanes.promise(size, encode)
        return True

    def refuse(self, id: Id, code: int, message: str, data: Any = None) -> None:
        """Answer the plugin's call *id* with an error. Raises LocalProtocolError if that does not fit."""
        body = jsonrpc.encode_error(id, code, message, data)
        if not self.lanes.has_room(len(body)):
            raise LocalProtocolError("too many answers wait to be read")
        frame = framed(body, self._terms.frame_bytes, "a reply")
        if self._take_asked(id):
            self.lanes.put(Lane.REPLY, frame, body)

    def shutdown(self, *, now: float | None = None) -> None:
        """Tell the plugin to end: `plugin/shutdown`, then the end of its input, then the ladder.

        Keys and events that wait are forgotten; calls under way may still be answered. Nothing happens to
        one that is being shut down, or is gone. Raises LocalProtocolError before `begin`.
        """
        if now is not None:
            self.note_time(now)
        if self.state in (State.SHUTTING_DOWN, State.CLOSED, State.FAILED):
            return
        initialised = self.state is State.RUNNING
        self._advance(Speaker.HOST, Said.SHUTDOWN)
        self.marks["retired"] = self._now
        self.at_rest = False
        self._init_until = None
        self.lanes.clear_notifications()
        self._shutdown_id = self.calls.new_id()
        body = jsonrpc.encode_request(self._shutdown_id, "plugin/shutdown", ShutdownParams())
        frame = framed(body, self._terms.frame_bytes, "plugin/shutdown")
        if initialised:
            self.lanes.put_call(self._shutdown_id, frame, body)  # behind the calls that wait
        else:  # they are not for it to hear: it never answered init
            self._end_calls(self._gone("it was told to end before it had answered plugin/init"))
            self.lanes.put(Lane.REPLY, frame, body)
        self._until = self._now + self._terms.ack_s

    def give_up(self, message: str, limit: str) -> None:
        """The host has waited long enough: this process has failed, whatever it may still say."""
        if self.state in _TALKING:
            self._fail(FailureCode.TIMEOUT, message, limit)

    # What happens to it

    def receive_data(self, data: bytes, channel: Channel) -> None:
        if channel is Channel.STDOUT and self.state in _TALKING:
            self.at_rest = False
            self._inbox.receive_data(data)
            self._read_frames()

    def receive_eof(self, channel: Channel) -> None:
        if channel is not Channel.STDOUT or self.state not in _TALKING:
            return
        self._inbox.receive_eof()
        self._read_frames()
        if self.state in _OPEN:
            self._fail(FailureCode.CRASHED, f"it ended its output {self._while()}")
        elif self.state is State.SHUTTING_DOWN:
            self._end_calls(self._gone(f"it ended its output {self._while()}"))
            self._want_end(Rung.CLOSE_STDIN)

    def receive_exit(self, status: ExitStatus) -> None:
        self.marks.setdefault("exited", self._now)
        match self.state:
            case State.STARTED | State.INITIALISING | State.RUNNING:
                self._fail(FailureCode.CRASHED, f"it ended with {status.meaning} {self._while()}")
            case State.SHUTTING_DOWN:
                self._end_calls(self._gone(f"it ended with {status.meaning} {self._while()}"))
                self.lanes.clear()
                self._advance(Speaker.PLUGIN, Said.EXIT)
            case State.CLOSED | State.FAILED:
                pass
            case never:
                assert_never(never)

    def receive_tick(self, now: float) -> None:
        self.note_time(now)
        while self.state in _TALKING:  # earliest first: a late tick finds what punctual ones would have
            overdue, due = self.next_deadline(), self.calls.next_due()
            if overdue is None or self._now < overdue:
                return
            if due is not None and due[0] == overdue:
                self._settle(due[1], _LATE)
            elif overdue == self._init_until:
                self._fail(FailureCode.TIMEOUT, "it did not answer plugin/init in time", "limits.handshake_s")
            elif self.state is State.SHUTTING_DOWN:
                self._want_end(Rung.CLOSE_STDIN)
            else:
                self._fail(FailureCode.TIMEOUT, "it does not read its input", "limits.write_s")

    def receive_broken_pipe(self) -> None:
        if self.state in _OPEN:
            self._fail(FailureCode.CRASHED, f"it closed its input {self._while()}")
        elif self.state is State.SHUTTING_DOWN:
            self._want_end(Rung.CLOSE_STDIN)

    def receive_progress(self) -> None:
        if self.unsent and self._until is not None and self.state is State.RUNNING:
            self._until = self._now + (self._terms.write_s or 0.0)

    def receive_sent(self) -> None:
        self.unsent = False
        if self.state is not State.SHUTTING_DOWN:
            self._until = None

    # What it asks for

    def data_to_send(self) -> list[tuple[Channel, bytes]]:
        """Return what is to be written now: one piece, and none before the last one was (`receive_sent`)."""
        if not self.lanes or self.unsent or self._ending or self.state not in _TALKING:
            return _NOTHING
        self.unsent, self.at_rest = True, False  # first, or a signal's handler would write what comes later
        taken = self.lanes.take(all_lanes=self.introduction is not None)
        if not taken:
            self.unsent = False
            return _NOTHING
        if self._terms.write_s is not None and self.state is _RUNNING:  # else other deadlines run
            self._until = self._now + self._terms.write_s
        self._events += [FramePassed("out", waiting.shown) for waiting in taken]
        if len(taken) == 1:
            return [(_STDIN, taken[0].frame)]
        return [(_STDIN, b"".join([waiting.frame for waiting in taken]))]

    def next_news(self) -> News | None:
        """Return what the host has to know, in the order in which it came about."""
        return self.news.pop(0) if self.news else None

    def next_deadline(self) -> float | None:
        if self.state not in _TALKING:
            return None
        due = self.calls.next_due()
        at = self._until if due is None or (self._until is not None and self._until < due[0]) else due[0]
        first = self._init_until
        return at if first is None or (at is not None and at < first) else first

    @property
    def settled(self) -> bool:
        return self.state in (State.CLOSED, State.FAILED)

    @property
    def is_listening(self) -> bool:
        """Whether the next byte from a plugin that runs is the first of a message, and everything before was heard."""
        return self.state is _RUNNING and self._inbox.is_between and not (self.news or self._events)

    @property
    def has_to_say(self) -> bool:
        """Whether `data_to_send` would return something."""
        if not self.lanes or self.unsent or self._ending or self.state not in _TALKING:
            return False
        return self.introduction is not None or bool(self.lanes.replies)

    @property
    def unanswered(self) -> int:
        """How many calls of the plugin the host has not answered."""
        return len(self._asked)

    @property
    def dropped(self) -> dict[Lane, int]:
        """How many notifications each lane has lost."""
        return self.lanes.dropped

    @property
    def stage(self) -> Stage:
        """How far the conversation has come."""
        if self.state is State.FAILED and self.fault is not None:
            return self.fault.stage
        return progress.stage(self.state, asked=bool(self.calls))

    # Messages

    def _read_frames(self) -> None:
        while self.state in _TALKING:
            try:
                found = self._inbox.next_message()
            except TruncatedFrame:
                if self.state is not State.SHUTTING_DOWN:  # one that is being ended may be cut off
                    self._fail(FailureCode.CRASHED, f"it ended its output inside a frame {self._while()}")
                return
            except FrameError as error:
                self._events.append(FramePassed("in", self._inbox.head))
                limit = "limits.frame_bytes" if isinstance(error, FrameTooLarge) else None
                hint = progress.unframed(self._inbox.head, is_too_large=limit is not None)
                self._fail(MALFORMED, str(error), limit, hint=hint)
                return
            if found is None:
                return
            body, message = found
            self._events.append(FramePassed("in", body))
            if type(message) is jsonrpc.Response:  # the usual thing, in half the time
                self._read_answer(message)
            else:
                self._read(message)

    def _read(self, message: jsonrpc.Message | jsonrpc.Ignored | Overfull) -> None:
        match message:
            case jsonrpc.Notification(method, params):
                self.news.append(Told(method, params))
            case jsonrpc.Request(id, method, params):
                if self._accepts(message):
                    self.news.append(Called(id, method, params))
            case jsonrpc.Response() | jsonrpc.ErrorResponse():
                self._read_answer(message)
            case jsonrpc.Ignored(reason, detail, id):
                self._ignore(reason, detail)
                limit = "limits.values" if reason is Reason.TOO_MANY_VALUES else None
                if id is not None and self._awaits(id):  # whoever waits for it waits no longer
                    self._settle(id, Fault(MALFORMED, self.stage, detail, limit))
                elif id is not None and id == self._init_id and self.state is State.INITIALISING:
                    self._fail(FailureCode.HANDSHAKE_FAILED, detail, limit)
            case Overfull(request, detail):
                if self._accepts(request):
                    self.refuse(request.id, jsonrpc.INVALID_PARAMS, detail)
            case never:
                assert_never(never)

    def _accepts(self, request: jsonrpc.Request) -> bool:
        """Note a call of the plugin. Returns False if that is not to be served."""
        if request.id in self._asked:
            self._ignore(Reason.REPEATED_ID, f"{quote(request.method)} has the id of a call under way")
            return False
        unanswered = len(self._asked) + self.lanes.waiting(Lane.REPLY)
        if unanswered >= 2 * self._terms.reverse_calls:  # it does not read what it is told either
            self._ignore(Reason.TOO_MANY, f"{quote(request.method)}: {unanswered} calls are unanswered")
            return False
        self._asked[request.id] = None
        if unanswered >= self._terms.reverse_calls:
            self.refuse(request.id, jsonrpc.INTERNAL_ERROR, "too many calls at once")
            return False
        return True

    def _read_answer(self, answer: jsonrpc.Response | jsonrpc.ErrorResponse) -> None:
        methods = self.calls.methods
        if answer.id in methods and answer.id not in self.lanes.calls:
            method = methods.pop(answer.id)
            excess = self._inbox.excess(answer, method) if self._inbox.values else ""
            outcome = Fault(MALFORMED, self.stage, excess, "limits.values") if excess else answer
            self.news.append(Answered(answer.id, method, outcome, sent=True))
        elif answer.id == self._init_id and self.state is State.INITIALISING:
            self._read_init(answer)
        elif answer.id == self._shutdown_id and not self._ending:
            self._want_end(Rung.CLOSE_STDIN)
        elif self.calls.gave_out(answer.id) and not self.lanes.holds(answer.id):
            self._ignore(Reason.LATE, f"an answer to call {answer.id}, which is over")
        else:
            self._ignore(Reason.UNKNOWN_ID, f"an answer to call {answer.id}, which was never made")

    def _read_init(self, answer: jsonrpc.Response | jsonrpc.ErrorResponse) -> None:
        try:
            found = introduction.accept(answer, self._terms)
        except RemoteProtocolError as error:
            self._fail(FailureCode.HANDSHAKE_FAILED, str(error))
            return
        self.introduction = found
        self._init_until = None
        self.marks["shaken"] = self._now
        self._advance(Speaker.PLUGIN, Said.INIT)
        self._events.append(HandshakeDone(found.name, found.version))
        self.news.append(InitDone(found))

    # Moves

    def _awaits(self, call_id: int) -> bool:
        """Tell whether the plugin was asked *call_id*, and the answer is due."""
        return call_id in self.calls and not self.lanes.holds(call_id)

    def _take_asked(self, id: Id) -> bool:
        """Note that the plugin's call *id* is answered. Returns whether there is somebody to read the answer."""
        if self.state not in _TALKING:
            return False
        if id not in self._asked:
            raise LocalProtocolError(f"the plugin made no call {id!r}, or it is answered")
        self.at_rest = False
        del self._asked[id]
        return not self._ending  # else its input is closed

    def _settle(self, call_id: int, outcome: jsonrpc.Response | jsonrpc.ErrorResponse | Fault) -> None:
        self.at_rest = False
        sent = not self.lanes.withdraw(call_id)
        self.news.append(Answered(call_id, self.calls.close(call_id), outcome, sent))

    def _ignore(self, reason: Reason, detail: str) -> None:
        self.ignored[reason] += 1
        if worth_telling(self.ignored[reason]):
            self.news.append(Ignored(reason, detail, self.ignored[reason]))

    def _gone(self, message: str) -> Fault:
        return Fault(FailureCode.CRASHED, self.stage, message, when=self._while())

    def _end_calls(self, fault: Fault) -> None:
        for call_id in self.calls.calls():
            self._settle(call_id, fault)

    def _want_end(self, rung: Rung) -> None:
        self._until = None
        if not self._ending:
            self._ending = True
            self._events.append(EndWanted(rung))

    def _while(self) -> str:
        return progress.moment(self.state, asked=bool(self.calls))

    def _fail(
        self, code: FailureCode, message: str, limit: str | None = None, *, hint: str | None = None
    ) -> None:
        self.marks["failed"] = self._now
        self.at_rest = False
        self.fault = Fault(code, self.stage, message, limit, hint, when=self._while())
        self._advance(Speaker.PLUGIN, Said.FAULT)
        self._end_calls(self.fault)
        self.lanes.clear()
        # One that ended its output may be about to exit: it gets the time to, and its exit status tells why.
        exiting = code is FailureCode.CRASHED
        if self._ending and not exiting:
            self._events.append(EndWanted(Rung.TERMINATE))
        self._want_end(Rung.CLOSE_STDIN if exiting else Rung.TERMINATE)
