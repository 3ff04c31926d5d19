"""Large results, measured when they are queued and encoded when they are written.

A plugin that asks for a large snapshot again and again makes the host encode megabytes for every twenty bytes of its
own. Whether an answer fits, and has room, follows from its length; it is encoded when it is written.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace
from plughost_sdk.frames import content_length

from ...messages import jsonrpc
from .messages import ActionInvokeResult, FsReadFileResult, SnapshotGetResult

Encode = Callable[[], tuple[bytes, bytes]]  # returns a frame and its body
LEAST = 65_536  # bytes of payload: less is encoded sooner than it is thought about
_PAYLOADS: dict[Any, str] = {
    SnapshotGetResult: "payload",
    FsReadFileResult: "bytes",
    ActionInvokeResult: "payload",
}


def prepared(id: jsonrpc.Id, result: Any) -> tuple[int, Encode]:
    """Return how long the body is that answers *id* with *result*, and how to get its frame and itself.

    Raises LocalProtocolError if it cannot be said in JSON.
    """
    member = _PAYLOADS.get(type(result))
    payload = getattr(result, member) if member is not None else None
    if payload is not None and len(payload) >= LEAST:
        return len(_around(id, result)) + (len(payload) + 2) // 3 * 4, partial(encode, id, result)
    body = jsonrpc.encode_response(id, result)
    return len(body), lambda: (content_length.encode(body, len(body)), body)


def encode(id: jsonrpc.Id, result: Any) -> tuple[bytes, bytes]:
    """Return the frame that answers *id* with *result*, which is nearly all payload, and the body in it."""
    member, around = _PAYLOADS[type(result)], _around(id, result)
    before, _, after = around.rpartition(b'"%b":""' % member.encode())
    text = b2a_base64(getattr(result, member), newline=False)
    head = content_length.header(len(around) + len(text))
    frame = b"".join((head, before, b'"%b":"' % member.encode(), text, b'"', after))
    del text  # before there is another copy: it may be 16 MiB
    return frame, frame[len(head) :]


def _around(id: jsonrpc.Id, result: Any) -> bytes:
    return jsonrpc.encode_response(id, replace(result, **{_PAYLOADS[type(result)]: b""}))
