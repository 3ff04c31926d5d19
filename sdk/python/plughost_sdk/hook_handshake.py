"""The handshake by hand: turns the bytes of Hello into a value, and values into the bytes of PluginInfo.

Does without protobuf, which takes longer to import than Python takes to start. Refuses a message that is cut short,
text that is not UTF-8 and a field without a number; skips unknown fields. No other message is read or written here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROTOCOL = 1  # what both ends must say
LIMIT = 10 * 1024 * 1024  # bytes of one message, inclusive: both ends refuse more

_VARINT, _BYTES = 0, 2  # how a value is spelled: the low three bits of what precedes it
_FIXED_BYTES = {1: 8, 5: 4}  # spellings of a fixed size, which only unknown fields can have
_U32 = 0xFFFF_FFFF  # a uint32 keeps the low bits of what is sent; a tag must fit
_U64 = 0xFFFF_FFFF_FFFF_FFFF
_VARINT_BYTES = 10  # 64 bits, seven in each byte


class Hello:
    """What the host says first."""

    __slots__ = ("core_protocol", "core_version", "env")

    def __init__(self, data: bytes) -> None:
        """Read the message. Raises ValueError if it is none."""
        self.core_protocol = 0
        self.core_version = ""
        self.env: dict[str, str] = {}
        for number, value in fields(data):
            if number == 1 and isinstance(value, int):
                self.core_protocol = value & _U32
            elif number == 2 and isinstance(value, bytes):
                self.core_version = value.decode()
            elif number == 3 and isinstance(value, bytes):
                key, text = _entry(value)
                self.env[key] = text


def encode_plugin_info(
    name: str,
    version: str,
    capabilities: Iterable[str],
    requires: Iterable[str],
    conflicts_with: Iterable[str],
    metadata: dict[str, str],
) -> bytes:
    """Return the bytes of PluginInfo. Raises ValueError for text that UTF-8 cannot say."""
    return b"".join(
        (
            _block(1, name.encode()),
            _block(2, version.encode()),
            _varint(3 << 3 | _VARINT) + _varint(PROTOCOL),
            *(_block(4, each.encode()) for each in capabilities),
            *(_block(5, each.encode()) for each in requires),
            *(_block(6, each.encode()) for each in conflicts_with),
            *(_block(7, _block(1, key.encode()) + _block(2, metadata[key].encode())) for key in metadata),
        )
    )


def _block(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*low, value))


def _entry(data: bytes) -> tuple[str, str]:
    entry = {1: "", 2: ""}
    for number, value in fields(data):
        if number in entry and isinstance(value, bytes):
            entry[number] = value.decode()
    return entry[1], entry[2]


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of every field that is a number or bytes. Skips those of a fixed size.

    Refuses groups: the version of protobuf that the contract is written in has none.
    """
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if not number or tag > _U32:
            raise ValueError("a field has no number, or one that is too large")
        if wire_type == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, at = _read_varint(data, at)
        elif wire_type in _FIXED_BYTES:
            size = _FIXED_BYTES[wire_type]
        else:
            raise ValueError(f"a field is spelled in a way that there is not: {wire_type}")
        if size > len(data) - at:
            raise ValueError("the message is cut short")
        if wire_type == _BYTES:
            yield number, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for position, byte in enumerate(data[at : at + _VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            return value & _U64, at + position + 1
    raise ValueError("a number is cut short, or too long")
