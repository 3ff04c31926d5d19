"""Members of a JSON object, each checked for what the contract says it is. Raises ValueError naming the member.

JSON's true is no number here, `5.0` is no integer, and bytes are canonical base64 or a list of numbers 0–255.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

U8, U16, U32, U64 = 2**8 - 1, 2**16 - 1, 2**32 - 1, 2**64 - 1  # the largest of each

SHORT_TEXT = 4_096  # characters of base64, which is written again to be compared

_BYTES = bytes, bytearray, memoryview
_REQUIRED = object()


def members(value: Any, what: str = "params") -> dict[str, Any]:
    """Return *value* if it is an object."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    return value


def text(of: dict[str, Any], name: str, default: Any = _REQUIRED) -> str:
    value = _get(of, name, default)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a string")
    return value


def texts(of: dict[str, Any], name: str) -> list[str]:
    value = _get(of, name, _REQUIRED)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} is not a list of strings")
    return value


def integer(of: dict[str, Any], name: str, largest: int, default: Any = _REQUIRED) -> int:
    value = _get(of, name, default)
    if type(value) is not int or not 0 <= value <= largest:
        raise ValueError(f"{name} is not an integer from 0 to {largest}")
    return value


def flag(of: dict[str, Any], name: str) -> bool:
    value = _get(of, name, _REQUIRED)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is neither true nor false")
    return value


def blob(of: dict[str, Any], name: str) -> bytes:
    """Return bytes that are required."""
    return from_wire(_get(of, name, _REQUIRED), name)


def pairs(of: dict[str, Any], name: str) -> list[tuple[str, str]]:
    """Return a list of pairs of strings, as headers are; absent means none."""
    found = []
    value = _get(of, name, [])
    for each in value if isinstance(value, list) else [None]:
        if not isinstance(each, list) or [type(part) for part in each] != [str, str]:
            raise ValueError(f"{name} is not a list of pairs of strings")
        found.append((each[0], each[1]))
    return found


def from_wire(value: Any, name: str) -> bytes:
    """Return the bytes that base64 or a list of numbers stands for."""
    if isinstance(value, str):
        try:
            data = a2b_base64(value)
        except ValueError:  # binascii.Error is one
            raise ValueError(f"{name} is not base64") from None
        if not _is_canonical(value, data):
            raise ValueError(f"{name} is not base64")
        return data
    if isinstance(value, list) and all(type(each) is int and 0 <= each <= U8 for each in value):
        return bytes(value)
    raise ValueError(f"{name} is neither base64 nor a list of bytes")


def _is_canonical(text: str, data: bytes) -> bool:
    """Tell whether *text*, which was decoded to *data*, is spelled as we would spell it."""
    if len(text) <= SHORT_TEXT:
        return b2a_base64(data, newline=False).decode() == text
    # a2b_base64 skips what it does not know: then the text is too long. And it takes no notice of bits after the last
    # byte: then the end is spelled otherwise.
    size = len(data)
    end = b2a_base64(data[size - size % 3 :], newline=False)
    return len(text) == (size + 2) // 3 * 4 and text.endswith(end.decode())


def to_wire(data: bytes | bytearray | memoryview) -> str:
    """Return *data* as base64. Raises TypeError for anything but bytes: text has no encoding of its own."""
    if not isinstance(data, _BYTES):
        raise TypeError(f"a payload is bytes, not {type(data).__name__}")
    return b2a_base64(data, newline=False).decode()


def base64(data: bytes | bytearray | memoryview | None) -> bytes:
    """Like `to_wire`, as ASCII. None is no bytes."""
    if type(data) is bytes:
        return b2a_base64(data, newline=False)
    return to_wire(b"" if data is None else data).encode()


def _get(of: dict[str, Any], name: str, default: Any) -> Any:
    value = of.get(name, default)
    if value is _REQUIRED:
        raise ValueError(f"{name} is missing")
    return value
