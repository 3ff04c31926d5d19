"""Normalise manifest values that other hosts of this contract accept.

Only values with one plain meaning are replaced. Whatever else is wrong stays, for the rules of the manifest to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ..messages.quoting import quote

# YAML 1.1 reads these words as booleans, and YAML 1.2 as text.
_WORDS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
_DIGITS = 20  # characters of a number that is written as text


class Remark(Struct, frozen=True):
    """A value that was not taken as it is written."""

    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.key}: {self.text}"


Adapted = tuple[Any, str | None]  # the value to take, and a remark if that is another one
Adapter = Callable[[Any], Adapted]


def adapted(document: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Remark, ...]]:
    """Return *document* with odd values replaced, and what was odd about them."""
    top, remarks = _adapted(document, _ADAPTERS, "")
    if isinstance(top.get("isolation"), Mapping):
        top["isolation"], more = _adapted(top["isolation"], _ISOLATION_ADAPTERS, "isolation.")
        remarks += more
    return top, tuple(remarks)


def _adapted(
    document: Mapping[str, Any], adapters: Mapping[str, Adapter], prefix: str
) -> tuple[dict[str, Any], list[Remark]]:
    found, remarks = dict(document), []
    for key, adapter in adapters.items():
        if key in found:
            found[key], text = adapter(found[key])
            if text is not None:
                remarks.append(Remark(f"{prefix}{key}", text))
    return found, remarks


def _text(value: Any) -> Adapted:
    if value is None:
        return "", "empty"
    return _version(value)


def _version(value: Any) -> Adapted:
    if type(value) in (int, float):
        return str(value), f"a number, taken as the text {quote(str(value))}: quote it, because 1.10 is 1.1"
    return value, None


def _extensions(value: Any) -> Adapted:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value, None
    odd = [quote(each) for each in value if each and not _is_suffix(each)]
    if not odd:
        return value, None
    return value, f"no extensions, so these match only files with just that name: {', '.join(odd[:5])}"


def _is_suffix(value: str) -> bool:
    plain = value.isprintable() and value == value.strip() and "/" not in value
    return value.startswith(".") and not value.endswith(".") and plain


def _names(value: Any) -> Adapted:
    if not isinstance(value, list):
        return [], "not a list: taken as empty"
    names = [each for each in value if isinstance(each, str) and each.strip()]
    return names, None if len(names) == len(value) else "holds what is no name: that was left out"


def _isolation(value: Any) -> Adapted:
    return ({}, "empty: the defaults are taken") if value is None else (value, None)


def _seconds(value: Any) -> Adapted:
    if isinstance(value, str) and len(value) <= _DIGITS and value.isascii():
        try:
            return int(value), f"a text, taken as the number {int(value)}"
        except ValueError:
            return value, None
    return value, None


def _megabytes(value: Any) -> Adapted:
    if type(value) is float and value >= 1:
        return int(value), f"no whole number: {int(value)} is taken"
    return _seconds(value)


def _flag(value: Any) -> Adapted:
    if value is None:
        return False, "empty, taken as false"
    if type(value) is int and value in (0, 1):
        return bool(value), f"a number, taken as {str(bool(value)).lower()}"
    if isinstance(value, str) and (known := _WORDS.get(value.lower())) is not None:
        return known, f"a text, taken as {str(known).lower()}"
    return value, None


_ADAPTERS: dict[str, Adapter] = {
    "version": _version,
    "supported_extensions": _extensions,
    "author": _text,
    "description": _text,
    "required_variables": _names,
    "optional_variables": _names,
    "isolation": _isolation,
}
_ISOLATION_ADAPTERS: dict[str, Adapter] = {
    "timeout_seconds": _seconds,
    "memory_mb": _megabytes,
    "network": _flag,
}
