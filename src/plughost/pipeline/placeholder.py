"""`${{ matrix.KEY }}` and `{{ matrix.KEY }}` in the texts of a node, to the value that one row has. Evaluates nothing.

Only a key by itself is replaced: `${{ matrix.os == 'linux' }}` is an expression in a language of the provider's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as Values

from .node import Mapping, Node, Scalar, Sequence

_PLACEHOLDER = re.compile(r"\$?\{\{[ \t]*matrix\.([A-Za-z0-9_-]+)[ \t]*\}\}")


def is_in(text: str) -> bool:
    return _PLACEHOLDER.search(text) is not None


def keys(node: Node) -> Iterator[tuple[str, Scalar]]:
    """Yield the keys that *node* has placeholders for, each with the text that holds it."""
    if isinstance(node, Scalar):
        for found in _PLACEHOLDER.finditer(node.text):
            yield found[1], node
    else:
        for each in node.items if isinstance(node, Sequence) else node.entries.values():
            yield from keys(each)


def replaced(node: Node, row: Values[str, Scalar]) -> Node:
    """Return *node* with the values of *row* in the place of its placeholders; a key it lacks gives nothing."""
    if isinstance(node, Scalar):
        return _text(node, row)
    if isinstance(node, Sequence):
        items = tuple(replaced(each, row) for each in node.items)
        return Sequence(items, node.line, node.column, node.source)
    entries = {key: replaced(value, row) for key, value in node.entries.items()}
    return Mapping(entries, node.keys, node.line, node.column, node.source)


def _text(scalar: Scalar, row: Values[str, Scalar]) -> Scalar:
    if "matrix." not in scalar.text:
        return scalar
    alone = _PLACEHOLDER.fullmatch(scalar.text)
    if alone is not None:  # the value itself, so that a number stays one
        value = row.get(alone[1], Scalar("", "'"))
        return Scalar(value.text, value.style, scalar.line, scalar.column)
    text = _PLACEHOLDER.sub(lambda found: row[found[1]].text if found[1] in row else "", scalar.text)
    style = scalar.style or "'"  # a plain text that became `3.10` would be a number
    return Scalar(text, style, scalar.line, scalar.column)
