"""The host's verbs over a `duplex` session: what it asks, what a binding demands, what an outcome means to a caller.

It neither starts nor waits for anything: drivers do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from msgspec import Raw, Struct, ValidationError

from ...autopsy import CALLERS_LIMIT as CALLERS_LIMIT
from ...errors import LocalProtocolError, ManifestError, RemoteError, RemoteProtocolError
from ...failures import FailureCode, PluginFailure, Stage
from ...manifest.binding import Binding
from ...manifest.duplex_binding import DuplexBinding
from ...messages import jsonrpc, strict_json
from ...messages.jsonrpc import ErrorResponse, Reason
from .. import outcome
from ..base import Evidence, Fault
from .keys import KeyEvent, checked
from .lanes import Bounds
from .messages import (
    ABI_VERSION,
    ActionInvokeResult,
    CliDispatchParams,
    CliDispatchResult,
    HandleKeyParams,
    HostInfo,
    InitParams,
    Invocation,
    RenderParams,
    RenderResult,
    decode,
)
from .parcel import Parcel, parcel
from .screen import Viewport
from .session import DuplexSession
from .terms import Terms

KIND = "plughost"  # what this host calls itself at init
LONGEST_TIMEOUT_S = 86_400.0
INVOKE = "host/action/invoke"
HIGHEST_PID = 2**22  # that Linux gives
LARGEST_SIDE = 2**16 - 1  # cells of a screen, each way
_bounds = lru_cache(maxsize=64)(Bounds)  # most plugins have the same, and share it


class Ask(Struct, frozen=True):
    """One call of the host: what is asked, how long it may take (None: for ever), and what the answer has to be."""

    method: str
    params: Any
    timeout_s: float | None
    result: type[Struct] | None = None  # None: any JSON
    limit: str = "limits.timeout_s"  # what sets the time, where the caller does not
    # Whether its time is what the caller waits in all. Else it is what the plugin may take, once it is asked.
    in_all: bool = False

    @property
    def broken(self) -> str:
        """The limit that a call breaks which takes too long. To raise another one would not help its caller."""
        return CALLERS_LIMIT if self.in_all else self.limit


def terms(binding: DuplexBinding) -> Terms:
    """Return what *binding* demands of a conversation."""
    limits, manifest = binding.limits, binding.manifest
    return Terms(
        name=manifest.name,
        version=manifest.version,
        abi_version=manifest.abi_version,
        handshake_s=limits.handshake_s,
        write_s=limits.write_s,
        frame_bytes=limits.frame_bytes,
        values=limits.values,
        bounds=_bounds(keys=limits.key_lane),
    )


def init(binding: DuplexBinding, config: Mapping[str, Any] | None, pid: int) -> InitParams:
    """Return what the plugin of *binding* is told first; *pid* is the host's."""
    return InitParams(
        manifest_path=str(binding.manifest.file),
        granted_capabilities=binding.capabilities.granted(),
        abi_version=ABI_VERSION,
        config=config,
        host=HostInfo(KIND, pid),
    )


def check_config(binding: DuplexBinding, config: Mapping[str, Any] | None) -> None:
    """Raise ManifestError if the plugin could not be told its settings, or could not be told anything."""
    limit, manifest = binding.limits.frame_bytes, binding.manifest
    try:
        size = _init_bytes(binding, config)
    except LocalProtocolError as error:
        raise ManifestError(str(manifest.file), "config", str(error), "Change the settings") from error
    if size <= limit:
        return
    least = _init_bytes(binding, None)
    if least > limit:  # whatever the settings are
        problem = f"{limit} bytes are too few for plugin/init, which has {least}"
        raise ManifestError(
            binding.narrowed_in, "limits.frame_bytes", problem, f"Raise it to {least} at least"
        )
    problem = f"with them plugin/init has {size} bytes, over the limit of {limit}"
    raise ManifestError(str(manifest.file), "config", problem, "Change the settings")


