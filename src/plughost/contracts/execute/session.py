"""The `execute` conversation with no I/O: which line means what, which deadline runs, which code a fault gets.

Theory of operation. A session outlives its outcome: after an answer or a fault it asks for the process to
be brought down and is told of the exit, which may still turn an "ok" into `crashed`. So `settled` means
that nothing can change the outcome any more, and the driver reports only then. A spare is a session
without a request; giving it one is all there is to taking it. The checks stand in the order of SPEC.md,
because the first one that fails names the failure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, assert_never

from plughost_sdk.frames import lines
from plughost_sdk.frames.errors import FrameError

from ...autopsy import CALLERS_LIMIT, ExitStatus
from ...capabilities import allow_list
from ...errors import LocalProtocolError, RemoteProtocolError
from ...failures import FailureCode, Stage
from ...messages import strict_json
from ...messages.quoting import listed, quote
from ..base import Channel, EndWanted, Fault, FramePassed, HandshakeDone, Rung
from ..conversation import Conversation, Speaker
from .messages import (
    PROTOCOL_VERSION,
    ErrorPayload,
    HandshakeRequest,
    HandshakeResponse,
    Manifest,
    Request,
    Response,
)
from .states import INITIAL, TRANSITIONS, Said, State

USUAL_CONTEXT = ("workspace_id", "widget_id", "repo_root", "role_id", "mode_id")  # left out when empty
TRAILING_LIMIT = 65_536  # bytes after the answer that are counted before we stop caring how many more come

_HANDSHAKE_RESPONSE = strict_json.Decoder(HandshakeResponse, "handshake response")
_RESPONSE = strict_json.Decoder(Response, "response")
# Always the same short line, so it is sent whatever the binding's limit for lines.
_HANDSHAKE_REQUEST = strict_json.encode(HandshakeRequest(), "handshake request") + lines.LF


@dataclass(frozen=True, slots=True)
class Terms:
    """What the binding demands of a conversation. Seconds and bytes."""

    name: str = ""  # the bound name; empty accepts any
    allow: tuple[str, ...] = ()
    timeout_s: float = 5.0
    handshake_s: float = 2.0
    teardown_s: float = 0.5
    line_bytes: int = 1_048_576
    strict: bool = False
    bare: bool = False  # bound by a command line: no file says what is allowed


@dataclass(frozen=True, slots=True)
class Call:
    """A request, encoded and within the limit before a process is started for it."""

    tool: str
    request_id: str
    line: bytes


def prepare(tool: str, input: Any, context: dict[str, Any], request_id: str, line_bytes: int) -> Call:
    """Return the request as a line ready to send. Raises LocalProtocolError if it cannot be sent."""
    if not tool.strip():
        raise LocalProtocolError("a call needs the name of a tool")
    said = {key: value for key, value in context.items() if key not in USUAL_CONTEXT or value}
    body = strict_json.encode(Request(request_id, tool, said, input), "request")
    try:
        return Call(tool, request_id, lines.encode(body, line_bytes))
    except FrameError as error:
        raise LocalProtocolError(f"the request cannot be sent: {error}") from error


@dataclass(frozen=True, slots=True)
class Answer:
    """What the plugin answered: an output, or an error of its own."""

    output: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    error: ErrorPayload | None = None


class ExecuteSession(Conversation[State, Said]):
    """One process of the `execute` contract, from its start to its exit."""

    __slots__ = (
        "_call",
        "_handshake_until",
        "_invocation_until",
        "_limit",
        "_lines",
        "_sending_request",
        "_teardown_until",
        "_terms",
        "answer",
        "delivered",
        "fault",
        "manifest",
        "trailing",
    )

    def __init__(self, terms: Terms, now: float) -> None:
        super().__init__(INITIAL, TRANSITIONS, now)
        self.manifest: Manifest | None = None
        self.answer: Answer | None = None
        self.fault: Fault | None = None
        self.delivered = False
        self.trailing = 0  # bytes on stdout after the answer
        self._terms = terms
        self._lines = lines.LineDecoder(terms.line_bytes)
        self._sending_request = False
        self._call: Call | None = None
        self._handshake_until: float | None = None
        self._teardown_until: float | None = None
        self._invocation_until: float | None = None
        self._limit = "limits.timeout_s"  # what sets the time for the call

    # What the host does

    def begin(self) -> None:
        """Say hello."""
        self._advance(Speaker.HOST, Said.HANDSHAKE)
        self._handshake_until = self._now + self._terms.handshake_s
        self._say(_HANDSHAKE_REQUEST)

    def execute(self, call: Call, now: float, timeout_s: float | None = None) -> None:
        """Send *call* as soon as the handshake is done. Raises LocalProtocolError for a second one.

        A process that has failed already fails the call too: its fault is the outcome.
        """
        if self._call is not None or self.state not in (
            State.STARTED,
            State.HANDSHAKING,
            State.READY,
            State.FAILED,
        ):
            raise LocalProtocolError(f"a process serves one call; this one is {self.state.value}")
        self.note_time(now)
        self._call = call
        if timeout_s is not None:  # to raise the binding's would not help this caller
            self._limit = CALLERS_LIMIT
        self._invocation_until = now + (self._terms.timeout_s if timeout_s is None else timeout_s)
        self.marks["called"] = now
        if self.state is State.READY:
            self._request()

    def retire(self) -> None:
        """Let a process go that has no call: not an error, whatever it does now.

        Raises LocalProtocolError if it has one that is not answered yet.
        """
        if self.state in (State.HANDSHAKING, State.READY):
            if self._call is not None:
                raise LocalProtocolError("a process that has a call cannot be let go")
            self._advance(Speaker.HOST, Said.GOODBYE)
            self._want_end(Rung.CLOSE_STDIN)

    # What happens to it

    def receive_data(self, data: bytes, channel: Channel) -> None:
        if channel is not Channel.STDOUT:
            return
        match self.state:
            case State.STARTED | State.HANDSHAKING | State.READY | State.EXECUTING:
                self._lines.receive_data(data)
                self._read_lines()
            case State.ANSWERED:
                self._note_trailing(len(data))
            case State.RETIRING | State.CLOSED | State.FAILED:
                pass  # nobody listens any more
            case never:
                assert_never(never)

    def receive_eof(self, channel: Channel) -> None:
        if channel is not Channel.STDOUT or self.state not in (
            State.HANDSHAKING,
            State.READY,
            State.EXECUTING,
        ):
            return
        self._lines.receive_eof()
        self._read_lines()
        if self.state in (State.HANDSHAKING, State.READY, State.EXECUTING):
            self._fail(FailureCode.CRASHED, f"it ended its output {self._while()}")

    def receive_exit(self, status: ExitStatus) -> None:
        self.marks.setdefault("exited", self._now)
        match self.state:
            case State.STARTED | State.HANDSHAKING | State.READY | State.EXECUTING:
                self._fail(FailureCode.CRASHED, f"it ended with {status.meaning} {self._while()}")
            case State.ANSWERED:
                self._judge_exit(status)
            case State.RETIRING:
                self._advance(Speaker.PLUGIN, Said.EXIT)
            case State.CLOSED | State.FAILED:
                pass
            case never:
                assert_never(never)

    def receive_tick(self, now: float) -> None:
        self.note_time(now)
        overdue = self.next_deadline()  # the earliest: a late tick finds what a punctual one would have
        if overdue is None or self._now < overdue:
            return
        if overdue == self._invocation_until:
            what = "did not exit" if self.state is State.ANSWERED else "did not answer"
            self._fail(FailureCode.TIMEOUT, f"it {what} within the time for a call", self._limit)
        elif overdue == self._handshake_until:
            self._fail(FailureCode.TIMEOUT, "it did not shake hands in time", "limits.handshake_s")
        else:
            self._fail(FailureCode.CRASHED, "it answered but did not exit", "limits.teardown_s")

    def receive_broken_pipe(self) -> None:
        if self.state in (State.HANDSHAKING, State.READY, State.EXECUTING):
            self._fail(FailureCode.CRASHED, f"it closed its input {self._while()}")

    def receive_sent(self) -> None:
        if self._sending_request:
            self.delivered = True
            self.marks["delivered"] = self._now
        self._sending_request = False

    # What it asks for

    def next_deadline(self) -> float | None:
        if self.state in (State.CLOSED, State.FAILED, State.RETIRING):
            return None
        until = (self._invocation_until, self._handshake_until, self._teardown_until)
        return min((at for at in until if at is not None), default=None)

    @property
    def settled(self) -> bool:
        return self.state in (State.CLOSED, State.FAILED)

    @property
    def stage(self) -> Stage:
        """How far the conversation has come."""
        match self.state:
            case State.STARTED:
                return Stage.LAUNCH
            case State.HANDSHAKING:
                return Stage.HANDSHAKE
            case State.READY | State.RETIRING:
                return Stage.IDLE
            case State.EXECUTING:
                return Stage.EXECUTE
            case State.ANSWERED | State.CLOSED:
                return Stage.TEARDOWN
            case State.FAILED:
                return self.fault.stage if self.fault is not None else Stage.LAUNCH
            case never:
                assert_never(never)

    # Lines

    def _read_lines(self) -> None:
        while self.state in (State.HANDSHAKING, State.READY, State.EXECUTING):
            try:
                line = self._lines.next_frame()
                if line is None:
                    return
                self._events.append(FramePassed("in", line))
                self._read_line(line)
            except FrameError as error:
                self._fail(FailureCode.MALFORMED_RESPONSE, str(error), "limits.line_bytes")
            except RemoteProtocolError as error:
                if self._lines.complete:
                    self._fail(FailureCode.MALFORMED_RESPONSE, str(error))
                else:  # the line was cut off by the end of the stream: it died while writing
                    self._fail(FailureCode.CRASHED, "it ended its output in the middle of a line")
        if self.state is State.ANSWERED and self._lines.pending:
            self._note_trailing(self._lines.pending)

    def _read_line(self, line: bytes) -> None:
        if not line.strip():
            raise RemoteProtocolError(f"an empty line {self._while()}")
        match self.state:
            case State.HANDSHAKING:
                self._read_handshake(_HANDSHAKE_RESPONSE.decode(line))
            case State.READY:
                raise RemoteProtocolError("a line that nobody asked for, before any request")
            case _:
                self._read_response(_RESPONSE.decode(line))

    def _read_handshake(self, reply: HandshakeResponse) -> None:
        fault = self._flaw_of(reply)
        if fault is not None:
            self._fail(fault[0], fault[1])
            return
        assert reply.manifest is not None
        refusal = allow_list.judge(self._terms.allow, reply.manifest.capabilities)
        if refusal is not None:
            self._fail(refusal.code, refusal.message, hint=refusal.bare_hint if self._terms.bare else None)
            return
        self.manifest = reply.manifest
        self._handshake_until = None
        self.marks["shaken"] = self._now
        self._advance(Speaker.PLUGIN, Said.HANDSHAKE)
        self._events.append(HandshakeDone(self.manifest.plugin_id, self.manifest.plugin_version))
        if self._call is not None:
            self._request()

    def _flaw_of(self, reply: HandshakeResponse) -> tuple[FailureCode, str] | None:
        """Return the first thing wrong with a handshake but its capabilities, in the order of SPEC.md, or None."""
        if reply.type != "handshake":
            return (
                FailureCode.HANDSHAKE_FAILED,
                f'the reply\'s type is {quote(reply.type)}, not "handshake"',
            )
        manifest = reply.manifest
        if manifest is None:
            return FailureCode.HANDSHAKE_FAILED, "its reply has no manifest"
        if manifest.protocol_version != PROTOCOL_VERSION:
            return (
                FailureCode.PROTOCOL_VERSION_MISMATCH,
                f"it speaks {quote(manifest.protocol_version or 'no version')}, this host {PROTOCOL_VERSION!r}",
            )
        for field_name in ("plugin_id", "plugin_version"):
            if not getattr(manifest, field_name).strip():
                return FailureCode.HANDSHAKE_FAILED, f"its manifest has no {field_name}"
        if not manifest.exposed_tools:
            return FailureCode.HANDSHAKE_FAILED, "its manifest exposes no tools"
        if self._terms.name and manifest.plugin_id != self._terms.name:
            return (
                FailureCode.HANDSHAKE_FAILED,
                f"it calls itself {quote(manifest.plugin_id)}, the binding calls it {self._terms.name!r}",
            )
        return None if self._call is None else self._unexposed(self._call.tool, manifest)

    def _unexposed(self, tool: str, manifest: Manifest) -> tuple[FailureCode, str] | None:
        tools = manifest.exposed_tools or ()
        if tool in tools:
            return None
        return FailureCode.TOOL_NOT_EXPOSED, f"it has no tool {quote(tool)}; it has {listed(tools)}"

    def _read_response(self, response: Response) -> None:
        problem = self._flaw_in(response)
        if problem is not None:
            self._fail(FailureCode.MALFORMED_RESPONSE, f"response: {problem}")
            return
        error = response.error if isinstance(response.error, ErrorPayload) else None
        self.answer = Answer(response.output, response.metadata or {}, error)
        self.marks["answered"] = self._now
        self._advance(Speaker.PLUGIN, Said.RESPONSE)
        if error is not None:
            self._invocation_until = (
                None  # answered: its own error ends it at once, nothing can be late any more
            )
            self._want_end(Rung.TERMINATE)
        else:
            self._teardown_until = self._now + self._terms.teardown_s
            self._want_end(Rung.CLOSE_STDIN)

    def _flaw_in(self, response: Response) -> str | None:
        """Return the first thing wrong with a response, or None."""
        assert self._call is not None
        failed = isinstance(response.error, ErrorPayload)
        if response.type != "response":
            return f'its type is {quote(response.type)}, not "response"'
        if response.request_id != self._call.request_id:
            return f"its request_id is {quote(response.request_id)}, not {self._call.request_id!r}"
        if response.status not in ("ok", "error"):
            return f'its status is {quote(response.status)}, neither "ok" nor "error"'
        if response.status == "ok" and failed:
            return 'its status is "ok", but it carries an error'
        if response.status == "error" and not (
            isinstance(response.error, ErrorPayload) and response.error.message.strip()
        ):
            return 'its status is "error", but it carries no error message'
        return None

    # Moves

    def _request(self) -> None:
        assert self._call is not None
        assert self.manifest is not None
        flaw = self._unexposed(self._call.tool, self.manifest)
        if flaw is not None:  # a spare, shaken hands with before anyone knew the tool
            self._fail(flaw[0], flaw[1], stage=Stage.HANDSHAKE)
            return
        self._advance(Speaker.HOST, Said.REQUEST)
        self._sending_request = True
        self._say(self._call.line)

    def _judge_exit(self, status: ExitStatus) -> None:
        if self.answer is not None and self.answer.error is None and not status.ok:
            self._fail(FailureCode.CRASHED, f"it answered, then ended with {status.meaning}")
        elif self.trailing and self._terms.strict:
            self._fail(FailureCode.MALFORMED_RESPONSE, f"{self.trailing} bytes on stdout after the answer")
        else:
            self._advance(Speaker.PLUGIN, Said.EXIT)

    def _note_trailing(self, count: int) -> None:
        self.trailing = min(self.trailing + count, TRAILING_LIMIT)
        self._advance(Speaker.PLUGIN, Said.MORE)

    def _want_end(self, rung: Rung) -> None:
        self._events.append(EndWanted(rung))

    def _while(self) -> str:
        match self.state:
            case State.HANDSHAKING:
                return "before it had shaken hands"
            case State.READY:
                return "while it waited for a request"
            case _:
                return "before it had answered"

    def _fail(
        self,
        code: FailureCode,
        message: str,
        limit: str | None = None,
        *,
        stage: Stage | None = None,
        hint: str | None = None,
    ) -> None:
        self.marks["failed"] = self._now
        self.fault = Fault(code, stage or self.stage, message, limit, hint, when=self._while())
        self._advance(Speaker.PLUGIN, Said.FAULT)
        # One that ended its output may be about to exit: it gets the time to, and its exit status tells why.
        exiting = code is FailureCode.CRASHED and limit is None
        self._want_end(Rung.CLOSE_STDIN if exiting else Rung.TERMINATE)
