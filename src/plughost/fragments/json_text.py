"""JSON text -> values that can be merged, and back. Refuses what two readers could understand differently.

A number stays the text it is: 1.10 does not become 1.1, nor a large one another.
"""

from __future__ import annotations

import json
from typing import Any

from ..messages import depth
from ..messages.quoting import is_utf8, quote
from .budget import TEXT_VALUES, Budget
from .structure import DEPTH_LIMIT, Leaf, Series, Table, Text, Tree

INDENT = 2  # blanks


def read(text: Text, budget: Budget | None = None) -> Tree:
    """Return what *text* holds. Counts it. Raises FragmentError for anything that is not strictly JSON."""
    budget = budget or Budget()
    budget.spend(text, TEXT_VALUES)
    if depth.exceeds(text.content.encode(), DEPTH_LIMIT):
        raise text.wrong(f"nested over {DEPTH_LIMIT} deep", "Flatten it")

    def number(word: str) -> Leaf:
        budget.spend(text)
        return Leaf(text.plugin, ("number", word), quote(word), word)

    def refuse(word: str) -> Leaf:
        raise text.wrong(f"{word} is not JSON", "Generate a number, a text or null")

    def mapping(pairs: list[tuple[str, Any]]) -> Table:
        budget.spend(text)
        table = Table(text.plugin, None)
        for key, value in pairs:
            if key in table.items:
                raise text.wrong(f"the key {quote(key)} a second time", "Keep one of them")
            budget.spend(text)
            table.items[key] = _word(text, key), _tree(text, value, budget)
        return table

    try:
        value = json.loads(
            text.content,
            parse_int=number,
            parse_float=number,
            parse_constant=refuse,
            object_pairs_hook=mapping,
        )
    except json.JSONDecodeError as error:
        raise text.wrong(f"line {error.lineno}: not JSON: {error.msg}", "Mend what generates it") from error
    return _tree(text, value, budget)


def write(tree: Tree, text: Text, budget: Budget | None = None) -> bytes:  # noqa: ARG001 - as for YAML
    """Return *tree* as JSON, indented and with an end of line."""
    return (_written(tree, "\n") + "\n").encode()


def _tree(text: Text, value: Any, budget: Budget) -> Tree:
    if isinstance(value, (Leaf, Table, Series)):
        return value  # and counted
    budget.spend(text)
    if isinstance(value, list):
        return Series(text.plugin, None, [_tree(text, each, budget) for each in value])
    if isinstance(value, str):
        return Leaf(text.plugin, ("text", value), quote(value), _word(text, value))
    word = json.dumps(value)
    return Leaf(text.plugin, ("word", word), word, word)


def _word(text: Text, value: str) -> str:
    if not is_utf8(value):
        raise text.wrong("half a surrogate pair", "Generate the whole character")
    return json.dumps(value, ensure_ascii=False)


def _written(tree: Tree, line: str) -> str:
    """Return *tree* as text; *line* begins the line that it stands in."""
    if isinstance(tree, Leaf):
        return str(tree.source)
    inner = line + " " * INDENT
    if isinstance(tree, Series):
        return _bracketed("[]", [_written(each, inner) for each in tree.items], line)
    pairs = [f"{key}: {_written(value, inner)}" for key, value in tree.items.values()]
    return _bracketed("{}", pairs, line)


def _bracketed(brackets: str, parts: list[str], line: str) -> str:
    if not parts:
        return brackets
    inner = line + " " * INDENT
    return brackets[0] + inner + f",{inner}".join(parts) + line + brackets[1]
