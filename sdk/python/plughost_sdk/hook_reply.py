"""One call: turns a phase's request and the author's handler into the bytes of a reply, also when that fails.

Whatever goes wrong is answered with an ERROR diagnostic, so that the host can say what it was; nothing of the
result is sent then. Preflight is different: its result has no diagnostics, so what goes wrong is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
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
PARTS_LIMIT = 100_000  # of one reply: the host takes no more, as empty ones are few bytes and much memory
_HEAD = 2  # bytes before a part, at least: the number of its field, and its length
_END = object()  # after the last part
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
    call = _Call(phase)
    try:
        return _encode(phase, call.result(handler, request))
    except Exception as error:
        if phase == "preflight":
            raise
        failed = RESULTS[phase](diagnostics=[diagnose(error, call.code, handler)])
        try:
            return _encode(phase, failed)
        except FrameTooLarge as too_large:  # an exception may have a long story to tell
            failed = RESULTS[phase](diagnostics=[diagnose(too_large, call.code, handler)])
            return _encode(phase, failed)


class _Call:
    """One call of a handler. *code* is what to call it if it fails now: the handler's turn, or what it returned."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self.code = PLUGIN_EXCEPTION

    def result(self, handler: Handler, request: Message) -> Message:
        """Return the message that *handler* returns, or returns the parts of."""
        returned = handler(request)
        kind = RESULTS[self._phase]
        has_parts = isinstance(returned, Iterable) and not isinstance(returned, _WHOLE)
        if has_parts and kind is not PreflightResult:
            return self._collected(returned)
        self.code = REPLY_INVALID
        if isinstance(returned, kind):
            return returned
        if kind is PreflightResult:
            return _decision(returned)
        result = kind()
        if returned is not None:
            _put(self._phase, result, returned)
        return result

    def _collected(self, parts: Iterable[object]) -> Message:
        """Return the message of all *parts*, each put in as it comes: they may have no end."""
        result, size, count = RESULTS[self._phase](), 0, 0
        iterator = iter(parts)
        try:
            while (part := next(iterator, _END)) is not _END:
                self.code = REPLY_INVALID
                _put(self._phase, result, part)
                size, count = size + _least_size(part), count + 1
                if size > LIMIT:
                    raise FrameTooLarge(f"the reply to {self._phase} is over the {LIMIT} bytes of a frame")
                if count > PARTS_LIMIT:
                    raise FrameTooLarge(f"the reply to {self._phase} has over {PARTS_LIMIT} parts")
                self.code = PLUGIN_EXCEPTION
        except Exception:
            with suppress(Exception):  # what went wrong first is what counts
                getattr(iterator, "close", int)()  # a generator lets go of what it holds
            raise
        self.code = REPLY_INVALID
        return result


def _decision(returned: object) -> PreflightResult:
    """Return the answer that *returned* is. Nothing else counts as one: an empty answer would mean "skip"."""
    if isinstance(returned, bool):
        return PreflightResult(should_run=returned)
    raise TypeError(f"preflight returned {_shown(returned)}: it returns hook.run(), hook.skip() or a bool")


def _least_size(part: object) -> int:
    """Return the least number of bytes that *part* takes in a result. Its exact size is counted in the end."""
    if isinstance(part, Message):
        return _HEAD + part.ByteSize()
    if isinstance(part, dict):
        return _HEAD + sum(_HEAD + len(key) + len(value) for key, value in part.items())
    return _HEAD + len(part) if isinstance(part, str) else _HEAD


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
