"""The settings that a `duplex` plugin's manifest declares, and what the host says to them, to one table for init.

It refuses a setting that the manifest does not declare, and a value that is not of its kind. A manifest that declares
none takes whatever the host gives: older ones have no such list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import ManifestError
from ..messages.quoting import listed, quote
from .duplex_manifest import ConfigEntry, DuplexManifest

TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")
_WHOLE = re.compile("(-?[0-9]{1,18})?")  # `int` would take `1_0`, blanks and the digits of other scripts


def resolve(manifest: DuplexManifest, given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the plugin's settings: what is *given*, else the defaults; None if there are none.

    Raises ManifestError.
    """
    if not manifest.config:
        return dict(given) if given else None
    entries = {entry.key: entry for entry in manifest.config}
    unknown = [key for key in given or {} if key not in entries]
    if unknown:
        raise ManifestError(
            str(manifest.file),
            "config",
            f"it has no setting {listed(unknown)}",
            f"Those there are: {listed(list(entries))}",
        )
    return {
        key: value(manifest, entry, (given or {}).get(key, entry.default)) for key, entry in entries.items()
    }


def value(manifest: DuplexManifest, entry: ConfigEntry, said: Any) -> Any:
    """Return *said*, a value or its spelling, as *entry* has it. Raises ManifestError if it is none."""
    found = _value(entry, said)
    if found is None:
        expected = (
            f"one of {listed(entry.choices)}" if entry.kind == "enum" else f"a value of kind {entry.kind}"
        )
        raise ManifestError(
            str(manifest.file),
            f"config.{entry.key}",
            f"{quote(str(said))} is not {expected}",
            "Change the setting",
        )
    return found


def _value(entry: ConfigEntry, said: Any) -> Any:
    match entry.kind:
        case "bool":
            if isinstance(said, bool):
                return said
            word = said.strip().lower() if isinstance(said, str) else None
            return True if word in TRUE else False if word in FALSE else None
        case "int":
            if isinstance(said, int) and not isinstance(said, bool):
                return said
            return int(said or 0) if isinstance(said, str) and _WHOLE.fullmatch(said) else None
        case "enum":
            if said == "" and entry.choices:
                return entry.choices[0]
            return said if said in entry.choices else None
        case _:
            return said if isinstance(said, str) else None