def _init_bytes(binding: DuplexBinding, config: Mapping[str, Any] | None) -> int:
    """Return how long the first request is at most. Raises LocalProtocolError if it cannot be written."""
    return len(jsonrpc.encode_request(1, "plugin/init", init(binding, config, HIGHEST_PID)))


def told(binding: DuplexBinding, method: str, params: Any) -> Parcel:
    """Return a notification as it is sent. Raises LocalProtocolError if it does not fit what *binding* allows."""
    made = parcel(jsonrpc.encode_notification(method, params))
    made.check(binding.limits.frame_bytes)
    return made


# What a host asks


def render(binding: DuplexBinding, width: int, height: int, timeout: float | None) -> Ask:
    """Return the call for a screen. Raises LocalProtocolError if there is no such size."""
    for side in (width, height):
        if not _is_whole(side) or not 0 <= side <= LARGEST_SIDE:
            raise LocalProtocolError(
                f"a screen of {width!r} by {height!r} cells: give 0 to {LARGEST_SIDE} each"
            )
    params = RenderParams(Viewport(width, height))
    seconds = _seconds(timeout, binding.limits.render_s)
    return Ask("plugin/render", params, seconds, RenderResult, "limits.render_s", timeout is not None)


def cli(binding: DuplexBinding, namespace: str, argv: Sequence[str], timeout: float | None) -> Ask:
    """Return the call for a command. Raises LocalProtocolError if *argv* is not a list of texts."""
    words = tuple(argv)  # first: one that can be gone through only once would be empty afterwards
    if isinstance(argv, str) or not all(isinstance(word, str) for word in (namespace, *words)):
        raise LocalProtocolError("the words of a command are a list of texts")
    params = CliDispatchParams(namespace, words)
    seconds = _seconds(timeout, binding.limits.timeout_s)
    return Ask("plugin/cli_dispatch", params, seconds, CliDispatchResult, in_all=timeout is not None)


def invoke(action: str, payload: bytes, timeout: float | None) -> Ask:
    """Return the call for an action. Without *timeout* it may take for ever, and the plugin is told so."""
    if timeout is None and type(action) is str and type(payload) is bytes:  # nearly always: in half the time
        return Ask(INVOKE, Invocation(action, payload), None, ActionInvokeResult, CALLERS_LIMIT)
    seconds = None if timeout is None else _seconds(timeout, 0.0)
    milliseconds = 0 if seconds is None else max(1, round(seconds * 1000))
    params = Invocation(text(action, "an action"), octets(payload), milliseconds)
    return Ask(INVOKE, params, seconds, ActionInvokeResult, CALLERS_LIMIT, seconds is not None)


def call(binding: DuplexBinding, method: str, params: Any, timeout: float | None) -> Ask:
    """Return the call of any *method*."""
    return Ask(
        text(method, "a method"),
        {} if params is None else params,
        _seconds(timeout, binding.limits.timeout_s),
        in_all=timeout is not None,
    )


def octets(payload: object) -> bytes:
    """Return *payload* as bytes. Raises LocalProtocolError if it is none: `bytes(5)` would be five zeros."""
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise LocalProtocolError(f"a payload is bytes, not {type(payload).__name__}")
    return bytes(payload)


def text(value: object, what: str) -> str:
    """Return *value*. Raises LocalProtocolError if it is no text."""
    if not isinstance(value, str):
        raise LocalProtocolError(f"{what} is a text, not {type(value).__name__}")
    return value


