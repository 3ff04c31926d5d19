"""Texts to texts that mean the same after Woodpecker has substituted variables in the whole file.

Woodpecker replaces `${NAME}` before it reads the YAML, with nothing if it does not know NAME. So what a shell shall
see is written `$${NAME}`, and only the variables of the matrix keep one dollar. `$$`, `\\\\` and `\\/` lose their first
character, wherever they stand: they are doubled too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from .yaml_writer import Quoted

_MATRIX = re.compile(r"\$?\{\{\s*matrix\.([\w-]+)\s*\}\}")
_DOLLARS = re.compile(r"\$\$+|\$(?=\{|\Z)")
_BACKSLASHES = re.compile(r"\\\\+|\\(?=/)")


def variable(key: str) -> str:
    """Return the name under which Woodpecker substitutes the matrix's *key*."""
    return re.sub(r"\W", "_", key, flags=re.ASCII)


def writer(keys: Iterable[str]) -> Callable[[Any], Any]:
    """Return what makes a text ready for Woodpecker, in a job whose matrix has *keys*; lists and mappings too."""
    known = frozenset(keys)

    def write(value: Any) -> Any:
        if isinstance(value, dict):
            return {write(key): write(each) for key, each in value.items()}
        if isinstance(value, list):
            return [write(each) for each in value]
        return _written(value, known) if isinstance(value, str) and re.search(r"\$|\{\{", value) else value

    return write


def protect(text: str) -> str:
    """Return a whole file with the backslashes doubled that Woodpecker would take for its own."""
    return _BACKSLASHES.sub(lambda found: found[0] * 2, text)


def _written(text: str, known: frozenset[str]) -> str:
    parts, at = [], 0
    for found in _MATRIX.finditer(text):
        if found[1] in known:
            parts += [_doubled(text[at : found.start()]), f"${{{variable(found[1])}}}"]
            at = found.end()
    written = "".join([*parts, _doubled(text[at:])])
    return Quoted(written) if parts else written  # what is put in may look like a number


def _doubled(text: str) -> str:
    return _DOLLARS.sub(lambda found: found[0] * 2, text)
