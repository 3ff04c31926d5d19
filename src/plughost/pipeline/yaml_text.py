"""A node to YAML text: block style, keys in their order, one spelling for one value. Reads nothing.

Written by hand, because a library decides anew which words need quotes, wraps long lines, and writes a `...` after
some values and not after others. Here a plain word stays as it was written, so that `3.10` and `on` stay what they
are, and whatever was quoted stays quoted.
"""

from __future__ import annotations

import json
import re

from .node import Mapping, Node, Scalar, Sequence

_STEP = 2  # blanks of one level
# Neither a line break other than \n, nor what readers drop, show wrongly or do not take unescaped.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def dump(node: Node) -> str:
    """Return *node* as YAML, without a newline at the end."""
    if _is_branch(node):
        return "\n".join(_block(node, 0))
    return _inline(node, 0)


def _is_branch(node: Node) -> bool:
    """Tell whether *node* takes lines of its own: a mapping or list that holds something."""
    return (
        bool(node.entries) if isinstance(node, Mapping) else isinstance(node, Sequence) and bool(node.items)
    )


def _block(node: Node, indent: int) -> list[str]:
    pad = " " * indent
    lines: list[str] = []
    if isinstance(node, Mapping):
        for name, value in node.entries.items():
            head = f"{pad}{_key(node.keys[name])}:"
            if _is_branch(value):
                lines += [head, *_block(value, indent + _STEP)]
            else:
                lines.append(f"{head} {_inline(value, indent)}")
    elif isinstance(node, Sequence):
        for item in node.items:
            if _is_branch(item):
                first, *rest = _block(item, indent + _STEP)
                lines += [f"{pad}- {first[indent + _STEP :]}", *rest]
            else:
                lines.append(f"{pad}- {_inline(item, indent)}")
    return lines


def _inline(node: Node, indent: int) -> str:
    """Return what follows the key or dash at *indent*: all of the line, and the lines of a long text."""
    if isinstance(node, Mapping):
        return "{}"
    if isinstance(node, Sequence):
        return "[]"
    if node.is_null:
        return "null"
    if node.style in ("|", ">") and _fits_a_block(node.text):
        pad = " " * (indent + _STEP)
        body = node.text.removesuffix("\n").split("\n")
        head = "|" if node.text.endswith("\n") else "|-"
        return "\n".join((head, *(pad + line if line else "" for line in body)))
    return _key(node)


def _key(scalar: Scalar) -> str:
    text = scalar.text
    marker = text.startswith(("---", "..."))  # at the start of a line it would end the document
    if not scalar.style and "\n" not in text and not marker and not _ODD.search(text):
        return text
    if "\n" in text or "\t" in text or _ODD.search(text):
        return _ODD.sub(_escape, json.dumps(text, ensure_ascii=False))
    return "'" + text.replace("'", "''") + "'"


def _fits_a_block(text: str) -> bool:
    """Tell whether *text* can stand as lines: where the first begins and the last ends must be plain to see."""
    return (
        "\n" in text
        and not text.startswith((" ", "\t", "\n"))
        and not text.endswith("\n\n")
        and not text.endswith((" \n", "\t\n", " ", "\t"))
        and not _ODD.search(text)
    )


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
