"""Values to YAML text, the same bytes for the same values. Writes no anchors, tags or flow style.

Readers disagree about plain words: `on` is a truth value for YAML 1.1 and a text for 1.2, `3.10` is a number for
both. So a text is written plain only where every reader takes it for that text, as a block if it has lines, and
between double quotes otherwise. The key `on` at the top is the exception: GitHub's own files have it plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

KEY_LIMIT = 1000  # characters; YAML lets a key of up to 1024 stand before its colon without a question mark

_PLAIN = re.compile(r"(?:[A-Za-z_/$(]|\.{0,2}/|\.[A-Za-z])[ -~]*")
_BREAKS_PLAIN = re.compile(r": | #|[: ]\Z")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", ".nan"])

# What may stand as it is: no controls, no separators that a reader may take for a line feed, nothing that turns
# the direction of writing.
_VISIBLE = r" -~\xa1-\u200a\u2010-\u2027\u202f-\u205f\u2070-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd"
_HIDDEN = re.compile(rf'[^{_VISIBLE}\U00010000-\U0010ffff]|["\\]')
_BLOCK = re.compile(rf"[{_VISIBLE}\U00010000-\U0010ffff\t\n]*")
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", '"': '\\"', "\\": "\\\\"}


class Plain(str):
    """A number, truth value or null in the spelling of whoever wrote it."""

    __slots__ = ()


class Quoted(str):
    """A text that stands between quotes, because something is put into it before it is read."""

    __slots__ = ()


def write(value: Any, indent: int = 0) -> str:
    """Return *value* (of dict, list, str, Plain, int, bool, None) as lines of YAML."""
    return "".join(f"{line}\n" for line in _lines(value, " " * indent))


def is_plain(text: str) -> bool:
    """Say whether *text* needs no quotes: every reader of YAML takes it for that text."""
    return bool(_PLAIN.fullmatch(text) and not _BREAKS_PLAIN.search(text) and text.lower() not in _WORDS)


def _lines(value: Any, margin: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _entry(key, each, margin)
    elif isinstance(value, list) and value:
        for each in value:
            yield from _item(each, margin)
    else:
        yield margin + _scalar(value, margin)


def _entry(key: str, value: Any, margin: str) -> Iterator[str]:
    name = key if key == "on" and not margin else _quoted(key)
    if len(name) > KEY_LIMIT:
        yield f"{margin}? {name}"
        name = ""
    if isinstance(value, (dict, list)) and value:
        yield f"{margin}{name}:"
        yield from _lines(value, margin + "  ")
    else:
        yield f"{margin}{name}: {_scalar(value, margin)}"


def _item(value: Any, margin: str) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        first, *rest = _lines(value, margin + "  ")
        yield f"{margin}- {first[len(margin) + 2 :]}"
        yield from rest
    else:
        yield f"{margin}- {_scalar(value, margin)}"


def _scalar(value: Any, margin: str) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Plain() | int():
            return str(value)
        case str():
            return _block(value, margin + "  ") if _is_block(value) else _quoted(value)
        case {} | []:
            return "{}" if isinstance(value, dict) else "[]"
    raise TypeError(f"{type(value).__name__} cannot be written as YAML")


def _quoted(text: str) -> str:
    return text if is_plain(text) and not isinstance(text, Quoted) else f'"{_HIDDEN.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    return _ESCAPES.get(char) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def _is_block(text: str) -> bool:
    """Say whether *text* keeps every character as a block: its ends are where readers differ."""
    lines = text.removesuffix("\n").split("\n")
    return bool("\n" in text and text[0] not in " \t\n" and lines[-1].strip(" \t") and _BLOCK.fullmatch(text))


def _block(text: str, margin: str) -> str:
    head = "|" if text.endswith("\n") else "|-"
    lines = text.removesuffix("\n").split("\n")
    return "\n".join([head, *(margin + line if line else "" for line in lines)])
