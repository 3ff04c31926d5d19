"""A `duplex` manifest to the text of its `manifest.toml`, which reads back equal. Writes no file, and no unknown key.

The schema has texts, whole numbers, switches, lists of texts and one level of tables; nothing else is spelled
here, so no library for writing TOML is needed.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from .duplex_manifest import DuplexManifest

_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')  # what may not stand as it is in a TOML text
_TABLES = ("capabilities", "provides", "subscribes", "lifecycle")


def serialise(manifest: DuplexManifest) -> str:
    """Return the text of *manifest*, every key of it spelled out."""
    head = {key: getattr(manifest, key) for key in ("name", "version", "abi_version", "description")}
    parts = [_table("[plugin]", head)]
    parts += [_table(f"[{name}]", _content(getattr(manifest, name))) for name in _TABLES]
    parts += [_table("[[config]]", _content(entry)) for entry in manifest.config]
    return "\n".join(parts)


def _content(table: Any) -> dict[str, Any]:
    return {each.name: getattr(table, each.name) for each in fields(table)}


def _table(header: str, content: dict[str, Any]) -> str:
    return "".join([f"{header}\n", *(f"{key} = {_value(value)}\n" for key, value in content.items())])


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{_ESCAPED.sub(_escape, value)}"'
        case tuple():
            return f"[{', '.join(_value(each) for each in value)}]"
        case _:
            return str(value)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}" if found[0] not in '"\\' else f"\\{found[0]}"
