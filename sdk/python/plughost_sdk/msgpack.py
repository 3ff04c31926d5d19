"""MessagePack for snapshots: a bounded encoder and decoder without dependencies.

Plain values only: None, booleans, integers of 64 bits, floats, texts, bytes, lists and dictionaries with texts as
keys. There are no extension types. `unpack` takes memory for what is there, not for what a length promises.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

__all__ = ["pack", "unpack"]

DEEPEST = 64  # lists and dictionaries within one another
MOST = 2_000_000  # values in one message
LARGEST, SMALLEST = 2**64 - 1, -(2**63)

# By kind: the largest length of the short form with its first byte, then (width, first byte) of the longer forms.
_TEXT = (31, 0xA0, ((1, 0xD9), (2, 0xDA), (4, 0xDB)))
_BYTES = (-1, 0, ((1, 0xC4), (2, 0xC5), (4, 0xC6)))
_LIST = (15, 0x90, ((2, 0xDC), (4, 0xDD)))
_DICT = (15, 0x80, ((2, 0xDE), (4, 0xDF)))
_UNSIGNED = ((1, 0xCC), (2, 0xCD), (4, 0xCE), (8, 0xCF))
_SIGNED = ((1, 0xD0), (2, 0xD1), (4, 0xD2), (8, 0xD3))


def pack(value: Any) -> bytes:
    """Return *value* as MessagePack. Raises ValueError or TypeError for what has no form in it."""
    out = bytearray()
    _pack(value, out, DEEPEST)
    return bytes(out)


def _pack(value: Any, out: bytearray, deeper: int) -> None:
    if value is None:
        out.append(0xC0)
    elif value is True or value is False:
        out.append(0xC3 if value else 0xC2)
    elif isinstance(value, int):
        _pack_integer(value, out)
    elif isinstance(value, str):
        data = value.encode()
        _head(len(data), out, _TEXT)
        out += data
    elif isinstance(value, bytes | bytearray):
        _head(len(value), out, _BYTES)
        out += value
    elif isinstance(value, float):
        import struct

        out += b"\xcb" + struct.pack(">d", value)
    elif not deeper:
        raise ValueError(f"over {DEEPEST} levels of nesting")
    elif isinstance(value, list | tuple):
        _head(len(value), out, _LIST)
        for each in value:
            _pack(each, out, deeper - 1)
    elif isinstance(value, dict):
        _head(len(value), out, _DICT)
        for key, each in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a key is a text, not {type(key).__name__}")
            _pack(key, out, deeper - 1)
            _pack(each, out, deeper - 1)
    else:
        raise TypeError(f"{type(value).__name__} has no form in MessagePack")


def _pack_integer(value: int, out: bytearray) -> None:
    if -32 <= value <= 127:
        out += value.to_bytes(1, "big", signed=value < 0)
        return
    if not SMALLEST <= value <= LARGEST:
        raise ValueError("an integer of over 64 bits")
    for width, first in _UNSIGNED if value >= 0 else _SIGNED:
        if value < 1 << 8 * width if value >= 0 else value >= -1 << 8 * width - 1:
            out.append(first)
            out += value.to_bytes(width, "big", signed=value < 0)
            return


def _head(length: int, out: bytearray, kind: tuple[int, int, tuple[tuple[int, int], ...]]) -> None:
    short, mark, wide = kind
    if length <= short:
        out.append(mark | length)
        return
    for width, first in wide:
        if length < 1 << 8 * width:
            out.append(first)
            out += length.to_bytes(width, "big")
            return
    raise ValueError(f"a length of {length}")


def unpack(data: bytes) -> Any:
    """Return the value in *data*. Raises ValueError if it is none, more than one, too deep, or of too many values."""
    reader = _Reader(data)
    value = reader.value(DEEPEST)
    if reader.at != len(data):
        raise ValueError("bytes after the value")
    return value


_FIXED = {0xC0: None, 0xC2: False, 0xC3: True}
_INTEGERS = {first: (width, False) for width, first in _UNSIGNED} | {
    first: (width, True) for width, first in _SIGNED
}
_WIDE = {first: (width, kind) for kind in (_TEXT, _BYTES, _LIST, _DICT) for width, first in kind[2]}


class _Reader:
    """Reads values of *data* one after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self._left = MOST

    def value(self, deeper: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"over {MOST} values")
        first = self._take(1)[0]
        if first <= 0x7F:
            return first
        if first >= 0xE0:
            return first - 0x100
        if first in _FIXED:
            return _FIXED[first]
        if first in _INTEGERS:
            width, signed = _INTEGERS[first]
            return int.from_bytes(self._take(width), "big", signed=signed)
        if first in (0xCA, 0xCB):
            import struct

            return struct.unpack(">f" if first == 0xCA else ">d", self._take(4 if first == 0xCA else 8))[0]
        if first in _WIDE:
            width, kind = _WIDE[first]
            return self._of(kind, int.from_bytes(self._take(width), "big"), deeper)
        if first < 0xC0:
            kind = _DICT if first < 0x90 else _LIST if first < 0xA0 else _TEXT
            return self._of(kind, first - kind[1], deeper)
        raise ValueError(f"no value begins with {first:#x}")

    def _of(self, kind: Any, length: int, deeper: int) -> Any:
        if kind is _TEXT:
            return self._take(length).decode()
        if kind is _BYTES:
            return self._take(length)
        if not deeper:
            raise ValueError(f"over {DEEPEST} levels of nesting")
        if length > len(self.data) - self.at:  # each value has a byte at least
            raise ValueError("it ends early")
        if kind is _LIST:
            return [self.value(deeper - 1) for _ in range(length)]
        found = {}
        for _ in range(length):
            key = self.value(0)
            if not isinstance(key, str):
                raise ValueError("a key that is no text")
            found[key] = self.value(deeper - 1)
        return found

    def _take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise ValueError("it ends early")
        found, self.at = self.data[self.at : end], end
        return found
