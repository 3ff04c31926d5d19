"""The values of a pipeline file as they were written: with their line, column and spelling. Knows no meaning.

A number keeps its own text, because to a matrix `3.10` is a version and not 3.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NULLS = frozenset(("", "~", "null", "Null", "NULL"))  # plain words that the core schema of YAML 1.2 reads so
BOOLEANS = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))
_NUMBER = re.compile(
    r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


@dataclass(frozen=True, slots=True)
class Scalar:
    """One text, number, true, false or nothing. *style* is "" for a plain word, else `'`, `"`, `|` or `>`."""

    text: str
    style: str = ""
    line: int = 0  # from 1; 0 for what is in no file
    column: int = 0
    source: str = ""  # its file, if that is another than the one that holds it

    @property
    def is_null(self) -> bool:
        return not self.style and self.text in NULLS

    @property
    def is_word(self) -> bool:
        """Whether the text is a text to YAML, and not a number, true, false or nothing."""
        return bool(self.style) or not (
            self.text in NULLS or self.text in BOOLEANS or _NUMBER.fullmatch(self.text)
        )


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    line: int = 0
    column: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping in the order of its keys, which are texts; *keys* says how and where each was written."""

    entries: dict[str, Node]
    keys: dict[str, Scalar]
    line: int = 0
    column: int = 0
    source: str = ""


Node = Scalar | Sequence | Mapping


def mapping_of(entries: dict[str, Node], like: Node) -> Mapping:
    """Return a mapping that stands where *like* stood. Its keys are words of ours, which need no quotes."""
    keys = {key: Scalar(key, "", value.line, value.column) for key, value in entries.items()}
    return Mapping(entries, keys, like.line, like.column, like.source)
