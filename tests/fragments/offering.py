"""Short ways to offer fragments and to look at a directory, for the tests of this folder."""

from __future__ import annotations

import os
from pathlib import Path

from plughost_sdk import hook_messages as m

from plughost.fragments import Offer, Output

REPLACE = m.MERGE_STRATEGY_REPLACE
APPEND = m.MERGE_STRATEGY_APPEND
MERGE = m.MERGE_STRATEGY_MERGE


def offer(
    plugin: str, path: str, content: str, strategy: int = REPLACE, *, order: int = 0, format: str = ""
) -> Offer:
    """Return an offer of *plugin*."""
    fragment = m.Fragment(path=path, content=content, strategy=strategy, order=order, format=format)
    return Offer(plugin, fragment)


def output(path: str, content: str | bytes) -> Output:
    """Return a file to be."""
    data = content.encode() if isinstance(content, str) else content
    return Output(path, data, ("one",), ("replace",))


def contents(directory: Path) -> dict[str, bytes | None]:
    """Return every path beneath *directory* and what it holds; None for a directory."""
    found: dict[str, bytes | None] = {}
    for above, directories, files in os.walk(directory):
        for name in directories:
            found[os.path.relpath(os.path.join(above, name), directory)] = None
        for name in files:
            path = os.path.join(above, name)
            target = os.fsencode(os.readlink(path)) if os.path.islink(path) else Path(path).read_bytes()
            found[os.path.relpath(path, directory)] = target
    return found
