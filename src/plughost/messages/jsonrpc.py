"""JSON-RPC 2.0: the body of a frame to one of four messages and back. What the methods mean is decided elsewhere.

A body that is none of the four comes out as Ignored, with the reason, and never as an exception: one odd message
must not cost a plugin its process. Parameters and results stay raw JSON until somebody knows their type.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..errors import RemoteProtocolError
from . import strict_json

VERSION: Final = "2.0"
LARGEST_ID = 2**64 - 1  # ids are unsigned, 64 bits; each direction counts its own
LONGEST_ID = 1_024  # characters, where the other side names its requests by texts
SMALLEST_CODE, LARGEST_CODE = -(2**31), 2**31 - 1  # of an error: signed, 32 bits

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CAPABILITY_DENIED = -32001
ACTION_TIMEOUT = -32002
MANIFEST_VALIDATION = -32003

LONGEST_NAME = 65_536  # bytes of a method's name, or of a number: far more than any has
NULL = Raw(b"null")
_NULL = b"null"
_encode = msgspec.json.Encoder().encode


class Reason(StrEnum):
    """Why a message is dropped."""

    NOT_A_MESSAGE = "not_a_message"  # not JSON, not UTF-8, nested too deep, or not one object
    WRONG_VERSION = "wrong_version"  # `jsonrpc` is not "2.0"
    WRONG_ID = "wrong_id"  # a fraction, negative or huge; a text in an answer; none where there has to be one
    WRONG_METHOD = "wrong_method"  # not a text
    WRONG_ERROR = "wrong_error"  # not an object of a code and a message
    UNKNOWN_ID = "unknown_id"  # an answer to what was never asked
    LATE = "late"  # an answer to what has been answered, or given up
    REPEATED_ID = "repeated_id"  # a request under the id of one that is not answered yet
    TOO_MANY_VALUES = "too_many_values"  # it would take many times its size to hold it
    TOO_MANY = "too_many"  # a request of one who makes ever more, and reads no answers


Id = int | str  # of a request that the other side makes; ours are numbers


class Request(Struct, frozen=True):
    """Somebody wants *method* done, and an answer."""

    id: Id
    method: str
    params: Raw = NULL


class Notification(Struct, frozen=True):
    """Somebody is told, and does not answer."""

    method: str
    params: Raw = NULL


@final
class Response(Struct, frozen=True):
    """The answer to request *id*."""

    id: int
    result: Raw = NULL


class ErrorResponse(Struct, frozen=True):
    """The answer to request *id*: it could not be done."""

    id: int
    code: int
    message: str
    data: Raw = NULL


class Ignored(Struct, frozen=True):
    """None of the four. *id* is set if it was meant as an answer to that request."""

    reason: Reason
    detail: str
    id: int | None = None


Message = Request | Notification | Response | ErrorResponse


class _Envelope(Struct):
    """All that can stand in a message. Checked by hand: what is wrong decides what becomes of it."""

    jsonrpc: Any = None
    id: Any = None
    method: Any = UNSET
    params: Raw = NULL
    result: Raw = NULL
    error: Raw = NULL


class _Parts(Struct):
    """The same of a large message: nothing of it is decoded before it is known to be short."""

    jsonrpc: Raw = NULL
    id: Raw = NULL
    method: Raw | UnsetType = UNSET
    params: Raw = NULL
    result: Raw = NULL
    error: Raw = NULL


class _Asked(Struct, tag_field="jsonrpc", tag=VERSION):
    """A request, as it is written."""

    id: int
    method: str
    params: Any


class _Error(Struct):
    code: int
    message: str
    data: Raw = NULL


_ENVELOPE = strict_json.Decoder(_Envelope, "message")
_LARGE = strict_json.Decoder(_Parts, "message")
_SCALAR: strict_json.Decoder[Any] = strict_json.Decoder(object, "message")
_ERROR = strict_json.Decoder(_Error, "error")


def decode(body: bytes) -> Message | Ignored:
    """Return the message in *body*, or Ignored if there is none."""
    try:
        envelope = _ENVELOPE.decode(body)
    except RemoteProtocolError as error:
        return Ignored(Reason.NOT_A_MESSAGE, str(error))
    return _message(envelope)


def decode_measured(body: bytes) -> Message | Ignored:
    """Like `decode`, of a large body that is neither too deep nor broken: a meter has looked at it."""
    try:
        parts = _LARGE.decode_part(Raw(body))
        version, number, method = _scalar(parts.jsonrpc), _scalar(parts.id), _scalar(parts.method)
    except RemoteProtocolError as error:
        return Ignored(Reason.NOT_A_MESSAGE, str(error))
    return _message(_Envelope(version, number, method, parts.params, parts.result, parts.error))


def _scalar(part: Raw | UnsetType) -> Any:
    """Return the value of *part*. One that is too long for a number or a name is a list, which is neither."""
    if part is UNSET:
        return UNSET
    return [] if memoryview(part).nbytes > LONGEST_NAME else _SCALAR.decode_part(part)


def _message(envelope: _Envelope) -> Message | Ignored:
    if envelope.jsonrpc != VERSION:
        return Ignored(Reason.WRONG_VERSION, 'jsonrpc is not "2.0"')
    # A bool is an int, but no id.
    if envelope.id is not None and not (type(envelope.id) is int and 0 <= envelope.id <= LARGEST_ID):
        is_call = envelope.method is not UNSET
        if not (is_call and is_text_id(envelope.id)):  # of our own calls none is named by a text
            return Ignored(
                Reason.WRONG_ID, f"an id is a whole number from 0 to {LARGEST_ID}, or a short text"
            )
    if envelope.method is UNSET:
        return _answer(envelope)
    if not isinstance(envelope.method, str):
        return Ignored(Reason.WRONG_METHOD, "a method is a text")
    if envelope.id is None:
        return Notification(envelope.method, envelope.params)
    return Request(envelope.id, envelope.method, envelope.params)


def is_text_id(value: object) -> bool:
    """Tell whether *value* is a text that a request may have as its id."""
    return type(value) is str and len(value) <= LONGEST_ID


def _answer(envelope: _Envelope) -> Response | ErrorResponse | Ignored:
    if envelope.id is None:
        return Ignored(Reason.WRONG_ID, "neither a method nor an id")
    if envelope.error == NULL:  # also written out beside a result: some do
        return Response(envelope.id, envelope.result)
    try:
        error = _ERROR.decode_part(envelope.error)
    except RemoteProtocolError as flaw:
        return Ignored(Reason.WRONG_ERROR, str(flaw), envelope.id)
    if not SMALLEST_CODE <= error.code <= LARGEST_CODE:
        return Ignored(Reason.WRONG_ERROR, "error: its code has over 32 bits", envelope.id)
    return ErrorResponse(envelope.id, error.code, error.message, error.data)


def encode_request(id: int, method: str, params: Any) -> bytes:
    """Return a request as bytes. Raises LocalProtocolError for what cannot be said in JSON; so do the others."""
    try:
        written = _encode(_Asked(id, method, params))
    except Exception:  # for which `strict_json` has the right words
        parts = id, strict_json.encode(method, "method"), strict_json.encode(params, method)
        return b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":%b}' % parts
    # It may stand for a NaN. Not `in`: see `strict_json.encode`.
    if written.find(_NULL) >= 0 and not isinstance(params, Raw):
        strict_json.check_finite(params, method)
    return written


def encode_notification(method: str, params: Any) -> bytes:
    """Return a notification as bytes."""
    return _joined({"jsonrpc": VERSION, "method": method}, b"params", params, method)


def encode_response(id: Id, result: Any) -> bytes:
    """Return the answer to request *id*. It has no member `error`: there are readers who take one for a failure."""
    written = bytes(result) if isinstance(result, Raw) else strict_json.encode(result, "result")
    mine = b"%d" % id if type(id) is int else strict_json.encode(id, "id")
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (mine, written)


def encode_error(id: Id, code: int, message: str, data: Any = None) -> bytes:
    """Return the refusal of request *id*. It has no member `result`, and `data` only if there is some."""
    error: Any = {"code": code, "message": message}
    if data is not None and data != NULL:
        error = Raw(_joined(error, b"data", data, "error"))
    return _joined({"jsonrpc": VERSION, "id": id}, b"error", error, "error")


def _joined(head: dict[str, Any], name: bytes, value: Any, what: str) -> bytes:
    """Return *head* with one member more, which may be raw: what one plugin said can be passed on to another."""
    written = bytes(value) if isinstance(value, Raw) else strict_json.encode(value, what)
    return b'%b,"%b":%b}' % (strict_json.encode(head, what)[:-1], name, written)
