"""The host's verbs over an `execute` session: what a binding demands, and what an outcome means to a caller.

It neither starts nor waits for anything: drivers do.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from ...errors import LocalProtocolError, RemoteError
from ...failures import PluginFailure
from ...manifest.binding import COMMAND_LINE, Binding
from ...messages.quoting import listed
from .. import outcome
from ..base import Evidence, Fault
from .messages import Manifest
from .session import Call, ExecuteSession, Terms, prepare

CONTRACT = "execute"
LONGEST_TIMEOUT_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Result:
    """What a call brought back."""

    output: Any
    metadata: dict[str, Any] = field(default_factory=dict)
    timings_ms: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    manifest: Manifest | None = None


def terms(binding: Binding) -> Terms:
    """Return what *binding* demands of a conversation."""
    if binding.contract != CONTRACT:
        raise LocalProtocolError(f"{binding.name} is bound to the contract {binding.contract!r}, not execute")
    limits = binding.limits
    return Terms(
        name=binding.name,
        allow=binding.allow,
        timeout_s=limits.timeout_s,
        handshake_s=limits.handshake_s,
        teardown_s=limits.teardown_s,
        line_bytes=limits.line_bytes,
        strict=binding.execute.strict,
        bare=binding.source == COMMAND_LINE,
    )


def call(
    binding: Binding,
    tool: str,
    input: Any,
    context: dict[str, Any] | None,
    timeout: float | None = None,
) -> Call:
    """Return the request for *tool*, ready to send. Raises LocalProtocolError if it cannot be sent."""
    _check_arguments(tool, context, timeout)
    request_id = f"plugin_req_{secrets.token_hex(8)}"
    arguments = {} if input is None else input
    return prepare(tool, arguments, context or {}, request_id, binding.limits.line_bytes)


def _check_arguments(tool: object, context: object, timeout: object) -> None:
    """Raise LocalProtocolError for what no type checker has stopped."""
    if not isinstance(tool, str) or not isinstance(context, dict | None):
        raise LocalProtocolError("a call needs the name of a tool, and a dict for its context")
    number = isinstance(timeout, int | float) and 0 < timeout <= LONGEST_TIMEOUT_S
    if timeout is not None and not number:
        raise LocalProtocolError(f"a timeout of {timeout!r}: give seconds, more than 0 and at most a day")


def conclude(binding: Binding, session: ExecuteSession, evidence: Evidence) -> Result:
    """Return what a settled session brought. Raises PluginFailure or RemoteError."""
    plugin = session.manifest.plugin_id if session.manifest is not None else binding.name
    if session.fault is not None:
        raise failure(binding, session.fault, session, evidence)
    assert session.answer is not None
    if session.answer.error is not None:
        raise RemoteError(listed([plugin]), session.answer.error.code, session.answer.error.message)
    return Result(
        output=session.answer.output,
        metadata=session.answer.metadata,
        timings_ms=timings(session),
        warnings=_warnings(session, evidence),
        manifest=session.manifest,
    )


def failure(
    binding: Binding, fault: Fault, session: ExecuteSession | None, evidence: Evidence
) -> PluginFailure:
    """Return the exception for *fault*, with everything that is known about it."""
    if session is None:
        return outcome.failure(binding, fault, evidence)
    return outcome.failure(
        binding,
        fault,
        evidence,
        plugin=session.manifest.plugin_id if session.manifest is not None else "",
        delivered=session.delivered,
        timings_ms=timings(session),
        answer=session.answer.output if session.answer is not None else None,
    )


# Which two marks of a session bound each stage. A spare's handshake was over before its call began.
_STAGES = {
    "launch": ("started", "spawned"),
    "handshake": ("spawned", "shaken"),
    "execute": ("shaken", "answered"),
    "teardown": ("answered", "exited"),
}


def timings(session: ExecuteSession) -> dict[str, float]:
    """Return how long each stage took, the one that failed included, and the whole call, in milliseconds."""
    marks = session.marks
    spans = {}
    for stage, (start, end) in _STAGES.items():
        if start not in marks:
            continue
        if end not in marks and "spawned" in marks and "failed" in marks:
            spans[stage] = marks["failed"] - marks[start]
            break
        if end in marks:
            began = max(marks[start], marks.get("called", 0.0)) if stage == "execute" else marks[start]
            spans[stage] = marks[end] - began
    if "called" in marks and "exited" in marks:
        spans["total"] = marks["exited"] - marks["called"]
    return {stage: round(seconds * 1000, 3) for stage, seconds in spans.items()}


def _warnings(session: ExecuteSession, evidence: Evidence) -> tuple[str, ...]:
    found = []
    if session.trailing:
        found.append(f"{session.trailing} bytes on stdout after the answer were ignored")
    for survivor in evidence.survivors:
        fate = "it was ended" if survivor.ended else "it was left running"
        found.append(f"process {survivor.pid} ({survivor.command}) outlived the plugin; {fate}")
    return tuple(found)
