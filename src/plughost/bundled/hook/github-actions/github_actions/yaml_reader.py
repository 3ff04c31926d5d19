"""YAML text to values, as YAML 1.2 has them. Refuses tags, merge keys, keys that are no text, and bombs.

Numbers, truth values and nulls keep the spelling they came in, as `Plain`: what was written `3.10` is not `3.1`.
The library is only asked for events, which come one by one; what they build is counted here, because an alias costs
its reader far more than its writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .yaml_writer import Plain, is_plain

COUNT_LIMIT = (
    500_000  # values after aliases are followed; a workflow of a thousand jobs has a twentieth of it
)
DEPTH_LIMIT = 32  # a workflow needs eight

_SPELLED = re.compile(
    r"(?:~|null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))?"
)


def read(text: str) -> Any:
    """Return the one document in *text*, or None if there is none. Raises ValueError."""
    if is_plain(text):
        return text  # most values are one word, and the library takes longer to import than all of them
    tree = _Tree()
    for event in _events(text):
        tree.grow(event)
    return tree.root


def read_mapping(text: str, what: str) -> dict[str, Any]:
    """Return the mapping in *text*, or an empty one. *what* names it in errors. Raises ValueError."""
    try:
        value = read(text)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error
    if value is None or is_null(value):
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{what}: not a mapping")
    return value


def read_scalar(text: str) -> str:
    """Return the text, number or truth value in *text*; if it holds anything else, *text* itself."""
    try:
        value = read(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def is_null(value: Any) -> bool:
    return isinstance(value, Plain) and value.lower() in ("", "~", "null")


def _events(text: str) -> Iterator[Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except YAMLError as error:
        raise ValueError(f"not YAML: {_short(error)}") from error


class _Branch:
    """A mapping or list that has begun and not ended: its name for aliases, and the key whose value comes next."""

    def __init__(self, value: Any, anchor: str | None, count: int) -> None:
        self.value = value
        self.anchor = anchor
        self.count = count  # of the values in the tree when it began
        self.key: str | None = None


class _Tree:
    """Grows values from events."""

    def __init__(self) -> None:
        self.root: Any = None
        self._open: list[_Branch] = []
        self._named: dict[str, tuple[Any, int]] = {}
        self._count = 0
        self._documents = 0

    def grow(self, event: Any) -> None:
        kind = type(event).__name__
        if kind in ("MappingStartEvent", "SequenceStartEvent", "ScalarEvent") and event.tag not in (
            None,
            "!",
        ):
            raise ValueError(f"the tag {event.tag}")
        match kind:
            case "MappingStartEvent" | "SequenceStartEvent":
                value: Any = {} if kind == "MappingStartEvent" else []
                branch = _Branch(value, event.anchor, self._count)
                self._put(value, 1)
                self._open.append(branch)
                if len(self._open) > DEPTH_LIMIT:
                    raise ValueError(f"nested deeper than {DEPTH_LIMIT}")
            case "MappingEndEvent" | "SequenceEndEvent":
                ended = self._open.pop()
                self._name(ended.anchor, ended.value, self._count - ended.count)
            case "ScalarEvent":
                value = _scalar(event)
                self._put(value, 1)
                self._name(event.anchor, value, 1)
            case "AliasEvent":
                if event.anchor not in self._named:  # not said yet, or around this very place
                    raise ValueError(f"the alias {event.anchor}")
                self._put(*self._named[event.anchor])
            case "DocumentStartEvent":
                self._documents += 1
                if self._documents > 1:
                    raise ValueError("a second document")

    def _put(self, value: Any, count: int) -> None:
        self._count += count
        if self._count > COUNT_LIMIT:
            raise ValueError(f"more than {COUNT_LIMIT} values")
        if not self._open:
            self.root = value
            return
        branch = self._open[-1]
        if isinstance(branch.value, list):
            branch.value.append(value)
        elif branch.key is not None:
            branch.value[branch.key] = value
            branch.key = None
        elif not isinstance(value, str) or value == "<<" or value in branch.value:
            raise ValueError("a key that is no text, a merge key, or a key twice")
        else:
            branch.key = str(value)

    def _name(self, anchor: str | None, value: Any, count: int) -> None:
        if anchor is not None:
            self._named[anchor] = (value, count)


def _scalar(event: Any) -> str:
    value = str(event.value)
    is_spelled = event.implicit[0] and not event.style and event.tag is None and _SPELLED.fullmatch(value)
    return Plain(value or "null") if is_spelled else value


def _short(error: Exception) -> str:
    """Return the problem and its line; the library's own text goes over several."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0] or type(error).__name__
    return f"line {mark.line + 1}: {problem}" if mark else problem
