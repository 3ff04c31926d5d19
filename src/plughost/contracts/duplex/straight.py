"""The bytes of an answer -> its result, in one step. What is not plainly the answer to a call is left to the session.

Theory of operation. Nearly everything that a plugin writes is one frame with one result in it. Framing, message and
result are then decoded as one, which is several times as fast as to hand them from one layer to the next. Whatever is
odd, wrong, large, or no answer comes out as None: the session looks at it again, and finds the right words for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
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

Heard = tuple[Answer[Any], bytes, int]  # an answer, its body, and where its frame ends in the data
_ODD = (msgspec.MsgspecError, ValueError, RecursionError, MemoryError, OverflowError)
_NO_HEAD = b"\n"  # with which no header block begins


@cache
def _decoder(result: Hashable) -> Callable[[bytes], Answer[Any]]:
    kind: Any = Answer  # for type checkers, what stands in brackets has to be known beforehand
    decode: Callable[[bytes], Answer[Any]] = msgspec.json.Decoder(
        kind[object if result is None else _USUAL.get(result, result)]
    ).decode
    return decode


decoder: Any = _decoder  # whose cache wants to know that a type can be hashed


def answers(data: bytes, at: int, result: type[msgspec.Struct] | None, limit: int) -> Iterator[Heard]:
    """Return the answers from *at* on, as long as they are some whose result is a *result*; None is any JSON.

    *limit* is how long a body may be.
    """
    plain, total = decoder(result), len(data)
    head, size = _NO_HEAD, 0  # of the frame before: the next one is often as long
    while at < total:
        if data.startswith(head, at):
            start = at + len(head)
        else:
            found = content_length.cut(data, at, limit)
            if found is None:
                return
            start = found[0]
            head, size = data[at:start], found[1] - start
        at = start + size
        # A call of the plugin is known by its beginning: to decode it as an answer takes longer than all the rest.
        if at > total or data.find(b'"method":', start, start + BEGINNING) >= 0:
            return
        body = data[start:at]
        if size > depth.MAX_DEPTH or not body.isascii():
            answer = decode(body, result)
            if answer is None:
                return
        else:  # it needs no closer look than that
            try:
                answer = plain(body)
            except _ODD:
                return
        yield answer, body, at


def decode(body: bytes, result: type[msgspec.Struct] | None) -> Answer[Any] | None:
    """Return the answer that *body* is, if its result is a *result*; None for a result is any JSON."""
    size = len(body)
    if size > depth.MAX_DEPTH and (size >= strict_json.LARGE_FRAME or depth.exceeds(body)):
        return None
    try:
        if not body.isascii():
            body.decode()  # msgspec skips what it does not know without looking at its UTF-8
        return decoder(result)(body)  # type: ignore[no-any-return]
    except _ODD:
        return None
