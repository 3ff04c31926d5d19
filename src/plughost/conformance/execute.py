"""Every clause of the `execute` contract that a plugin can break, checked against a real process.

A check looks at one or two conversations and returns what is wrong, or None. The conversations are held
once and shared, so a report costs about ten starts of the plugin.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..autopsy import ExitStatus
from ..capabilities import allow_list
from ..contracts.execute.messages import PROTOCOL_VERSION, HandshakeResponse, Manifest, Response
from ..errors import RemoteProtocolError
from ..failures import FailureCode
from ..manifest.binding import Binding
from ..messages import strict_json
from ..process.launcher import Launcher
from ..process.stderr import printable
from .probe import Probe
from .report import Axis, Report, Status
from .requirements import requirements
from .verdict import Skip

REQUEST_ID = "plugin_req_00c0ffee00c0ffee"
QUIET_S = 0.3  # how long a plugin that should be silent is listened to
NO_SUCH_TOOL = "plughost-check-no-such-tool"

_HANDSHAKE = strict_json.Decoder(HandshakeResponse, "handshake")
_RESPONSE = strict_json.Decoder(Response, "response")


@dataclass(slots=True)
class Seen:
    """One conversation, as far as it came."""

    handshake: bytes | None = None
    response: bytes | None = None
    trailing: bytes = b""
    exit: ExitStatus | None = None
    stderr: str = ""
    early: bytes = b""  # written after the handshake, before any request

    @property
    def lines(self) -> list[bytes]:
        return [line for line in (self.handshake, self.response) if line is not None]


class Examination:
    """The conversations that the checks look at, each held when it is first asked for."""

    def __init__(
        self, binding: Binding, launcher: Launcher, tool: str | None, input: Any, *, call: bool = True
    ) -> None:
        self.binding = binding
        self.call = call
        self._launcher = launcher
        self._tool = tool
        self._input = input

    @cached_property
    def ordinary(self) -> Seen:
        return self._converse()

    @cached_property
    def again(self) -> Seen:
        return self._converse(execute=False)

    @cached_property
    def idle(self) -> Seen:
        return self._converse(execute=False, listen=True)

    @cached_property
    def in_pieces(self) -> Seen:
        return self._converse(piece=7)

    @cached_property
    def with_unknown_fields(self) -> Seen:
        extra = {"x_unknown": {"type": "decoy", "tool_name": "decoy", "list": [1, [2, {"a": None}]]}}
        return self._converse(extra=extra)

    @cached_property
    def large(self) -> Seen:
        return self._converse(fill=self.binding.limits.line_bytes)

    @cached_property
    def unknown_tool(self) -> Seen:
        return self._converse(tool=NO_SUCH_TOOL)

    @cached_property
    def cut_off(self) -> Seen:
        """Standard input ends before the handshake."""
        seen = Seen()
        with Probe(self._launcher, self.binding) as probe:
            probe.close_stdin()
            seen.exit = probe.wait_exit(self.binding.limits.handshake_s)
            seen.trailing = probe.rest
        return seen

    @cached_property
    def manifest(self) -> Manifest | None:
        try:
            return _HANDSHAKE.decode(self.ordinary.handshake or b"").manifest
        except RemoteProtocolError:
            return None

    @property
    def tool(self) -> str:
        """The tool to call: the one that was asked for, or the first."""
        tools = self.manifest.exposed_tools if self.manifest is not None else None
        return self._tool or (tools[0] if tools else "")

    def response(self, seen: Seen) -> Response | None:
        try:
            return _RESPONSE.decode(seen.response) if seen.response is not None else None
        except RemoteProtocolError:
            return None

    def _converse(
        self,
        *,
        execute: bool = True,
        listen: bool = False,
        piece: int = 0,
        extra: dict[str, Any] | None = None,
        fill: int = 0,
        tool: str | None = None,
    ) -> Seen:
        limits, seen = self.binding.limits, Seen()
        with Probe(self._launcher, self.binding) as probe:
            hello = {"type": "handshake", "protocol_version": PROTOCOL_VERSION, **(extra or {})}
            probe.send(_line(hello), limits.handshake_s, piece=piece)
            seen.handshake = probe.line(limits.handshake_s)
            if listen:
                seen.early = probe.listen(QUIET_S)
            if execute and self.call and seen.handshake is not None:
                chosen = tool or self._first_tool(seen.handshake)
                probe.send(self._request(chosen, extra or {}, fill), limits.timeout_s, piece=piece)
                seen.response = probe.line(limits.timeout_s)
            probe.close_stdin()  # as the host does, once it has the answer
            slack = 0.0 if seen.response is not None else limits.handshake_s
            seen.exit = probe.wait_exit(limits.teardown_s + slack)
            seen.trailing, seen.stderr = probe.rest, probe.stderr_tail()
        return seen

    def _first_tool(self, handshake: bytes) -> str:
        if self._tool is not None:
            return self._tool
        try:
            manifest = _HANDSHAKE.decode(handshake).manifest
        except RemoteProtocolError:
            return NO_SUCH_TOOL
        return manifest.exposed_tools[0] if manifest is not None and manifest.exposed_tools else NO_SUCH_TOOL

    def _request(self, tool: str, extra: dict[str, Any], fill: int) -> bytes:
        request: dict[str, Any] = {
            "type": "request",
            "request_id": REQUEST_ID,
            "tool_name": tool,
            "context": {"workspace_id": "check", **extra},
            "input": {} if self._input is None else self._input,
            **extra,
        }
        line = _line(request)
        if fill:
            request["context"]["fill"] = "x" * max(0, fill - len(line) - len(',"fill":""') + 1)
            line = _line(request)
        return line


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


# The checks. Each is named after its clause; its answer is what is wrong, None, or why it does not apply.

Verdict = str | Skip | None
CHECKS: dict[str, Callable[[Examination], Verdict]] = {}
NEED_NO_HANDSHAKE = {"execute:handshake:reply", "execute:frame:clean-stdout", "execute:exit:eof"}
JUDGE_THE_HANDSHAKE = {
    "execute:frame:one-object",
    "execute:frame:utf8",
    "execute:frame:limit",
    "execute:handshake:type",
}


def check(clause: str) -> Callable[[Callable[[Examination], Verdict]], Callable[[Examination], Verdict]]:
    """Register a check for *clause*."""

    def register(function: Callable[[Examination], Verdict]) -> Callable[[Examination], Verdict]:
        CHECKS[f"execute:{clause}"] = function
        return function

    return register


@check("handshake:reply")
def _replies(found: Examination) -> Verdict:
    seen = found.ordinary
    if seen.handshake is not None:
        return None
    ended = f"it ended with {seen.exit.meaning}" if seen.exit is not None else "nothing came in time"
    return f"no line came in answer to the handshake: {ended}. {seen.stderr}".strip()


@check("frame:clean-stdout")
def _clean(found: Examination) -> Verdict:
    first = found.ordinary.handshake
    if first is not None and not first.lstrip().startswith(b"{"):
        return f"its first line is {printable(first[:60])!r}, not a protocol line"
    if found.cut_off.trailing:
        return f"it wrote {printable(found.cut_off.trailing[:60])!r} before any handshake was asked for"
    return None


@check("frame:one-object")
def _objects(found: Examination) -> Verdict:
    for line in found.ordinary.lines:
        try:
            if not isinstance(json.loads(line.decode("utf-8", "replace")), dict):
                return f"not an object: {printable(line[:60])!r}"
        except ValueError as error:
            return f"not one JSON object on a line ({error}): {printable(line[:60])!r}"
    return None


@check("frame:utf8")
def _strict(found: Examination) -> Verdict:
    decoders: tuple[strict_json.Decoder[Any], ...] = (_HANDSHAKE, _RESPONSE)
    for line, decoder in zip(found.ordinary.lines, decoders, strict=False):
        try:
            line.decode()
            json.loads(line, parse_constant=_refuse)
        except UnicodeDecodeError as error:
            return f"not UTF-8 at byte {error.start}: {printable(line[:60])!r}"
        except ValueError as error:
            return f"not strict JSON: {error}"
        try:
            decoder.decode(line)
        except RemoteProtocolError as error:
            if "surrogate" in str(error) or "UTF-8" in str(error):
                return str(error)
    return None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


@check("frame:limit")
def _limit(found: Examination) -> Verdict:
    longest = max((len(line) for line in (*found.ordinary.lines, *found.large.lines)), default=0)
    limit = found.binding.limits.line_bytes
    return f"a line of {longest} bytes is over the limit of {limit}" if longest > limit else None


@check("frame:split")
def _split(found: Examination) -> Verdict:
    return _same_answer(found, found.in_pieces, "when its input comes in pieces of seven bytes")


@check("frame:unknown-fields")
def _unknown_fields(found: Examination) -> Verdict:
    return _same_answer(found, found.with_unknown_fields, "when messages hold fields it does not know")


@check("frame:large-request")
def _large(found: Examination) -> Verdict:
    if not found.call:
        return Skip("no tool is to be called")
    if found.large.response is None:
        return f"it does not answer a request line of {found.binding.limits.line_bytes} bytes. {found.large.stderr}"
    return None


def _same_answer(found: Examination, seen: Seen, when: str) -> Verdict:
    if found.call and found.ordinary.response is None:
        return Skip("it does not answer at all")
    if seen.handshake is None:
        return f"it does not shake hands {when}. {seen.stderr}".strip()
    if found.call and found.ordinary.response is not None and seen.response is None:
        return f"it does not answer {when}. {seen.stderr}".strip()
    before, after = found.response(found.ordinary), found.response(seen)
    if before is not None and after is not None and before.status != after.status:
        return f'it answers "{before.status}" usually, and "{after.status}" {when}'
    return None


@check("handshake:type")
def _type(found: Examination) -> Verdict:
    try:
        kind = _HANDSHAKE.decode(found.ordinary.handshake or b"").type
    except RemoteProtocolError as error:
        return str(error)
    return None if kind == "handshake" else f"the reply's type is {kind!r}"


@check("handshake:version")
def _version(found: Examination) -> Verdict:
    version = found.manifest.protocol_version if found.manifest else ""
    return None if version == PROTOCOL_VERSION else f"it says {version!r}, asked for {PROTOCOL_VERSION!r}"


@check("handshake:fields")
def _fields(found: Examination) -> Verdict:
    manifest = found.manifest or Manifest()
    for name in ("plugin_id", "plugin_version"):
        if not getattr(manifest, name).strip():
            return f"{name} is missing or empty"
    tools = manifest.exposed_tools or ()
    if not tools or not all(tool.strip() for tool in tools):
        return "exposed_tools is missing, empty, or holds an empty name"
    return "a tool is listed twice" if len(set(tools)) != len(tools) else None


@check("handshake:name")
def _name(found: Examination) -> Verdict:
    if not found.binding.name:
        return Skip("a bare command has no bound name")
    name = found.manifest.plugin_id if found.manifest else ""
    return None if name == found.binding.name else f"it says {name!r}, the binding {found.binding.name!r}"


@check("handshake:stable")
def _stable(found: Examination) -> Verdict:
    try:
        again = _HANDSHAKE.decode(found.again.handshake or b"").manifest
    except RemoteProtocolError as error:
        return f"the second start: {error}"
    return None if again == found.manifest else "two starts present different manifests"


@check("handshake:waits")
def _waits(found: Examination) -> Verdict:
    if found.idle.early:
        return f"it wrote {printable(found.idle.early[:60])!r} before any request"
    return None


@check("capabilities:declared")
def _declared(found: Examination) -> Verdict:
    refusal = allow_list.judge(found.binding.allow, found.manifest.capabilities if found.manifest else None)
    return (
        refusal.message
        if refusal is not None and refusal.code is FailureCode.CAPABILITY_NOT_DECLARED
        else None
    )


@check("capabilities:subset")
def _subset(found: Examination) -> Verdict:
    refusal = allow_list.judge(found.binding.allow, found.manifest.capabilities if found.manifest else None)
    return (
        refusal.message
        if refusal is not None and refusal.code is FailureCode.CAPABILITY_NOT_ALLOWED
        else None
    )


@check("response:reply")
def _answers(found: Examination) -> Verdict:
    if not found.call:
        return Skip("no tool is to be called")
    if found.ordinary.response is not None:
        return None
    ended = found.ordinary.exit.meaning if found.ordinary.exit else "still running"
    return f"no answer to a request for {found.tool!r} ({ended}). {found.ordinary.stderr}".strip()


def _response_check(judge: Callable[[Response], str | None]) -> Callable[[Examination], Verdict]:
    def run(found: Examination) -> Verdict:
        if not found.call:
            return Skip("no tool is to be called")
        if found.ordinary.response is None:
            return Skip("there was no response")
        try:
            return judge(_RESPONSE.decode(found.ordinary.response))
        except RemoteProtocolError as error:
            return str(error)

    return run


CHECKS["execute:response:type"] = _response_check(
    lambda response: None if response.type == "response" else f"its type is {response.type!r}"
)
CHECKS["execute:response:id"] = _response_check(
    lambda response: None if response.request_id == REQUEST_ID else f"it says {response.request_id!r}"
)
CHECKS["execute:response:status"] = _response_check(
    lambda response: None if response.status in ("ok", "error") else f"it says {response.status!r}"
)


@_response_check
def _consistent(response: Response) -> str | None:
    message = getattr(response.error, "message", None)
    if response.status == "ok" and message is not None:
        return 'an "ok" carries an error'
    if response.status == "error" and not (message or "").strip():
        return 'an "error" carries no message'
    return None


CHECKS["execute:response:consistent"] = _consistent


@check("response:unknown-tool")
def _unknown_tool(found: Examination) -> Verdict:
    if not found.call:
        return Skip("no tool is to be called")
    if found.response(found.unknown_tool) is not None:
        return None
    return f"it does not answer a request for a tool it does not have. {found.unknown_tool.stderr}".strip()


@check("response:once")
def _once(found: Examination) -> Verdict:
    if found.ordinary.response is None:
        return Skip("there was no response")
    trailing = found.ordinary.trailing
    return f"after the response it wrote {printable(trailing[:60])!r}" if trailing else None


@check("exit:zero")
def _exit(found: Examination) -> Verdict:
    response = found.response(found.ordinary)
    if response is None or response.status != "ok":
        return Skip(f'{found.tool!r} did not answer "ok"; name a call that does with --tool and --input')
    if found.ordinary.exit is None:
        return f"it did not exit within {found.binding.limits.teardown_s:g} s of its answer"
    return None if found.ordinary.exit.ok else f'it ended with {found.ordinary.exit.meaning} after an "ok"'


@check("exit:eof")
def _eof(found: Examination) -> Verdict:
    if found.cut_off.exit is None:
        return "its input ended before the handshake, and it went on running"
    if found.idle.handshake is not None and found.idle.exit is None:
        return "its input ended while it waited for a request, and it went on running"
    return None


def _missing(found: Examination, clause: str) -> str | None:
    """Say which earlier step a clause needs and did not get, or None."""
    if clause in NEED_NO_HANDSHAKE:
        return None
    if found.ordinary.handshake is None:
        return "it needs a handshake, and there was none"
    if found.manifest is None and clause not in JUDGE_THE_HANDSHAKE:
        return "it needs a handshake that can be read"
    return None


def examine(found: Examination) -> Report:
    """Run every check and return the report."""
    axes = []
    for clause in requirements("execute").values():
        if clause.side != "plugin":
            continue
        missing = _missing(found, clause.id)
        if missing is not None:
            axes.append(Axis(clause.id, clause.says, Status.SKIPPED, missing))
            continue
        match CHECKS[clause.id](found):
            case Skip(reason):
                axes.append(Axis(clause.id, clause.says, Status.SKIPPED, reason))
            case None:
                axes.append(Axis(clause.id, clause.says, Status.PASSED))
            case problem:
                axes.append(Axis(clause.id, clause.says, Status.FAILED, problem))
    name = found.binding.name or (found.manifest.plugin_id if found.manifest else "") or "plugin"
    return Report("execute", name, tuple(axes))
