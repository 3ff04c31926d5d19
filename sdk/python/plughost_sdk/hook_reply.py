"""One call: turns a phase's request and the author's handler into the bytes of a reply, also when that fails.

Whatever goes wrong is answered with an ERROR diagnostic, so that the host can say what it was; nothing of the
result is sent then. Preflight is different: its result has no diagnostics, so what goes wrong is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError, Message

from .frames.errors import FrameTooLarge
from .hook_failure import PLUGIN_EXCEPTION, REPLY_INVALID, diagnose
from .hook_handshake import LIMIT
from .hook_messages import (
    Dependency,
    DetectRequest,
    DetectResult,
    Diagnostic,
    Fragment,
    GenerateRequest,
    GenerateResult,
    PlanRequest,
    PlanResult,
    PreflightRequest,
    PreflightResult,
    Resource,
    ValidateRequest,
    ValidateResult,
)

Handler = Callable[[Any], Any]

REQUESTS: dict[str, type[Message]] = {
    "detect": DetectRequest,
    "plan": PlanRequest,
    "generate": GenerateRequest,
    "validate": ValidateRequest,
    "preflight": PreflightRequest,
}
RESULTS: dict[str, type[Message]] = {
    "detect": DetectResult,
    "plan": PlanResult,
    "generate": GenerateResult,
    "validate": ValidateResult,
    "preflight": PreflightResult,
}

# Where a part of a result goes, by its type.
_PARTS: dict[str, dict[type, str]] = {
    "detect": {str: "signals", dict: "facts", float: "confidence", Diagnostic: "diagnostics"},
    "plan": {Resource: "resources", Dependency: "deps", Diagnostic: "diagnostics"},
    "generate": {Fragment: "fragments", Diagnostic: "diagnostics"},
    "validate": {Diagnostic: "diagnostics"},
}
_WHOLE = (Message, str, bytes, bytearray, dict)  # one part, even if it can be iterated over


def decode(phase: str, frame: bytes) -> Message:
    """Return the request in *frame*. Raises ValueError if there is none."""
    kind = REQUESTS[phase]
    try:
        return kind.FromString(frame)
    except (DecodeError, RecursionError, UnicodeError) as error:
        raise ValueError(f"the request for {phase} is not a {kind.__name__}: {error}") from error


def answer(phase: str, handler: Handler, request: Message) -> bytes:
    """Call *handler* and return the bytes of the result, at most LIMIT of them. Only preflight raises."""
    code = PLUGIN_EXCEPTION
    try:
        returned = _complete(handler(request))
        code = REPLY_INVALID  # from here on it is not the handler that fails, but what it returned
        return _encode(phase, _result(phase, returned))
    except Exception as error:
        if phase == "preflight":
            raise
        failed = RESULTS[phase](diagnostics=[diagnose(error, code, handler)])
        try:
            return _encode(phase, failed)
        except FrameTooLarge as too_large:  # an exception may have a long story to tell
            failed = RESULTS[phase](diagnostics=[diagnose(too_large, code, handler)])
            return _encode(phase, failed)


def _complete(returned: object) -> object:
    """Return a list of all that a generator, or anything like it, has to give; other values as they are."""
    return list(returned) if hasattr(returned, "__iter__") and not isinstance(returned, _WHOLE) else returned


def _result(phase: str, returned: object) -> Message:
    """Return the message of *phase* that the handler returned, or returned the parts of."""
    kind = RESULTS[phase]
    if isinstance(returned, kind):
        return returned
    if phase == "preflight":  # nothing counts as an answer here but an answer: an empty one would mean "skip"
        if isinstance(returned, bool):
            return PreflightResult(should_run=returned)
        raise TypeError(
            f"preflight returned {_shown(returned)}: it returns hook.run(), hook.skip() or a bool"
        )
    result = kind()
    if returned is not None:
        for part in returned if isinstance(returned, list) else [returned]:
            _put(phase, result, part)
    return result


def _put(phase: str, result: Any, part: Any) -> None:
    field = next((name for kind, name in _PARTS[phase].items() if isinstance(part, kind)), None)
    if field is None:
        parts = ", ".join(kind.__name__ for kind in _PARTS[phase])
        raise TypeError(
            f"{phase} returned {_shown(part)}: it returns a {RESULTS[phase].__name__}, or any number of {parts}"
        )
    if field == "facts":
        result.facts.update(part)
    elif field == "confidence":
        if not 0.0 <= part <= 1.0:
            raise ValueError(f"{phase} returned the confidence {part}: it is a number from 0.0 to 1.0")
        result.confidence = part
    else:
        getattr(result, field).append(part)


def _shown(part: object) -> str:
    return "None" if part is None else f"a value of type {type(part).__name__}"


def _encode(phase: str, result: Message) -> bytes:
    body = result.SerializeToString(deterministic=True)
    if len(body) > LIMIT:
        raise FrameTooLarge(f"the reply to {phase} is {len(body)} bytes, and a frame holds {LIMIT} at most")
    return body
