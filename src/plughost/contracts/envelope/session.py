"""The `envelope` conversation with no I/O: one line in, one line out, and an exit code that must agree with it.

Theory of operation. The answer is the pair of exit code and envelope. So nothing is decided when the line
arrives: a worker that says "success" and then dies has not succeeded, and one that exits with 0 and says
nothing has not either. One deadline runs, from the request to the exit. A worker that was started early
waits without one: whoever started it lets it go.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from msgspec import UNSET
from plughost_sdk.frames import lines
from plughost_sdk.frames.errors import FrameError

from ...autopsy import ExitStatus
from ...errors import RemoteProtocolError
from ...failures import FailureCode, Stage
from ...messages import strict_json
from ..base import Channel, EndWanted, Fault, FramePassed, InputEnded, Rung
from ..conversation import Conversation, Speaker
from . import prompts
from .messages import FRAME_LIMIT, Reply, ValidationReply
from .states import INITIAL, TRANSITIONS, Said, State

EXIT_UNCAUGHT = 3
EXIT_TIMEOUT = 124  # the host's alone: what it writes down for a worker that it had to stop

TIME_LIMIT = "isolation.timeout_seconds"
TIME_HINT = (
    f"Raise `{TIME_LIMIT}` in the plugin's manifest.yml if the work needs longer (300 at most); its stderr, "
    "which is kept beside the log, may tell where it stopped."
)
VALIDATION_HINT = (
    "The time to look at variables is the same for every plugin: leave what takes long, such as imports, to the "
    "transformation; its stderr, which is kept beside the log, may tell where it stopped."
)
UNASKED = "it wrote to stdout before it was told anything"

# The only good pairs.
_EXITS = {"success": 0, "failed": 1, "input_required": 2}

# The results that the host goes by `per_file` for: what to record, and which files a resumed worker is given.
_REPORTING = ("success", "input_required")
REPORTS_HINT = (
    "With nothing to report, send `per_file: []`; `lenient: true` in the manifest.yml allows to leave it out."
)

_REPLY = strict_json.Decoder(Reply, "reply")
_VALIDATION = strict_json.Decoder(ValidationReply, "validation reply")


class Mode(Enum):
    """What the worker is started for."""

    TRANSFORM = "transform"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class Terms:
    """What the binding demands of a conversation. Seconds and bytes."""

    timeout_s: float = 30.0
    line_bytes: int = FRAME_LIMIT
    lenient: bool = False  # a reply may be without `per_file`


class EnvelopeSession(Conversation[State, Said]):
    """One worker, from its start to its exit."""

    __slots__ = (
        "_lines",
        "_terms",
        "_until",
        "delivered",
        "exit",
        "fault",
        "mode",
        "reply",
        "validation",
    )

    def __init__(self, mode: Mode, terms: Terms, now: float) -> None:
        super().__init__(INITIAL, TRANSITIONS, now)
        self.mode = mode
        self.reply: Reply | None = None
        self.validation: ValidationReply | None = None
        self.fault: Fault | None = None
        self.exit: ExitStatus | None = None
        self.delivered = False  # the request was written whole; nobody can tell whether it was read
        self._terms = terms
        self._until: float | None = None
        self._lines = lines.LineDecoder(terms.line_bytes)

    # What the host does

    def tell(self, line: bytes, now: float) -> None:
        """Send the request, an encoded line, and end the worker's input. Raises LocalProtocolError for a second one.

        A worker that has failed already fails the request too: its fault is the outcome.
        """
        self.note_time(now)
        if self.state is State.STARTED and self._lines.pending:
            self._fail(FailureCode.MALFORMED_RESPONSE, UNASKED)
        if self.state is State.FAILED:
            return
        self._advance(Speaker.HOST, Said.REQUEST)
        self.marks["called"] = now
        self._until = now + self._terms.timeout_s
        self._say(line)
        self._events.append(InputEnded())

    def retire(self) -> None:
        """Let a worker go that was told nothing: not an error, whatever it does now."""
        if self.state is State.STARTED:
            self._advance(Speaker.HOST, Said.GOODBYE)
            self._events.append(EndWanted(Rung.KILL))  # it has done nothing yet that would need care

    # What happens to it

    def receive_data(self, data: bytes, channel: Channel) -> None:
        if channel is Channel.STDOUT and self.state in (State.STARTED, State.WORKING, State.ANSWERED):
            self._lines.receive_data(data)
            self._read_lines()

    def receive_eof(self, channel: Channel) -> None:
        if channel is Channel.STDOUT and self.state in (State.STARTED, State.WORKING, State.ANSWERED):
            self._lines.receive_eof()
            self._read_lines()

    def receive_exit(self, status: ExitStatus) -> None:
        self.exit = status
        self.marks.setdefault("exited", self._now)
        match self.state:
            case State.STARTED | State.WORKING:
                self._judge_silence(status)
            case State.ANSWERED:
                self._judge_pair(status)
            case State.RETIRING:
                self._advance(Speaker.PLUGIN, Said.EXIT)
            case State.CLOSED | State.FAILED:
                pass
            case never:
                assert_never(never)

    def receive_tick(self, now: float) -> None:
        self.note_time(now)
        overdue = self.next_deadline()
        if overdue is not None and self._now >= overdue:
            what = "did not exit" if self.state is State.ANSWERED else "did not finish"
            fixed = self.mode is Mode.VALIDATE
            limit, hint = (None, VALIDATION_HINT) if fixed else (TIME_LIMIT, TIME_HINT)
            self._fail(FailureCode.TIMEOUT, f"it {what} within its time", limit, hint)

    def receive_broken_pipe(self) -> None:
        pass  # it may know without reading: its exit decides

    def receive_sent(self) -> None:
        if self.state is not State.STARTED:
            self.delivered = True
            self.marks["delivered"] = self._now

    # What it asks for

    def next_deadline(self) -> float | None:
        return self._until if self.state in (State.WORKING, State.ANSWERED) else None

    @property
    def settled(self) -> bool:
        return self.state in (State.CLOSED, State.FAILED)

    @property
    def stage(self) -> Stage:
        """How far the conversation has come."""
        match self.state:
            case State.STARTED | State.RETIRING:
                return Stage.IDLE
            case State.WORKING:
                return Stage.EXECUTE
            case State.ANSWERED | State.CLOSED:
                return Stage.TEARDOWN
            case State.FAILED:
                return self.fault.stage if self.fault is not None else Stage.LAUNCH
            case never:
                assert_never(never)

    @property
    def timings_ms(self) -> dict[str, float]:
        """How long the start, the work and the whole of it took."""
        marks = self.marks
        spans = {
            "launch": ("started", "spawned"),
            "work": ("called", "answered" if "answered" in marks else "failed"),
            "total": ("called", "exited"),
        }
        return {
            name: round((marks[end] - marks[start]) * 1000, 3)
            for name, (start, end) in spans.items()
            if start in marks and end in marks
        }

    # Lines

    def _read_lines(self) -> None:
        while self.state in (State.STARTED, State.WORKING, State.ANSWERED):
            try:
                line = self._lines.next_frame()
                if line is None:
                    return
                if line.strip():
                    self._events.append(FramePassed("in", line))
                    self._read_line(line)
            except FrameError as error:
                self._fail(FailureCode.MALFORMED_RESPONSE, str(error), "limits.line_bytes")
            except RemoteProtocolError as error:
                if self._lines.complete:
                    self._fail(FailureCode.MALFORMED_RESPONSE, str(error))
                else:  # the line was cut off by the end of the stream: it died while writing
                    self._fail(FailureCode.CRASHED, "it ended its output in the middle of its envelope")

    def _read_line(self, line: bytes) -> None:
        """Take *line* for the answer, if one is due. Raises RemoteProtocolError if it cannot be decoded."""
        if self.state is State.STARTED:
            self._refuse(UNASKED)
        elif self.state is State.ANSWERED:
            self._refuse("it wrote more than one envelope to stdout")
        else:
            self._take(line)

    def _take(self, line: bytes) -> None:
        if self.mode is Mode.VALIDATE:
            validation = _VALIDATION.decode(line)
            if validation.errors is None and validation.result is None:
                self._refuse("validation reply: it has no `errors`")
                return
            self.validation = validation
        else:
            reply = _REPLY.decode(line)
            if problem := _flaw_in(reply):
                self._refuse(f"reply: {problem}")
                return
            if not self._terms.lenient and lacks_reports(reply):
                self._refuse(f"reply: it says {reply.result!r} and has no `per_file`", REPORTS_HINT)
                return
            self.reply = reply
        self.marks["answered"] = self._now
        self._advance(Speaker.PLUGIN, Said.REPLY)

    def _refuse(self, problem: str, hint: str | None = None) -> None:
        self._fail(FailureCode.MALFORMED_RESPONSE, problem, hint=hint)

    # The pair

    def _judge_silence(self, status: ExitStatus) -> None:
        """It has ended and said nothing that could be understood."""
        if self.state is State.STARTED:
            self._fail(FailureCode.CRASHED, f"it ended with {status.meaning} before it was told anything")
        elif status.code == EXIT_UNCAUGHT:
            self._fail(FailureCode.CRASHED, "an exception that it did not catch (exit status 3)")
        elif status.code == EXIT_TIMEOUT:
            self._fail(FailureCode.CRASHED, "it exited with status 124, which is the host's alone to give")
        else:
            self._fail(FailureCode.CRASHED, f"it ended with {status.meaning} and without an envelope")

    def _judge_pair(self, status: ExitStatus) -> None:
        result: str = self.reply.result if self.reply is not None else "success"
        if self.validation is not None and self.validation.errors is None:  # it knows no modes
            result = self.validation.result or "success"
        if status.code == _EXITS.get(result):
            self._advance(Speaker.PLUGIN, Said.EXIT)
        elif status.code in _EXITS.values():
            self._fail(
                FailureCode.MALFORMED_RESPONSE,
                f"its envelope says {result!r}, but it ended with {status.meaning}",
            )
        else:
            self._fail(
                FailureCode.CRASHED, f"its envelope says {result!r}, then it ended with {status.meaning}"
            )

    # Moves

    def _fail(
        self, code: FailureCode, message: str, limit: str | None = None, hint: str | None = None
    ) -> None:
        self.marks["failed"] = self._now
        self.fault = Fault(code, self.stage, message, limit, hint)
        self._advance(Speaker.PLUGIN, Said.FAULT)
        # One that broke off may be about to exit: it gets the time to, and its exit status tells why.
        self._events.append(EndWanted(Rung.CLOSE_STDIN if code is FailureCode.CRASHED else Rung.TERMINATE))


def lacks_reports(reply: Reply) -> bool:
    """Tell whether *reply* is without the `per_file` that it needs. One that failed needs none."""
    return reply.per_file is UNSET and reply.result in _REPORTING


def _flaw_in(reply: Reply) -> str | None:
    """Return what is wrong with an envelope by itself, or None."""
    if reply.result == "timeout":
        return "it says 'timeout', which is the host's alone to say"
    if (reply.result == "input_required") != (reply.input_required is not None):
        return f"it says {reply.result!r}, and its `input_required` does not fit that"
    if reply.input_required is not None:
        return prompts.flaw(reply.input_required)
    return None
