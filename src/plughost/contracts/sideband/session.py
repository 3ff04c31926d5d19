"""The `sideband` conversation with no I/O: what is written next, what belongs to which request, when one is over.

Theory of operation. Three streams come from the worker, and nothing orders them against each other: what it shows
(stdout, stderr) and what it tells (the sideband). One request runs at a time. A worker that puts ids and marks on what
it says leaves nothing to guess: the request is over when it is told so and both marks have been read. For any other
worker it is over when it is told so and the windows of `settling` have passed. What was shown is kept until the host
takes it, in whatever state the conversation is.

Of what is handed out, a piece for stdin may be written once every line for the sideband that was handed out before it
is written; a line for the sideband never waits for stdin. Two queues lead out: `next_event` is for whoever runs the
process, `next_news` for the host. What was read from the sideband is told after what is in the output's pipes by then,
so that a prompt or a picture stands behind what was printed before it; the exit is told last.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import NoReturn, assert_never

from msgspec import UNSET
from plughost_sdk.frames.errors import FrameTooLarge
from plughost_sdk.frames.lines import LineDecoder

from ...autopsy import ExitStatus
from ...errors import LocalProtocolError
from ...failures import FailureCode, Stage
from ...messages.quoting import quote
from ..base import Channel, EndWanted, Fault, FramePassed, HandshakeDone, Rung
from ..conversation import Conversation, Speaker
from . import ids, news, wording
from . import messages as wire
from .display import STREAMS, Display
from .input import Input
from .items import Image, Item
from .messages import Reason
from .news import Completed, Gone, How, Ignored, InterruptTold, News, Outcome, Ready, SignalWanted, Waiting
from .output import new_token
from .reading import Reading
from .settling import Settling
from .states import BUSY, FINAL, INITIAL, OPEN, TRANSITIONS, Said, State
from .terms import Terms
from .timeline import Spool, Timeline


class SidebandSession(Conversation[State, Said]):
    """One worker process of the `sideband` contract, from its start to its exit."""

    def __init__(
        self, terms: Terms, now: float, *, spool: Spool | None = None, token: Callable[[], str] = new_token
    ) -> None:
        super().__init__(INITIAL, TRANSITIONS, now)
        self.backend: wire.BackendInfo | None = None
        self.fault: Fault | None = None
        self.status: ExitStatus | None = None
        self.request_id: int | None = None  # of the request that is not over
        self.ignored: Counter[Reason] = Counter()
        self.news: deque[News] = deque()
        self._terms = terms
        self._token = token
        self._lines = LineDecoder(terms.line_bytes)
        self._display = Display(terms.budget, spool)
        self._last_id = 0
        self._until: float | None = now + terms.handshake_s  # what it means depends on the state
        self._ready_by = 0.0  # for the first request of a worker without ids
        self._input = Input()
        self._unsent = False
        self._input_at: float | None = None  # when it may be handed out
        self.reading = Reading()
        self._settling: Settling | None = None
        self._end: wire.RequestEnd | None = None  # of the request that is not over
        self._told_to_end = False
        self._ending = False  # the process is being brought down
        self._closed = ""  # which of its pipes it closed unasked
        self._said: wire.SessionEnd | None = None

    # What the host does

    def run(self, text: str, request_id: int | None = None) -> int:
        """Give the worker *text* to run, and return the request's id: a new one, larger than any before.

        A request that waits for input and has said its end is over with that. Raises LocalProtocolError, and nothing is
        sent, unless the worker is idle, or waits in this way, and the text fits a line.
        """
        tried = self.state is State.WAITING and self._end is not None
        if self.state is not State.IDLE and not tried:
            self._refuse("the input was not sent")
        request_id = self._last_id + 1 if request_id is None else request_id
        if type(request_id) is not int or request_id <= self._last_id:
            raise LocalProtocolError(f"a request's id is larger than {self._last_id}, not {request_id!r}")
        ours = self.backend.plughost if self._marking and self.backend is not None else None
        token = self._token() if ours is not None else None
        images = self._token() if ours is not None and ours.image_marks else None
        order = self._token() if ours is not None and ours.order_marks else None
        text = wording.terminated(text)
        named = request_id if self._ids else UNSET
        self._tell(wire.StdinWrite(text, named, *map(wire.or_unset, (token, images, order))))
        if tried:
            self.note(wording.tried(self.request_id, request_id, self.reading.named))
            self._advance(Speaker.PLUGIN, Said.REQUEST_END)
            self._complete(How.SETTLED)
        self._advance(Speaker.HOST, Said.RUN)
        self.request_id = self._last_id = request_id
        self.reading.start("" if self._ids else text, tried=tried)
        self._display.begin(request_id, token, images, order)
        self._input.begin(text.encode())
        self._lead()
        return request_id

    def answer(self, text: str) -> None:
        """Give the request the line that it waits for.

        Raises LocalProtocolError, and nothing is sent, unless it waits for one and the text fits a line.
        """
        if self.state is not State.WAITING or self.request_id is None:
            self._refuse("the answer was not sent")
        text = wording.terminated(text)
        self._tell(wire.StdinWrite(text, self.request_id if self._ids else UNSET))
        self._advance(Speaker.HOST, Said.ANSWER)
        self._end = None
        self.reading.end()
        self._input.add(text.encode())
        self._lead()

    def interrupt(self) -> None:
        """Stop what runs; `InterruptTold` says what became of it. An idle worker is told too, and loses nothing.

        Raises LocalProtocolError if the worker has not introduced itself yet, ends, or is gone.
        """
        if (self.state, Speaker.HOST, Said.INTERRUPT) not in TRANSITIONS:
            self._refuse("it cannot be interrupted")
        runs = self.request_id if self._ids and self.state in BUSY else None
        self._tell(wire.Interrupt(UNSET if runs is None else runs))
        if self.state in BUSY:
            self.reading.end()  # or will be, when the worker hears of this
        self._advance(Speaker.HOST, Said.INTERRUPT)
        if not self._ids:
            self._input.withdraw()  # a worker that counts its input needs all of it, this one none
            self.news.append(SignalWanted())
            self.news.append(InterruptTold(self.request_id, Outcome.SENT))

    def end(self) -> None:
        """Tell the worker to exit: `session_end`, then the end of its input, then the ladder. One that ends is let."""
        if self.state in FINAL:
            return
        self._told_to_end = True
        if self.state is not State.ENDING:
            self._input.withdraw()
            self._tell(wire.HostSessionEnd())
            self._advance(Speaker.HOST, Said.SESSION_END)
            self._until = self._now + self._terms.end_s

    def note(self, text: str) -> None:
        """Put a remark of the host into the timeline, here."""
        self.timeline.add_notice(text, self.request_id)

    def take(self) -> tuple[Item, ...]:
        """Return what was shown since the last time, in order, and forget it."""
        return self._display.take(
            without_echo=self._terms.echoes and not self._ids, prompt=self.reading.prompt
        )

    # What happens to it

    def receive_data(self, data: bytes, channel: Channel) -> None:
        if channel in STREAMS:
            self._display.receive_data(data, channel)
            self._settle_output()
        elif channel is Channel.CONTROL_IN and self.state not in FINAL:
            self._lines.receive_data(data)
            self._read_lines()

    def receive_eof(self, channel: Channel) -> None:
        if channel in STREAMS:
            self._display.receive_eof(channel)
            self._settle_output()
        elif channel is Channel.CONTROL_IN and self.state not in FINAL:
            self._lines.receive_eof()
            self._read_lines()
            self._lose("its sideband")

    def receive_broken_pipe(self) -> None:
        self._lose("its input")

    def receive_exit(self, status: ExitStatus) -> None:
        self.marks.setdefault("exited", self._now)
        self.status = status
        if self.state is State.STARTING:
            self._fail(FailureCode.CRASHED, f"it ended with {status.meaning} {self._while()}")
        elif self.state not in FINAL:
            if self.state is not State.ENDING:
                self._advance(Speaker.PLUGIN, Said.SESSION_END)
            in_order = self._told_to_end or self._said is not None or status.ok
            if not in_order:
                self._fail(FailureCode.CRASHED, f"it ended with {status.meaning} {self._while()}")
                return
            self._want_end(Rung.CLOSE_STDIN)
            self._advance(Speaker.PLUGIN, Said.EXIT)
            self._be_gone(How.ENDED)

    def receive_tick(self, now: float) -> None:
        self.note_time(now)
        while (due := self.next_deadline()) is not None and due <= self._now:
            match self.state:
                case State.STARTING:
                    self._until = None
                    if self.backend is not None:
                        self._be_ready(self.backend)
                    else:
                        self._fail(FailureCode.TIMEOUT, wording.NO_INTRODUCTION, "limits.handshake_s")
                case State.RUNNING | State.INTERRUPTING:
                    if self._input_at is not None and self._input_at <= self._now:
                        self._input_at = None
                    else:
                        self._wait()
                case State.SETTLING:
                    if self._settling is not None and self._settling.marked:
                        self._ignore(Reason.UNMARKED, f"request {self.request_id} was to be marked")
                    self._complete(How.SETTLED)
                case State.ENDING:
                    self._until = None
                    if self._told_to_end or self._said is not None:
                        self._want_end(Rung.CLOSE_STDIN)
                    else:
                        self._fail(
                            FailureCode.CRASHED, f"it closed {self._closed} {self._while()} and went on"
                        )
                case _:  # the others have no deadline
                    return

    def receive_sent(self) -> None:
        self._unsent = False
        if self.state is State.ENDING and self._told_to_end and not self._outgoing:
            self._want_end(Rung.CLOSE_STDIN)

    # What it asks for

    def data_to_send(self) -> list[tuple[Channel, bytes]]:
        if not (self._outgoing or self._input) or self.state in FINAL or self._ending:
            return []
        handed = super().data_to_send()
        if self._input and not self._unsent and self._input_at is None:
            handed.append((Channel.STDIN, self._input.next_piece()))
        self._unsent = self._unsent or bool(handed)
        return handed

    def next_news(self) -> News | None:
        """Return what the host has to know, in the order in which it came about."""
        return self.news.popleft() if self.news else None

    def next_deadline(self) -> float | None:
        match self.state:
            case State.STARTING | State.ENDING:
                return self._until
            case State.RUNNING | State.INTERRUPTING:
                waits = not self._ids and self.reading.may_wait(self._input.unread_lines)
                asked = self.reading.asked_at if waits else None
                return self._input_at or (None if asked is None else asked + self._terms.ask_s)
            case State.SETTLING:
                return None if self._settling is None else self._settling.over_at
            case State.IDLE | State.WAITING | State.ENDED | State.FAILED:
                return None
            case never:
                assert_never(never)

    @property
    def timeline(self) -> Timeline:
        """What was shown and not taken yet."""
        return self._display.timeline

    @property
    def settled(self) -> bool:
        return self.state in FINAL

    @property
    def stage(self) -> Stage:
        """How far the conversation has come."""
        if self.fault is not None:
            return self.fault.stage
        return wording.stage(self.state, self.request_id, ending=self._told_to_end)

    # What it tells

    def _read_lines(self) -> None:
        while self.state not in FINAL:
            try:
                line = self._lines.next_frame()
            except FrameTooLarge as error:
                self._fail(FailureCode.MALFORMED_RESPONSE, f"on its sideband: {error}", "limits.frame_bytes")
                return
            if line is None:
                break
            if line and not line.isspace():
                self._events.append(FramePassed("in", line))
                self._read(wire.decode(line))
        if self._ids and self.reading.asked_at is not None and self.state is State.RUNNING:
            self._wait()  # only now: the line that it reads may have come with it

    def _read(self, message: wire.WorkerMessage | wire.Refused) -> None:
        if self._settling is not None:
            self._settling.hear_told(self._now)
        match message:
            case wire.Refused(reason, detail, type):
                self._ignore(reason, detail)
                if type == "backend_info" and self.backend is None and self.state is State.STARTING:
                    self._fail(FailureCode.HANDSHAKE_FAILED, detail)
            case wire.BackendInfo():
                self._introduce(message)
            case wire.PlotImage(id, mime_type, data, is_new, request_id, mark):
                owner = self.request_id if request_id is UNSET else request_id
                if self._ids and (request_id is UNSET or request_id > self._last_id):
                    owner = None
                token = None if mark is UNSET else mark
                self._display.receive_image(Image(id, mime_type, data, is_new, owner), token)
            case wire.SessionEnd():
                self._hear_session_end(message)
            case wire.Interrupted(outcome, request_id):
                self._hear_interrupted(Outcome(outcome), None if request_id is UNSET else request_id)
            case wire.ReadlineStart() | wire.ReadlineResult() | wire.RequestEnd():
                stray = ids.misplaced(message, self.request_id, self._last_id) if self._ids else None
                if stray is not None:
                    self._ignore(*stray)
                else:
                    self._hear(message)
            case never:
                assert_never(never)

    def _introduce(self, backend: wire.BackendInfo) -> None:
        if self.backend is not None:
            self._ignore(Reason.REPEATED, "backend_info was sent already")
            return
        self.backend = backend
        if self.state is not State.STARTING:
            return
        if self._ids:
            self._be_ready(backend)
            return
        # One that shows a prompt would take input that comes before it for no request's.
        self._until = self._ready_by = self._now + self._terms.first_prompt_s
        if self.reading.asked_at is not None:
            self._see_prompt(backend)

    def _see_prompt(self, backend: wire.BackendInfo) -> None:
        """A worker without ids shows its first prompt: a request waits until nothing more follows.

        One that shows two in a row, and hears of a request between them, would take the second for its end.
        """
        self._until = min(self._ready_by, self._now + self._terms.prompt_quiet_s)
        if self._until <= self._now:
            self._be_ready(backend)

    def _be_ready(self, backend: wire.BackendInfo) -> None:
        self._until = self.reading.asked_at = None
        self.marks["shaken"] = self._now
        self._advance(Speaker.PLUGIN, Said.READY)
        ours = backend.plughost
        self._events.append(HandshakeDone(ours.worker or backend.language, ours.version))
        self.news.append(Ready(backend))

    def _hear(self, message: wire.ReadlineStart | wire.ReadlineResult | wire.RequestEnd) -> None:
        match message:
            case wire.ReadlineStart(prompt):
                self.reading.begin(prompt, self._now, secret=message.secret)
                if self.request_id is None or (prompt and self._is_ended):
                    self.reading.learn()
                if self.state is State.STARTING and self.backend is not None:
                    self._see_prompt(self.backend)
            case wire.ReadlineResult(prompt, line):
                self.reading.take(prompt, line)
                self._input.read_line()
                self._display.note_line(prompt, line)
                if self.state is State.WAITING:
                    self._end = None
                    self._advance(Speaker.PLUGIN, Said.LINE)
            case wire.RequestEnd():
                self._hear_end(message)
            case never:
                assert_never(never)

    def _hear_end(self, end: wire.RequestEnd) -> None:
        stray = ids.stray_end(self.request_id, self._input, again=self._is_ended, named=self._ids)
        if stray is not None:
            self._ignore(*stray)
            return
        self._end = end
        if self._ends_to_ask():
            self._wait()
        elif self.state in BUSY:
            self.reading.conclude(waiting=self.state is State.WAITING)
            self._advance(Speaker.PLUGIN, Said.REQUEST_END)
            self._settle(end)

    @property
    def _is_ended(self) -> bool:
        """Whether the request has said its end, and not because it waits for input."""
        return self._end is not None and self.state not in BUSY

    def _ends_to_ask(self) -> bool:
        """Tell whether a worker without ids says request_end because it waits for input: by its prompt."""
        asks = self.state is State.RUNNING and self.reading.asked_at is not None
        return (asks or self.state is State.WAITING) and not self._ids and self.reading.is_for_input

    def _settle(self, end: wire.RequestEnd) -> None:
        marked = self._marking and end.marked
        self._settling = Settling(self._terms, self._now, marked=marked)
        if not marked:
            self._display.give_up_marks()
        elif self._display.is_marked:
            self._complete(How.MARKED)

    def _settle_output(self) -> None:
        if self._settling is not None and self.state is State.SETTLING:
            self._settling.hear_output(self._now)
            if self._settling.marked and self._display.is_marked:
                self._complete(How.MARKED)

    def _hear_interrupted(self, outcome: Outcome, request_id: int | None) -> None:
        if not self._ids:
            self._ignore(Reason.UNKNOWN_TYPE, "interrupted, by a worker that knows no requests")
            return
        self.news.append(InterruptTold(request_id, outcome))
        if self.state in (State.INTERRUPTING, State.WAITING):
            self.reading.end()  # what it asked before, it does not ask any more
            self._advance(Speaker.PLUGIN, Said.INTERRUPTED)

    def _hear_session_end(self, said: wire.SessionEnd) -> None:
        if self._said is not None:
            self._ignore(Reason.REPEATED, "session_end was sent already")
            return
        self._said = said
        if self.state is State.STARTING:
            why = f": {quote(said.reason)}" if said.reason else ""
            self._fail(FailureCode.HANDSHAKE_FAILED, f"it ended instead of introducing itself{why}")
            return
        if self.state in OPEN:
            self._advance(Speaker.PLUGIN, Said.SESSION_END)
        self._want_end(Rung.CLOSE_STDIN)

    # Moves

    @property
    def _ids(self) -> bool:
        return self.backend is not None and self.backend.plughost.request_ids

    @property
    def _marking(self) -> bool:
        return self._ids and self.backend is not None and self.backend.plughost.marks

    def _refuse(self, what: str) -> NoReturn:
        raise LocalProtocolError(f"{what}: {wording.obstacle(self.state, self.request_id)}")

    def _tell(self, message: wire.HostMessage) -> None:
        line = wire.encode(message, self._terms.line_bytes)
        self._outgoing.append((Channel.CONTROL_OUT, line))
        self._events.append(FramePassed("out", line[:-1]))

    def _wait(self) -> None:
        if self.request_id is not None and self.state is not State.WAITING:
            self.reading.asked_at = None
            self._advance(Speaker.PLUGIN, Said.ASK)
            self.timeline.add_prompt(self.reading.prompt, self.request_id, secret=self.reading.secret)
            self.news.append(Waiting(self.request_id, self.reading.prompt))

    def _lead(self) -> None:
        """Let the worker hear the announcement first: one without ids may take input before it for no request's."""
        if not self._ids and self._terms.lead_s:
            self._input_at = self._now + self._terms.lead_s

    def _complete(self, how: How) -> None:
        self._settling = None
        self._advance(Speaker.PLUGIN, Said.SETTLED)
        self._be_over(how)

    def _be_over(self, how: How) -> None:
        self._display.end(seal=how is not How.MARKED)
        if self.request_id is not None:
            finished, error = self._end is not None, self._end is not None and self._end.error
            self.news.append(Completed(self.request_id, how, finished, error, self.reading.prompt))
        self.request_id = self._end = self._settling = self.reading.asked_at = None

    def _lose(self, what: str) -> None:
        """The worker closed *what*: it is about to exit, or it never will by itself."""
        if self.state is State.STARTING:
            self._fail(FailureCode.CRASHED, f"it closed {what} {self._while()}")
        elif self.state in OPEN:
            self._closed = what
            self._advance(Speaker.PLUGIN, Said.SESSION_END)
            self._until = self._now + self._terms.exit_s
        elif self.state is State.ENDING and (self._told_to_end or self._said is not None):
            self._want_end(Rung.CLOSE_STDIN)

    def _ignore(self, reason: Reason, detail: str) -> None:
        self.ignored[reason] += 1
        if news.worth_telling(self.ignored[reason]):
            self.news.append(Ignored(reason, detail, self.ignored[reason]))

    def _want_end(self, rung: Rung) -> None:
        self._until = None
        if not self._ending:
            self._ending = True
            self._events.append(EndWanted(rung))

    def _while(self) -> str:
        return wording.during(self.state, self.request_id)

    def _fail(self, code: FailureCode, message: str, limit: str | None = None) -> None:
        self.marks["failed"] = self._now
        self.fault = Fault(code, self.stage, message, limit, when=self._while())
        self._advance(Speaker.PLUGIN, Said.FAULT)
        # One that crashed has exited, or may be about to: it gets the time to, and its exit status tells why.
        exiting = code is FailureCode.CRASHED and (self.status is not None or not self._closed)
        if self._ending and not exiting:
            self._events.append(EndWanted(Rung.TERMINATE))
        self._want_end(Rung.CLOSE_STDIN if exiting else Rung.TERMINATE)
        self._be_gone(How.FAILED)

    def _be_gone(self, how: How) -> None:
        self._be_over(how)
        said = self._said
        status = None if said is None or said.status is UNSET else said.status
        self.news.append(Gone(self.fault, self.status, said.reason if said is not None else "", status))
