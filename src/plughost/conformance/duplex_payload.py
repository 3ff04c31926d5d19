"""Bytes as a plugin writes them on the wire, to bytes; says how they are not padded base64. Decodes nothing else."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import Raw

CLAUSE = "duplex:wire:base64"


def members(raw: Raw) -> dict[str, Any]:
    """Return *raw* as an object; an empty one if it is none."""
    try:
        found = msgspec.json.decode(bytes(raw))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read(value: Any) -> bytes | str:
    """Return the bytes that *value* is, or a text that says why it is none in padded base64."""
    if not isinstance(value, str):
        return f"a JSON {type(value).__name__}, not a text"
    try:
        found = base64.b64decode(value.encode(), validate=True)
    except (binascii.Error, ValueError) as error:
        return f"no base64 of the standard alphabet with its padding ({error})"
    if base64.b64encode(found).decode() != value:
        return "base64 with bits left over"
    return found
