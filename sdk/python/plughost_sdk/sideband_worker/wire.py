"""Turns lines into messages and messages into lines. Refuses what is no JSON object; knows no meaning.

The json module costs a third of what it takes to start Python, so the C functions beneath it are used where there are
any.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    Value: TypeAlias = str | int | bool | Mapping[str, "Value"]

LINE_BYTES = 33_554_432  # of one line without its line feed, either way: a plot fits


class _Reading:
    """What the scanner of `_json` asks of its decoder."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")


def _reader() -> Callable[[str], Any]:
    try:
        from _json import make_scanner
    except ImportError:  # another Python than CPython
        import json

        return json.loads
    scan = make_scanner(_Reading())  # type: ignore[arg-type]

    def read(text: str) -> Any:
        text = text.strip(" \t\r\n")
        value, end = scan(text, 0)
        if end != len(text):
            raise ValueError("there is more after the value")
        return value

    return read


def _quoter() -> Callable[[str], str]:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii


_read = _reader()
_quote = _quoter()


def decode(line: bytes) -> dict[str, Any] | None:
    """Return the object in *line*, or None if there is none."""
    try:
        value = _read(line.decode())
    except (ValueError, StopIteration, RecursionError, SystemError):
        return None  # the last: it wanted to raise an error of json's, which nobody has imported
    return value if isinstance(value, dict) else None


def encode(message: Mapping[str, Value]) -> bytes:
    """Return *message* as one line, in ASCII, with its line feed."""
    return (_object(message) + "\n").encode("ascii")


def _object(members: Mapping[str, Value]) -> str:
    return "{" + ",".join(f"{_quote(key)}:{_value(value)}" for key, value in members.items()) + "}"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _object(value)
