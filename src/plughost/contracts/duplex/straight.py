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

T = TypeVar("T")


class _Answer(msgspec.Struct, Generic[T], forbid_unknown_fields=True):
    """An answer whose result is known to be a T, and that says nothing else."""

    jsonrpc: Literal["2.0"]
    id: int
    result: T


Heard = tuple[int, Any, bytes, int]  # the id, the result, the body, and where its frame ends in the data


@cache
def _decoder(result: Hashable) -> Callable[[bytes], _Answer[Any]]:
    kind: Any = _Answer  # for type checkers, what stands in brackets has to be known beforehand
    decode: Callable[[bytes], _Answer[Any]] = msgspec.json.Decoder(
        kind[object if result is None else result]
    ).decode
    return decode


decoder: Any = _decoder  # whose cache wants to know that a type can be hashed


def hear(data: bytes, at: int, result: type[msgspec.Struct] | None, limit: int) -> Heard | None:
    """Return the answer at *at*, if it is one whose result is a *result*; None for a result is any JSON.

    *limit* is how long a body may be.
    """
    found = content_length.cut(data, at, limit)
    if found is None:
        return None
    body = data[found[0] : found[1]]
    size = len(body)
    if size >= strict_json.LARGE_FRAME or (size > depth.MAX_DEPTH and depth.exceeds(body)):
        return None
    try:
        if not body.isascii():
            body.decode()  # msgspec skips what it does not know without looking at its UTF-8
        answer = decoder(result)(body)
    except (msgspec.MsgspecError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return answer.id, answer.result, body, found[1]
