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
    try:
        text = body.decode()
        try:
            message = _any_json(text) if "json" in sys.modules else loads(text)
        except Declined:
            message = _any_json(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


_decoder: Any = None


def _any_json(text: str) -> Any:
    """Return what *text* spells. The decoder is made once: `json.loads` makes one for every call with a wish."""
    global _decoder
    if _decoder is None:
        import json

        _decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    try:
        value, end = _decoder.scan_once(text, 0)  # which takes no blanks before or after, and half the time
    except StopIteration:
        return _decoder.decode(text)
    return value if end == len(text) else _decoder.decode(text)


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