def key(screen_id: object, event: object, generation: int) -> HandleKeyParams:
    """Return what a plugin is told of a key. Raises LocalProtocolError if it is none."""
    if not isinstance(event, KeyEvent):
        raise LocalProtocolError(f"a key is a KeyEvent, not {type(event).__name__}")
    try:
        return HandleKeyParams(text(screen_id, "a screen"), checked(event), generation)
    except (ValidationError, TypeError) as error:
        raise LocalProtocolError(f"that is no key: {error}") from error


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _seconds(timeout: object, usual: float) -> float:
    if timeout is None:
        return usual
    number = float(timeout) if isinstance(timeout, int | float) and not isinstance(timeout, bool) else 0.0
    if not 0 < number <= LONGEST_TIMEOUT_S:
        raise LocalProtocolError(f"a timeout of {timeout!r}: give seconds, more than 0 and at most a day")
    return number


# What came of it


def answer(ask: Ask, result: Raw) -> Any:
    """Return what the plugin answered to *ask*. Raises RemoteProtocolError if that is no such answer."""
    if ask.result is None:
        return _decoded(result)
    return decode(ask.result, result)


def _decoded(result: Raw) -> Any:
    return _ANY.decode_part(result)


_ANY = strict_json.Decoder(object, "result")


def remote_error(plugin: str, error: ErrorResponse) -> RemoteError:
    """Return the exception for an error that the plugin answered with."""
    try:
        data = _decoded(error.data)
    except RemoteProtocolError:  # a number that is none, as 1e999: the rest is worth more than a complaint
        data = None
    return RemoteError(plugin, str(error.code), error.message, data)


def failure(
    binding: Binding, session: DuplexSession, fault: Fault, evidence: Evidence, *, sent: bool
) -> PluginFailure:
    """Return the exception for *fault*, with everything that is known; *sent*: the plugin may have seen the call."""
    if fault.code is FailureCode.TIMEOUT and fault.hint is None:
        fault = replace(fault, hint=_unheard(binding, session))
    return outcome.failure(
        binding,
        fault,
        evidence,
        plugin=session.introduction.name if session.introduction is not None else "",
        delivered=sent,
        timings_ms=timings(session),
    )


# Reasons for which what was meant for an answer may have been dropped.
_NO_ANSWER = (
    Reason.NOT_A_MESSAGE,
    Reason.WRONG_VERSION,
    Reason.WRONG_ID,
    Reason.WRONG_METHOD,
    Reason.WRONG_ERROR,
    Reason.UNKNOWN_ID,
    Reason.TOO_MANY_VALUES,
)


def _unheard(binding: Binding, session: DuplexSession) -> str | None:
    """Return advice for who waits for an answer that may have come, and was none."""
    dropped = [
        f"{reason.value} {session.ignored[reason]}" for reason in _NO_ANSWER if session.ignored[reason]
    ]
    if not dropped:
        return None
    return (
        "It did write what is no message, holds too many values, or answers nothing that was asked, and was dropped: "
        f"{', '.join(dropped)}. "
        f"Perhaps that was the answer: `plughost check {binding.reference or 'PLUGIN'}` says what is wrong with it."
    )


def malformed(
    binding: Binding, session: DuplexSession, method: str, error: RemoteProtocolError, evidence: Evidence
) -> PluginFailure:
    """Return the exception for an answer that is none."""
    fault = Fault(FailureCode.MALFORMED_RESPONSE, Stage.EXECUTE, f"its answer to {method}: {error}")
    return failure(binding, session, fault, evidence, sent=True)


def timed_out(fault: Fault, ask: Ask) -> Fault:
    """Return *fault*, of a call that took too long, with what was asked and which limit it broke."""
    within = "" if ask.timeout_s is None else f" within {ask.timeout_s:g} s"
    return replace(fault, message=f"it did not answer {ask.method}{within}", limit=ask.broken)


_STAGES = {
    "launch": ("started", "spawned"),
    "handshake": ("spawned", "shaken"),
    "teardown": ("retired", "exited"),
}


def timings(session: DuplexSession) -> dict[str, float]:
    """Return how long the stages took, in milliseconds."""
    marks = session.marks
    return {
        stage: round((marks[end] - marks[start]) * 1000, 3)
        for stage, (start, end) in _STAGES.items()
        if start in marks and end in marks
    }
