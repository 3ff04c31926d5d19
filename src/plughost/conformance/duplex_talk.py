"""One conversation of a check with a `duplex` plugin: calls and tells it, answers it, and keeps what was heard.

Every conversation is a process of its own, spoken to in raw frames, because a session would stop at the first fault
and hide the others. All waiting is bounded, and no process outlives its conversation. It judges single messages;
what they mean together is judged elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Raw, Struct

from ..autopsy import ExitStatus
from ..contracts.duplex.messages import FRAME_BYTES
from ..errors import RemoteProtocolError
from ..manifest.binding import Binding
from ..messages import jsonrpc, strict_json
from ..messages.jsonrpc import LARGEST_ID, NULL
from ..messages.quoting import quote
from ..process.launcher import Launcher
from ..process.stderr import printable
from .duplex_frames import frame, notice, shown
from .duplex_probe import USUAL as USUAL_HEARING
from .duplex_probe import DuplexProbe, Hearing
from .duplex_stub import Serve, answer, usual
from .probe import KILL
from .verdict import Flaw

SHUTDOWN = "plugin/shutdown"
UNREAD_S = 0.5  # for one that does not answer to go, or to read what is still to be written
ENDING_S = 2.0  # for a process that has closed its output to be gone
_MEMBERS = strict_json.Decoder(dict[str, Raw], "message")
_ERROR = strict_json.Decoder(dict[str, Any], "error")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, in seconds: for init, for any other answer, for an exit, and where silence is expected."""

    init_s: float = 10.0
    call_s: float = 10.0
    exit_s: float = 5.0
    quiet_s: float = 0.05


class Answer(Struct, frozen=True):
    """What came for one call: a result, or an error with its code."""

    result: Raw = NULL
    code: int | None = None
    message: str = ""

    @property
    def is_result(self) -> bool:
        return self.code is None


@dataclass(frozen=True, slots=True)
class Call:
    """What the plugin asked or told. *before_init*: it had not answered init yet."""

    method: str
    params: Raw
    is_request: bool
    before_init: bool


