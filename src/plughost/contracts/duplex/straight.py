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
from plughost_sdk.frames.content_length import BLANK_LINE, LONGEST_NUMBER, USUAL_HEADER

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


_BEGIN = len(USUAL_HEADER)
_HEADER = _BEGIN + LONGEST_NUMBER + len(BLANK_LINE)

decoder: Any = _decoder  # whose cache wants to know that a type can be hashed


def hear(data: bytes, at: int, result: type[msgspec.Struct] | None, limit: int) -> Heard | None:
    """Return the answer at *at*, if it is one whose result is a *result*; None for a result is any JSON.

    *limit* is how long a body may be.
    """
    blank = data.find(BLANK_LINE, at, at + _HEADER)
    digits = data[at + _BEGIN : blank]
    if blank < 0 or not digits.isdigit() or not data.startswith(USUAL_HEADER, at):
        return None
    start, size = blank + len(BLANK_LINE), int(digits)
    body = data[start : start + size]
    if len(body) < size or size > limit or size >= strict_json.LARGE_FRAME:
        return None
    if size > depth.MAX_DEPTH and depth.exceeds(body):
        return None
    try:
        if not body.isascii():
            body.decode()  # msgspec skips what it does not know without looking at its UTF-8
        answer = decoder(result)(body)
    except (msgspec.MsgspecError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return answer.id, answer.result, body, start + size
