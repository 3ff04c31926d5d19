"""Plugins and their tools -> names that every client takes: stable, sorted, each used once. Knows no protocol."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

LONGEST = 64  # characters: what common clients and models take
HASH_CHARS = 8  # of the hash that tells two names apart which would read the same: one chance in 4 billion
SEPARATOR = "__"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def tool_names(tools: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return a name for each (plugin, tool), in the order of the names.

    It is `plugin__tool`. One that is too long, holds other characters, or reads like another's, ends in a hash of what
    it stands for, so that it stays the same whatever else is there.
    """
    pairs = set(tools)
    readings = Counter(_reading(*pair) for pair in pairs)
    named = {}
    for plugin, tool in pairs:
        reading = _reading(plugin, tool)
        exact = reading == f"{plugin}{SEPARATOR}{tool}" and len(reading) <= LONGEST
        name = reading if exact and readings[reading] == 1 else _hashed(reading, plugin, tool)
        named[name] = (plugin, tool)
    return dict(sorted(named.items()))


def _reading(plugin: str, tool: str) -> str:
    return _UNFIT.sub("_", f"{plugin}{SEPARATOR}{tool}")


def _hashed(reading: str, plugin: str, tool: str) -> str:
    # Names are never empty and hold no NUL, so that no two pairs are the same text here.
    exact = f"{plugin}\0{tool}".encode(errors="surrogatepass")
    digest = hashlib.sha256(exact).hexdigest()[:HASH_CHARS]
    return f"{reading[: LONGEST - HASH_CHARS - 1]}_{digest}"
