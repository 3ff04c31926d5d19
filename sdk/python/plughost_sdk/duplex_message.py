"""Messages of the wire: turns bodies into objects, and responses into results. Refuses what is not JSON.

Before init is answered json is not imported, if it can be helped; see `small_json`.
"""

from __future__ import annotations

import sys

from .duplex_error import INVALID_PARAMS, HostError
from .small_json import Declined, loads

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]


def decode(body: bytes) -> Message | None:
    """Return the object in *body*, or None if it is something else."""
    usual = None if _scan is None else decode_usual(body)
    if usual is not None:
        return usual
    try:
        text = body.decode()
        try:
            message = _any_json(text) if "json" in sys.modules else loads(text)
        except Declined:
            message = _any_json(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def decode_usual(body: bytes) -> Message | None:
    """Like `decode`, in half the time, of an object without blanks around it. None says nothing."""
    if _scan is None:
        return decode(body)
    try:
        text = body.decode()
        message, end = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration):
        return None
    return message if type(message) is dict and end == len(text) else None


_decoder: Any = None
_scan: Any = None  # its part in C, which takes no blanks before or after


def _any_json(text: str) -> Any:
    """Return what *text* spells. The decoder is made once: `json.loads` makes one for every call with a wish."""
    global _decoder, _scan
    if _decoder is None:
        import json

        _decoder = json.JSONDecoder(parse_constant=_refuse_constant)
        _scan = _decoder.scan_once
    return _decoder.decode(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def result_of(method: str, response: Message) -> Any:
    """Return the result in *response*, or raise the error in it."""
    error = response.get("error")
    if error is None:
        if "result" not in response:
            raise HostError(INVALID_PARAMS, f"the host's response to {method} has neither result nor error")
        return response["result"]
    if isinstance(error, dict):
        code, message = error.get("code"), error.get("message")
        if type(code) is int and isinstance(message, str):
            raise HostError(code, message, error.get("data"))
    raise HostError(INVALID_PARAMS, f"the host's error to {method} is malformed")
