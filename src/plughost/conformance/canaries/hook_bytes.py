"""Frames and protobuf fields by hand, for the `hook` canary: bytes to values and back. Knows no message."""

import os


def exactly(size):
    parts = []
    while size:
        data = os.read(0, min(size, 65_536))
        if not data:
            break
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def frame(body):
    return len(body).to_bytes(4, "big") + body


def fields(data):
    """Return the values of a message by number. Raises ValueError if it is none."""
    found, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if kind == 2 else ({1: 8, 5: 4}.get(kind, 1 << 62), at)
            if at + size > len(data):
                raise ValueError("a field is cut short")
            value, at = data[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def read_varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at
    raise ValueError("a number is cut short")


def text(message, field):
    return message.get(field, [b""])[0]


def varint(value):
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*low, value))


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def write(data):
    while data:
        data = data[os.write(1, data) :]
