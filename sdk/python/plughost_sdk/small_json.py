"""Small, plain JSON without the json module, whose import costs half as much as starting Python.

`loads` and `dumps` never say that something is wrong. Whatever is not small and plain they decline with `Declined`: an
escape, a float, a type of the author's own, more than a few hundred values. `from_json` and `to_json` then turn
to json, which decides. So the two can only agree.
"""

import sys
from _thread import get_ident

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST = 4_096  # characters of text; beyond, json is faster even with its import
MOST = 500  # values; likewise
DEEPEST = 20  # levels of nesting
LARGEST = 10**15  # of an integer: well within what every reader keeps exactly

_BLANKS = " \t\n\r"
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)} | {
    34: '\\"',
    92: "\\\\",
    10: "\\n",
    13: "\\r",
    9: "\\t",
}


def from_json(data: bytes) -> "Any":
    """Return the value in *data*, whoever can read it. Raises ValueError or RecursionError."""
    text = data.decode()
    if "json" not in sys.modules:
        try:
            return loads(text)
        except Declined:
            pass
    import json

    return json.loads(text)


def to_json(value: "Any", errors: str = "strict") -> bytes:
    """Return *value* as JSON without line feeds, whoever can write it. Raises ValueError, TypeError or RecursionError.

    Lone surrogates, which no UTF-8 can carry, are treated as *errors* says, like in `str.encode`.
    """
    if "json" not in sys.modules:
        try:
            return dumps(value).encode("utf-8", errors)
        except Declined:
            pass
    return _encoder()(value).encode("utf-8", errors)


_encode: "Callable[[Any], str] | None" = None


def _encoder() -> "Callable[[Any], str]":
    """Return json's encoder, made once: `json.dumps` makes one for every call that wants it compact."""
    global _encode
    if _encode is None:
        import json

        _encode = _quick(json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    return _encode


def _quick(encoder: "Any") -> "Callable[[Any], str]":
    """Return the `encode` of *encoder* with the part in C made once, and not for every value."""
    from json import encoder as parts

    make: Any = getattr(parts, "c_make_encoder", None)
    if make is None:  # an interpreter without it
        plain: Callable[[Any], str] = encoder.encode
        return plain
    join, thread = "".join, get_ident()

    def made() -> "Any":  # the dictionary holds what is being written: so it notices circles
        return make({}, encoder.default, parts.encode_basestring, None, ":", ",", False, False, False)

    write = made()

    def encode(value: "Any") -> str:
        nonlocal write
        if get_ident() != thread:  # two at once would take each other's values for circles
            return str(encoder.encode(value))
        try:
            return join(write(value, 0))
        except BaseException:
            write = made()  # what was being written is not forgotten by the other
            raise

    return encode


class Declined(Exception):
    """Not small and plain: ask json."""


def loads(text: str) -> object:
    """Return the value that *text* spells. Raises Declined."""
    if len(text) > LONGEST:
        raise Declined
    try:
        value, at = _value(text, _skip(text, 0), 0)
        if _skip(text, at) != len(text):
            raise Declined
    except IndexError:  # the text ends too early
        raise Declined from None
    return value


def dumps(value: object) -> str:
    """Return *value* as JSON. Raises Declined."""
    parts: list[str] = []
    _write(value, parts, 0)
    return "".join(parts)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _value(text: str, at: int, depth: int) -> tuple[object, int]:
    first = text[at]
    if first == '"':
        return _string(text, at)
    if first == "{":
        return _object(text, at + 1, depth + 1)
    if first == "[":
        return _array(text, at + 1, depth + 1)
    word, meaning = _WORDS.get(first, ("", None))
    if word:
        if text.startswith(word, at):
            return meaning, at + len(word)
        raise Declined
    return _integer(text, at)


def _string(text: str, at: int) -> tuple[str, int]:
    end = text.find('"', at + 1)
    content = text[at + 1 : end]
    if end < 0 or "\\" in content or not content.isprintable():
        raise Declined
    return content, end + 1


def _integer(text: str, at: int) -> tuple[int, int]:
    end = at + 1
    while end < len(text) and text[end] in "0123456789":
        end += 1
    token = text[at:end]
    digits = token[1:] if token[0] == "-" else token
    plain = digits.isascii() and digits.isdigit() and (digits[0] != "0" or digits == token == "0")
    if not plain or len(digits) > 15 or (end < len(text) and text[end] in ".eE"):
        raise Declined
    return int(token), end


def _object(text: str, at: int, depth: int) -> tuple[dict[str, object], int]:
    found: dict[str, object] = {}
    at = _skip(text, at)
    if depth > DEEPEST:
        raise Declined
    if text[at] == "}":
        return found, at + 1
    while True:
        if text[at] != '"':
            raise Declined
        key, at = _string(text, at)
        at = _skip(text, at)
        if text[at] != ":":
            raise Declined
        found[key], at = _value(text, _skip(text, at + 1), depth)
        at = _skip(text, at)
        if text[at] == "}":
            return found, at + 1
        if text[at] != ",":
            raise Declined
        at = _skip(text, at + 1)


def _array(text: str, at: int, depth: int) -> tuple[list[object], int]:
    found: list[object] = []
    at = _skip(text, at)
    if depth > DEEPEST:
        raise Declined
    if text[at] == "]":
        return found, at + 1
    while True:
        value, at = _value(text, at, depth)
        found.append(value)
        at = _skip(text, at)
        if text[at] == "]":
            return found, at + 1
        if text[at] != ",":
            raise Declined
        at = _skip(text, at + 1)


def _write(value: object, parts: list[str], depth: int) -> None:
    if depth > DEEPEST or len(parts) > 4 * MOST:
        raise Declined
    kind = type(value)
    if kind is str:
        parts.append(_quoted(value))  # type: ignore[arg-type]
    elif value is None or value is True or value is False:
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif kind is int and -LARGEST < value < LARGEST:  # type: ignore[operator]
        parts.append(str(value))
    elif kind is dict:
        separator = "{"
        for key, each in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise Declined
            parts.append(separator + _quoted(key) + ":")
            _write(each, parts, depth + 1)
            separator = ","
        parts.append("}" if value else "{}")
    elif kind is list or kind is tuple:
        separator = "["
        for each in value:  # type: ignore[attr-defined]
            parts.append(separator)
            _write(each, parts, depth + 1)
            separator = ","
        parts.append("]" if value else "[]")
    else:
        raise Declined


def _quoted(text: str) -> str:
    if len(text) > LONGEST:
        raise Declined
    return f'"{text}"' if text.isalnum() and text.isascii() else f'"{text.translate(_ESCAPES)}"'
