"""A frame to a protobuf message of the kind that is due, or a RemoteProtocolError. Does not know which one is due.

A message on the wire carries no name, so almost any bytes decode as almost any kind: what does not fit lands among
the unknown fields. Unknown numbers are fine, they are how a schema grows; a known number with the wrong kind of
value means that another message was sent. That is looked for here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from ..errors import RemoteProtocolError

M = TypeVar("M", bound=Message)

# An empty submessage takes two bytes on the wire and about 150 in memory: five million of them fit a frame of
# 10 MiB, and would take 770 MB. A result of a hundred thousand parts is far beyond any that a person would read.
ITEMS_LIMIT = 100_000
_COUNTED_FROM = 65_536  # bytes; a smaller frame cannot hold enough of them to matter

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)  # wire types
# What the kinds of field that our schema has are written as; numbers, truths and enums are varints.
_WIRE_TYPES = {
    FieldDescriptor.CPPTYPE_STRING: _BYTES,
    FieldDescriptor.CPPTYPE_MESSAGE: _BYTES,
    FieldDescriptor.CPPTYPE_FLOAT: _FIXED32,
}


def decode(kind: type[M], frame: bytes, what: str) -> M:
    """Return *frame* as a *kind*; *what* names it in errors. Raises RemoteProtocolError."""
    if len(frame) > _COUNTED_FROM:
        _bound(frame, kind.DESCRIPTOR, what)
    try:
        message = kind.FromString(frame)
    except (DecodeError, ValueError) as error:  # the second is what protobuf in Python says to bad UTF-8
        raise RemoteProtocolError(f"{what}: {len(frame)} bytes that are no {kind.DESCRIPTOR.name}") from error
    if len(frame) > 0 and (field := _misfit(message)) is not None:
        raise RemoteProtocolError(f"{what}: no {kind.DESCRIPTOR.name}: its field {field} is of another kind")
    return message


def likely_kinds(frame: bytes, kinds: Iterable[type[Message]]) -> list[str]:
    """Return the names of those *kinds* that *frame* could be, for a guess at what was meant. None for a long one."""
    found: list[str] = []
    if len(frame) > _COUNTED_FROM:
        return found
    for kind in kinds:
        try:
            message = kind.FromString(frame)
        except (DecodeError, ValueError):
            continue
        if message.ListFields() and not UnknownFieldSet(message) and _misfit(message) is None:
            found.append(kind.DESCRIPTOR.name)
    return found


def _misfit(message: Message) -> str | None:
    """Return the name of a field whose value is not of its kind, or None.

    Looked at are the message itself and the first of each kind of its parts: whoever writes one of them right
    writes all of them right.
    """
    unknown = UnknownFieldSet(message)
    if unknown:
        numbers = message.DESCRIPTOR.fields_by_number
        for index in range(len(unknown)):
            field = unknown[index]
            known = numbers.get(field.field_number)
            if known is not None and field.wire_type != _WIRE_TYPES.get(known.cpp_type, _VARINT):
                name: str = known.name
                return name
    if not _parts(message.DESCRIPTOR):
        return None
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
            continue
        part = value if isinstance(value, Message) else value[0]
        wrong = _misfit(part)
        if wrong is not None:
            return f"{descriptor.name}.{wrong}"
    return None


def _bound(frame: bytes, descriptor: Any, what: str) -> None:
    """Raise RemoteProtocolError if *frame* holds too many parts. Its decoder is not asked before that."""
    if _count(frame, 0, len(frame), descriptor, 0) > ITEMS_LIMIT:
        raise RemoteProtocolError(f"{what}: over {ITEMS_LIMIT} parts in one message")


def _count(frame: bytes, at: int, end: int, kind: Any, items: int) -> int:
    """Return *items* and those of the *kind* between *at* and *end*, with the parts of parts, until it is too many.

    A part that has no parts itself takes no more memory than it has bytes: it is looked into only if it is long.
    Most numbers are one byte; those are read here, because a call takes as long as all the rest.
    """
    parts = _parts(kind)
    while at < end and items <= ITEMS_LIMIT:
        items += 1
        tag, at = (frame[at], at + 1) if frame[at] < 0x80 else _varint(frame, at)
        wire_type = tag & 7
        if wire_type == _BYTES:
            short = at < end and frame[at] < 0x80
            size, at = (frame[at], at + 1) if short else _varint(frame, at)
            part = parts.get(tag)
            if part is not None and (size > _COUNTED_FROM or _parts(part)):
                items = _count(frame, at, min(at + size, end), part, items)
            at += size
        elif wire_type == _VARINT:
            _, at = _varint(frame, at)
        elif wire_type == _FIXED64:
            at += 8
        elif wire_type == _FIXED32:
            at += 4
        # A group's parts are counted as if they were the message's own; the decoder judges the rest.
    return items


@cache
def _parts(kind: Any) -> dict[int, Any]:
    """Return the kinds of message that a *kind* is made of, by the tags that announce them."""
    return {
        field.number << 3 | _BYTES: field.message_type
        for field in kind.fields
        if field.message_type is not None
    }


def _varint(frame: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(frame) and shift < 70:
        byte = frame[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return value, len(frame)  # cut off, or no number: the decoder says so
