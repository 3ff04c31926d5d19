"""The bytes of an answer -> its result, in one step. What is not plainly the answer to a call is left to the session.

Theory of operation. Nearly everything that a plugin writes is one frame with one result in it. Framing, message and
result are then decoded as one, which is several times as fast as to hand them from one layer to the next. Whatever is
odd, wrong, large, or no answer comes out as None: the session looks at it again, and finds the right words for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, Generic, Literal, TypeVar

import msgspec
from plughost_sdk.frames import content_length

from ...messages import depth, strict_json
from .messages import ActionInvokeResult

BEGINNING = 64  # bytes, in which whoever calls has named the method, as most do

T = TypeVar("T")


class Answer(msgspec.Struct, Generic[T], forbid_unknown_fields=True):
    """An answer whose result is known to be a T, and that says nothing else."""

    jsonrpc: Literal["2.0"]
    id: int
    result: T


class Returned(msgspec.Struct):
    """What an action returned, if it is written in base64. A list of numbers is none: that is seen the long way."""

    payload: bytes


_USUAL: dict[Any, type[msgspec.Struct]] = {
    ActionInvokeResult: Returned
}  # nothing of them is left to be checked

Heard = tuple[int, Any, bytes, int]  # the id, the result, the body, and where its frame ends in the data


@cache
def _decoder(result: Hashable) -> Callable[[bytes], Answer[Any]]:
    kind: Any = Answer  # for type checkers, what stands in brackets has to be known beforehand
    decode: Callable[[bytes], Answer[Any]] = msgspec.json.Decoder(
        kind[object if result is None else _USUAL.get(result, result)]
    ).decode
    return decode


decoder: Any = _decoder  # whose cache wants to know that a type can be hashed


def hear(data: bytes, at: int, result: type[msgspec.Struct] | None, limit: int) -> Heard | None:
    """Return the answer at *at*, if it is one whose result is a *result*; None for a result is any JSON.

    *limit* is how long a body may be.
    """
    found = content_length.cut(data, at, limit)
    # A call of the plugin is known by its beginning: to decode it as an answer takes longer than all the rest.
    if found is None or data.find(b'"method":', found[0], found[0] + BEGINNING) >= 0:
        return None
    body = data[found[0] : found[1]]
    answer = decode(body, result)
    return None if answer is None else (answer.id, answer.result, body, found[1])


def decode(body: bytes, result: type[msgspec.Struct] | None) -> Answer[Any] | None:
    """Return the answer that *body* is, if its result is a *result*; None for a result is any JSON."""
    size = len(body)
    if size > depth.MAX_DEPTH and (size >= strict_json.LARGE_FRAME or depth.exceeds(body)):
        return None
    try:
        if not body.isascii():
            body.decode()  # msgspec skips what it does not know without looking at its UTF-8
        return decoder(result)(body)  # type: ignore[no-any-return]
    except (msgspec.MsgspecError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
