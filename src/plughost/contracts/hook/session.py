"""The `hook` conversation with no I/O: which frame is due, which deadline runs, which code a fault gets.

Theory of operation. Frames carry no name: what one means follows from its place alone, and one frame too many
would shift everything after it. So there is one request under way at a time, its result is checked to be of the
kind that is due, and any byte that comes when none is due ends the conversation, also one that comes together
with a result. A plugin that knows which phases it will be asked for says so when it introduces itself; one that
does not expects Plan and Generate in turns. `rounds` keeps the place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from google.protobuf.message import EncodeError, Message
from plughost_sdk import hook_messages as wire
from plughost_sdk.frames import length_prefix
from plughost_sdk.frames.errors import FrameError, FrameTooLarge, TruncatedFrame

from ...autopsy import CALLERS_LIMIT, ExitStatus
from ...capabilities import allow_list
from ...errors import LocalProtocolError, RemoteProtocolError
from ...failures import FailureCode, Stage
from ...messages import protobuf
from ...messages.quoting import quote
from ..base import Channel, EndWanted, Fault, FramePassed, HandshakeDone, Rung
from ..conversation import Conversation, Speaker
from . import rounds
from .messages import EXCHANGES, FRAME_BYTES, PROTOCOL, Phase
from .states import INITIAL, TRANSITIONS, Said, State

HEAD_BYTES = 400  # of a chunk that is no frame, kept to be shown
UNSHOWN = "…"  # in place of the value of a variable
WORD_LIMIT = 200  # characters of a name, version or capability: they stand in sentences
WORDS_LIMIT = 1_000  # of one list of capabilities
_CHECK = "`plughost check` tells which clause of the contract it breaks."
_SLIPPED = f"Answer each request with the result of its phase, in the order of the round. {_CHECK}"
_GENERATE_ONLY = (
    'A provider that knows Generate alone is asked for that by `[hook] phases = ["generate"]` in its binding, or by '
    f"`--phases generate`. {_CHECK}"
)
_UNFRAMED = f"Write the length of each message before it, as four bytes, big-endian. {_CHECK}"
_EXPECTING = (State.HANDSHAKING, State.ASKED)
_ALIVE = (State.HANDSHAKING, State.READY, State.ASKED)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the binding demands of a conversation. Seconds and bytes."""

    name: str = ""  # the bound name; empty accepts any
    allow: tuple[str, ...] | None = ()  # None: there is no list, anything well-formed goes
    phases: tuple[Phase, ...] = ()  # asked for in this order; empty: as the plugin declares, or as usual
    version: str = ""  # of this host
    env: dict[str, str] = field(default_factory=dict)
    handshake_s: float = 5.0
    timeout_s: float = 30.0  # for each hook, from the request's first byte to the result's last
    frame_bytes: int = FRAME_BYTES
    bare: bool = False  # bound by a command line: no file says what is allowed


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, encoded and within the limit before anything is sent."""

    phase: Phase
    frame: bytes


def encode(message: Message, what: str, frame_bytes: int = FRAME_BYTES) -> bytes:
    """Return *message* as a frame. Raises LocalProtocolError if it cannot be sent."""
    try:
        return length_prefix.encode(message.SerializeToString(deterministic=True), frame_bytes)
    except FrameTooLarge as error:
        raise LocalProtocolError(f"the {what} cannot be sent: {error}") from error
    except (EncodeError, ValueError) as error:  # over 2 GiB, or half a surrogate pair in a text
        raise LocalProtocolError(f"the {what} cannot be encoded: {error}") from error


def prepare(phase: Phase, request: Message, frame_bytes: int = FRAME_BYTES) -> Ask:
    """Return *request* as a frame ready to send. Raises LocalProtocolError for one of another phase, or too long."""
    kind = EXCHANGES[phase].request
    if not isinstance(request, kind):
        raise LocalProtocolError(f"{phase} takes a {kind.DESCRIPTOR.name}, not a {type(request).__name__}")
    return Ask(phase, encode(request, f"{phase} request", frame_bytes))


class HookSession(Conversation[State, Said]):
    """One process of the `hook` contract, from its start to its exit."""

    __slots__ = (
        "_asked",
        "_frames",
        "_head",
        "_hello",
        "_limit",
        "_sending",
        "_terms",
        "_until",
        "delivered",
        "fault",
        "generate_only",
        "info",
        "place",
        "result",
    )

    def __init__(self, terms: Terms, now: float) -> None:
        super().__init__(INITIAL, TRANSITIONS, now)
        self.info: wire.PluginInfo | None = None
        self.place: rounds.Place | None = None  # known once it has introduced itself
        self.result: Message | None = None  # of the last request
        self.fault: Fault | None = None
        self.delivered = False  # the last request
        self.generate_only = False  # it took a PlanRequest for a GenerateRequest: it knows no other
        self._terms = terms
        greeting = wire.Hello(core_protocol=PROTOCOL, core_version=terms.version, env=terms.env)
        self._hello = encode(greeting, "greeting")
        self._frames = length_prefix.LengthPrefixDecoder(terms.frame_bytes)
        self._asked: Phase | None = None
        self._until: float | None = None
        self._limit = ""  # what sets the time for the request
        self._sending = False
        self._head = b""

    # What the host does

    def begin(self) -> None:
        """Say hello."""
        self._advance(Speaker.HOST, Said.HELLO)
        self._until = self._now + self._terms.handshake_s
        # Whoever watches, and the autopsy, is shown the names of variables: their values may be secrets.
        shown = wire.Hello(
            core_protocol=PROTOCOL,
            core_version=self._terms.version,
            env=dict.fromkeys(self._terms.env, UNSHOWN),
        )
        self._send(self._hello, shown.SerializeToString(deterministic=True))

    def ask(self, ask: Ask, now: float, timeout_s: float | None = None) -> None:
        """Send *ask*, the next phase of the round.

        Raises LocalProtocolError while another is under way, or out of its turn. A process that has failed
        already fails the request too: its fault is the outcome.
        """
        if self.state is State.FAILED:
            self.result = None
            return
        if self.state is not State.READY:
            raise LocalProtocolError(f"one request at a time; this process is {self.state.value}")
        assert self.place is not None
        self.place = self.place.after(ask.phase)
        self.result = None
        self.note_time(now)
        self._advance(Speaker.HOST, Said.REQUEST)
        self._asked = ask.phase
        self._until = now + (self._terms.timeout_s if timeout_s is None else timeout_s)
        self._limit = "limits.timeout_s" if timeout_s is None else CALLERS_LIMIT
        self._sending, self.delivered = True, False
        self.marks["asked"] = now
        self._send(ask.frame)

    def retire(self) -> None:
        """Let a process go that waits for a request: its input is closed, and it has its time to end."""
        if self.state is State.READY:
            self._advance(Speaker.HOST, Said.GOODBYE)
            self.marks["retired"] = self._now
            self._want_end(Rung.CLOSE_STDIN)

    # What happens to it

    def receive_data(self, data: bytes, channel: Channel) -> None:
        if channel is not Channel.STDOUT:
            return
        match self.state:
            case State.STARTED | State.HANDSHAKING | State.ASKED:
                self._head = data[:HEAD_BYTES]
                self._frames.receive_data(data)
                self._read_frame()
            case State.READY | State.RETIRING:
                self._head = data[:HEAD_BYTES]
                self._fail_unasked(len(data))
            case State.CLOSED | State.FAILED:
                pass  # nobody listens any more
            case never:
                assert_never(never)

    def receive_eof(self, channel: Channel) -> None:
        if channel is not Channel.STDOUT or self.state not in _ALIVE:
            return
        self._frames.receive_eof()
        self._read_frame()
        if self.state in _ALIVE:
            self._fail(FailureCode.CRASHED, f"it ended its output {self._while()}")

    def receive_exit(self, status: ExitStatus) -> None:
        self.marks.setdefault("exited", self._now)
        match self.state:
            case State.STARTED | State.HANDSHAKING | State.READY | State.ASKED:
                self._fail(FailureCode.CRASHED, f"it ended with {status.meaning} {self._while()}")
            case (
                State.RETIRING
            ):  # its results were whole: how it ends is worth a warning, which the host gives
                self._advance(Speaker.PLUGIN, Said.EXIT)
            case State.CLOSED | State.FAILED:
                pass
            case never:
                assert_never(never)

    def receive_tick(self, now: float) -> None:
        self.note_time(now)
        if self._until is None or self._now < self._until or self.state not in _EXPECTING:
            return
        if self.state is State.HANDSHAKING:
            self._fail(FailureCode.TIMEOUT, "it did not shake hands in time", "limits.handshake_s")
        elif self._frames.pending:
            got = self._frames.pending
            late = f"{got} bytes of its {self._asked} result came, and the rest did not in time"
            self._fail(FailureCode.TIMEOUT, late, self._limit)
        else:
            self._fail(FailureCode.TIMEOUT, f"it did not answer {self._asked} in time", self._limit)

    def receive_broken_pipe(self) -> None:
        if self.state in _ALIVE:
            self._fail(FailureCode.CRASHED, f"it closed its input {self._while()}")

    def receive_sent(self) -> None:
        if self._sending:
            self.delivered = True
        self._sending = False

    # What it asks for

    def next_deadline(self) -> float | None:
        return self._until if self.state in _EXPECTING else None

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
            case State.READY:
                return Stage.IDLE
            case State.ASKED:
                return Stage.EXECUTE
            case State.RETIRING | State.CLOSED:
                return Stage.TEARDOWN
            case State.FAILED:
                return self.fault.stage if self.fault is not None else Stage.LAUNCH
            case never:
                assert_never(never)

    # Frames

    def _read_frame(self) -> None:
        """Read the frame that is due, if it is whole. Nothing may follow it."""
        try:
            frame = self._frames.next_frame()
            if frame is None:
                return
            self._events.append(FramePassed("in", frame))
            if self.state is State.STARTED:
                raise RemoteProtocolError("a frame before it was greeted")
            after = self._frames.pending
            if self.state is State.HANDSHAKING:
                self._read_info(protobuf.decode(wire.PluginInfo, frame, "introduction"))
            elif self.state is State.ASKED:
                self._read_result(frame)
            if after and self.state is State.READY:
                self._fail_unasked(after)
        except TruncatedFrame:
            self._fail(FailureCode.CRASHED, f"it ended its output in the middle of a frame {self._while()}")
        except FrameError as error:
            self._events.append(FramePassed("in", self._head))
            self._fail(
                FailureCode.MALFORMED_RESPONSE,
                f"{error}{_as_text(self._head)}",
                "limits.frame_bytes",
                hint=_stray_text(self._head) or _UNFRAMED,
            )
        except RemoteProtocolError as error:
            slipped = _GENERATE_ONLY if self._asked is Phase.PLAN and self._round_is_assumed else _SLIPPED
            self._fail(FailureCode.MALFORMED_RESPONSE, str(error), hint=slipped)

    def _read_info(self, info: wire.PluginInfo) -> None:
        flaw = self._flaw_of(info)
        if flaw is not None:
            self._fail(flaw[0], flaw[1])
            return
        refusal = self._refusal_of(list(info.capabilities))
        if refusal is not None:
            self._fail(refusal.code, refusal.message, hint=refusal.bare_hint if self._terms.bare else None)
            return
        try:
            self.place = rounds.begin(self._terms.phases, info)
        except RemoteProtocolError as error:
            self._fail(FailureCode.HANDSHAKE_FAILED, str(error))
            return
        self.info = info
        self._until = None
        self.marks["shaken"] = self._now
        self._advance(Speaker.PLUGIN, Said.INFO)
        self._events.append(HandshakeDone(info.name, info.version))

    def _flaw_of(self, info: wire.PluginInfo) -> tuple[FailureCode, str] | None:
        """Return the first thing wrong with an introduction but its capabilities, in the order of SPEC.md, or None."""
        if info.protocol != PROTOCOL:
            return (
                FailureCode.PROTOCOL_VERSION_MISMATCH,
                f"it speaks protocol {info.protocol}, this host {PROTOCOL}",
            )
        if not info.name.strip():
            return FailureCode.HANDSHAKE_FAILED, "it does not say its name"
        if (problem := _too_long(info)) is not None:
            return FailureCode.HANDSHAKE_FAILED, problem
        if self._terms.name and info.name != self._terms.name:
            return (
                FailureCode.HANDSHAKE_FAILED,
                f"it calls itself {quote(info.name)}, the binding calls it {self._terms.name!r}",
            )
        return None

    def _refusal_of(self, declared: list[str]) -> allow_list.Refusal | None:
        return allow_list.judge(declared if self._terms.allow is None else self._terms.allow, declared)

    def _read_result(self, frame: bytes) -> None:
        assert self._asked is not None
        kind = EXCHANGES[self._asked].result
        try:
            result = protobuf.decode(kind, frame, f"{self._asked} result")
        except RemoteProtocolError as error:
            if self._took_it_for_generate(frame):
                self.generate_only = True
                self._settle(wire.PlanResult())
                return
            others = [each.result for each in EXCHANGES.values() if each.result is not kind]
            likely = protobuf.likely_kinds(frame, others)
            guess = f"; it could be a {' or a '.join(likely)}" if likely else ""
            raise RemoteProtocolError(f"{error}{guess}") from error
        if isinstance(result, wire.DetectResult) and not 0.0 <= result.confidence <= 1.0:
            raise RemoteProtocolError(
                f"detect result: a confidence of {result.confidence}, not between 0 and 1"
            )
        self._settle(result)

    def _settle(self, result: Message) -> None:
        self.result = result
        self._until = None
        self.marks["answered"] = self._now
        self._advance(Speaker.PLUGIN, Said.RESULT)

    @property
    def _round_is_assumed(self) -> bool:
        """Whether neither the binding nor the plugin says which phases a round has."""
        return not self._terms.phases and self.info is not None and rounds.declared(self.info) is None

    def _took_it_for_generate(self, frame: bytes) -> bool:
        """Tell whether *frame* answers a PlanRequest as a provider does that knows Generate alone.

        Such a provider was given no schema that it could find, so this answer says nothing: its plan is empty.
        """
        if self._asked is not Phase.PLAN or not self._round_is_assumed:
            return False
        try:
            protobuf.decode(wire.GenerateResult, frame, "generate result")
        except RemoteProtocolError:
            return False
        return True

    # Moves

    def _send(self, frame: bytes, shown: bytes | None = None) -> None:
        self._outgoing.append((Channel.STDIN, frame))
        self._events.append(
            FramePassed("out", frame[length_prefix.HEADER_BYTES :] if shown is None else shown)
        )

    def _want_end(self, rung: Rung) -> None:
        self._events.append(EndWanted(rung))

    def _fail_unasked(self, count: int) -> None:
        when = "while it was let go" if self.state is State.RETIRING else "while nothing was asked of it"
        if self._head:
            self._events.append(FramePassed("in", self._head))
        self._fail(
            FailureCode.MALFORMED_RESPONSE,
            f"it wrote {count} bytes {when}{_as_text(self._head)}",
            hint=_stray_text(self._head) or _SLIPPED,
        )

    def _while(self) -> str:
        match self.state:
            case State.STARTED | State.HANDSHAKING:
                return "before it had shaken hands"
            case State.ASKED:
                return f"before it had answered {self._asked}"
            case _:
                return "while it waited for a request"

    def _fail(
        self, code: FailureCode, message: str, limit: str | None = None, *, hint: str | None = None
    ) -> None:
        self.marks["failed"] = self._now
        if self.generate_only:  # the one answer that it had may be the one that was lost on Plan
            hint = _GENERATE_ONLY
        self.fault = Fault(code, self.stage, message, limit, hint, when=self._while())
        self._advance(Speaker.PLUGIN, Said.FAULT)
        # One that ended its output may be about to exit: it gets the time to, and its exit status tells why.
        exiting = code is FailureCode.CRASHED and limit is None
        self._want_end(Rung.CLOSE_STDIN if exiting else Rung.TERMINATE)


def _too_long(info: wire.PluginInfo) -> str | None:
    """Say what in an introduction is longer than anybody would read, or None."""
    for what, text in (("name", info.name), ("version", info.version)):
        if len(text) > WORD_LIMIT:
            return f"its {what} has over {WORD_LIMIT} characters"
    lists = {
        "capabilities": info.capabilities,
        "requires": info.requires,
        "conflicts_with": info.conflicts_with,
    }
    for what, words in lists.items():
        if len(words) > WORDS_LIMIT:
            return f"its {what} are over {WORDS_LIMIT}"
        if any(len(word) > WORD_LIMIT for word in words):
            return f"one of its {what} has over {WORD_LIMIT} characters"
    return None


def _as_text(head: bytes) -> str:
    """Say what *head* reads as if it is text: a print that went to the wrong place."""
    return f"; they begin with the text {quote(head[:40].decode())}" if _is_text(head[:40]) else ""


def _stray_text(head: bytes) -> str | None:
    if not _is_text(head[:40]):
        return None
    return (
        "It printed to stdout, which carries frames only. Print to stderr; plugins made with plughost-sdk do so "
        "by themselves."
    )


def _is_text(head: bytes) -> bool:
    return len(head) >= 4 and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head)