class Talk:
    """A conversation. *when* completes a sentence about it, such as "it does not answer, told of an event"."""

    def __init__(
        self,
        launcher: Launcher,
        binding: Binding,
        when: str,
        patience: Patience,
        serve: Serve = usual,
        hearing: Hearing = USUAL_HEARING,
    ) -> None:
        self.when = when
        self.patience = patience
        self.flaws: list[Flaw] = []  # in single messages
        self.calls: list[Call] = []
        self.answers: dict[int, Answer] = {}
        self.is_ready = False  # init is answered
        self.is_hopeless = False  # init was not answered in time: nothing is waited for any more
        self.is_over = False  # its input was ended, or it was killed
        self.was_gone = False  # before that
        self.ping: tuple[str, Any] = ("plugin/plughost-are-you-there", {})  # what it is known to answer
        self.ended: ExitStatus | None = None  # how it ended when its input had; None: it did not, in time
        self.held: list[bytes] | None = None  # answers that are kept back for now
        self._serve = serve
        self._open: dict[int, str] = {}  # our calls that are not answered
        self._strays = 0
        self._theirs: set[int | str] = set()  # ids of its calls that are not answered
        self._last_id = 0
        self.probe = DuplexProbe(launcher, binding, self._hear, hearing)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self.probe.__exit__(kind, error, trace)

    # What is said

    def request(self, method: str, params: Any, id: int | None = None, /, **more: Any) -> tuple[int, bytes]:
        """Return the id and the frame of a call; *more* are members that no contract knows."""
        self._last_id += 1
        mine = self._last_id if id is None else id
        self._open[mine] = method
        body = {"jsonrpc": "2.0", "id": mine, "method": method, "params": params, **more}
        return mine, frame(msgspec.json.encode(body))

    def call(self, method: str, params: Any, id: int | None = None, /, **more: Any) -> Answer | None:
        """Call *method* and return what is answered, or None if nothing is in time."""
        mine, data = self.request(method, params, id, **more)
        self.probe.post(data)
        return self.await_answer(mine)

    def await_answer(self, mine: int, within: float | None = None) -> Answer | None:
        """Return the answer to our call *mine*, or None: none in time, or one that belongs to nothing."""
        strays = self._strays
        patience = self.patience.call_s if within is None else within
        if self.is_hopeless:
            return None
        self.probe.work(lambda: mine in self.answers or self._strays > strays, patience)
        return self.answers.get(mine)

    def tell(self, method: str, params: Any) -> None:
        self.probe.post(notice(method, params))

    def tell_slowly(self, method: str, params: Any) -> None:
        """Tell it, and leave it time to call the host because of that: nothing comes before the answer."""
        self.tell(method, params)
        self.listen()

    def answers_still(self) -> bool:
        """Tell whether it answers a call, of whatever method, and so has read all that came before."""
        return self.call(*self.ping) is not None

    def listen(self, seconds: float | None = None) -> None:
        """Hear what it says while nothing is asked of it."""
        self.probe.work(lambda: self.probe.eof, self.patience.quiet_s if seconds is None else seconds)

    def release(self) -> None:
        """Send the answers that were kept back."""
        for each in self.held or ():
            self.probe.post(each)
        self.held = None

    def hang_up(self, within: float | None = None) -> None:
        """End its input, and see whether it exits; one that owes an answer is not waited for as long."""
        self.probe.work(lambda: self.probe.written, UNREAD_S)
        self._end()
        self.probe.close_stdin()
        usual = min(UNREAD_S, self.patience.exit_s) if self._open else self.patience.exit_s
        self.probe.wait_exit(usual if within is None else within)
        self.ended = self.probe.exit

    def shut_down(self, *, as_request: bool) -> ExitStatus | None:
        """Tell it to shut down. Returns how it ended while its input stays open, or None: it did not in time."""
        self.probe.post(self.request(SHUTDOWN, {})[1] if as_request else notice(SHUTDOWN, {}))
        self.ended = self.probe.wait_exit(self.patience.exit_s)
        return self.ended

    def kill(self) -> None:
        """End it as a crash would."""
        self._end()
        self.probe.is_deaf = True
        self.probe.process.send_signal(KILL)
        self.probe.wait_exit(ENDING_S)
        self.ended = self.probe.exit

    def _end(self) -> None:
        if not self.is_over:
            self.is_over, self.was_gone = True, self.is_gone

    # What is known

    @property
    def is_gone(self) -> bool:
        return self.probe.exit is not None or self.probe.eof

    @property
    def is_broken(self) -> bool:
        """What it writes cannot be read, or is answered to nobody: a missing answer says nothing more."""
        return (
            self.probe.broken is not None or self.probe.flooded or self.probe.pending > 0 or bool(self.flaws)
        )

    @property
    def ending(self) -> str:
        """How it is with the process, with its last words."""
        if self.probe.eof and self.probe.exit is None:
            self.probe.wait_exit(ENDING_S)
        status = self.probe.exit if self.was_gone or not self.is_over else None  # and not what we made of it
        ended = f"it ended with {status.meaning}" if status is not None else "it goes on running"
        words = printable(bytes(self.probe.stderr[-2000:])).strip().splitlines()
        return f"{ended}, saying: {words[-1][:200]}" if words else ended

    def called(self, *methods: str) -> list[Call]:
        """Return what it asked or told of *methods*, in order."""
        return [each for each in self.calls if each.method in methods]

    # What is heard

    def _hear(self, body: bytes) -> None:
        try:
            members = _MEMBERS.decode(body)
        except RemoteProtocolError as error:
            self._strays += 1
            self._note("duplex:rpc:version", f"it sends what is no message, {shown(body)}: {error}")
            return
        if members.get("jsonrpc") != Raw(b'"2.0"'):
            self._note("duplex:rpc:version", f'its message does not say "jsonrpc": "2.0": {shown(body)}')
        if "method" in members:
            self._serve_it(members, body)
        else:
            self._take_answer(members, body)

    def _serve_it(self, members: dict[str, Raw], body: bytes) -> None:
        method = _plain(members["method"])
        if not isinstance(method, str):
            self._note("duplex:rpc:version", f"its message has a method that is no text: {shown(body)}")
            return
        params = members.get("params", NULL)
        self.calls.append(Call(method, params, "id" in members, not self.is_ready))
        if "id" not in members:
            return
        theirs = _plain(members["id"])
        if not _is_id(theirs) and not jsonrpc.is_text_id(theirs):
            self._note(
                "duplex:rpc:ids", f"it calls {quote(method)} under the id {shown(bytes(members['id']))}"
            )
            return
        if theirs in self._theirs:
            self._note("duplex:rpc:ids", f"it uses the id {theirs!r} again before it is answered")
        if self.held is None:
            self.probe.post(frame(answer(jsonrpc.Request(theirs, method, params), self._serve)))
        else:
            self._theirs.add(theirs)
            self.held.append(frame(answer(jsonrpc.Request(theirs, method, params), self._serve)))

    def _take_answer(self, members: dict[str, Raw], body: bytes) -> None:
        mine = _plain(members.get("id", NULL))
        method = self._open.pop(mine, None) if _is_id(mine) else None
        if method is None:
            self._strays += 1
            known = _is_id(mine) and mine in self.answers
            why = f"it answers call {mine} twice" if known else "it answers under an id that has no call"
            self._note("duplex:rpc:reply", f"{why}: {shown(body)}")
            return
        if ("result" in members) == ("error" in members):
            which = "a result and an error" if "result" in members else "neither a result nor an error"
            self._note("duplex:rpc:reply", f"its answer to {method} has {which}: {shown(body)}")
        self.answers[mine] = self._read(members, method)

    def _read(self, members: dict[str, Raw], method: str) -> Answer:
        error = members.get("error", NULL)
        if error == NULL:
            return Answer(members.get("result", NULL))
        try:
            said = _ERROR.decode(bytes(error))
        except RemoteProtocolError:
            said = {}
        code, message = said.get("code"), said.get("message")
        if type(code) is not int or not isinstance(message, str):
            self._note("duplex:rpc:reply", f"its error to {method} is none: {shown(bytes(error))}")
            return Answer(code=0)
        return Answer(code=code, message=message)

    def _note(self, clause: str, what: str) -> None:
        if all(each.clause != clause for each in self.flaws):  # one of a kind is enough
            self.flaws.append(Flaw(clause, f"{self.when}: {what}"))


def _plain(raw: Raw) -> Any:
    try:
        return msgspec.json.decode(bytes(raw)) if len(raw) < FRAME_BYTES // 64 else None
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _is_id(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_ID
