"""Whether two results of the `hook` contract are alike: in outline, or in what their fragments mean.

Text need not be the same byte by byte: a mapping in YAML or JSON means the same in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from ..errors import FragmentError
from ..fragments import json_text, structure, yaml_text
from ..messages.quoting import quote

READ_LIMIT = 262_144  # characters of a text that is read for its meaning; a longer one is compared as it is
_READERS: dict[str, Callable[[structure.Text], structure.Tree | None]] = {
    "yaml": yaml_text.read,
    "yml": yaml_text.read,
    "json": json_text.read,
}


def outline(result: Message) -> Hashable:
    """Return what *result* says in short: names, paths and codes, but no texts."""
    match result:
        case wire.DetectResult():
            return tuple(sorted(result.signals)), tuple(sorted(result.facts.items())), _codes(result)
        case wire.PlanResult():
            return tuple(sorted(each.id for each in result.resources)), _codes(result)
        case wire.GenerateResult():
            return tuple(sorted(each.path for each in result.fragments)), _codes(result)
        case wire.ValidateResult():
            return _codes(result)
        case wire.PreflightResult():
            return result.should_run
        case _:
            return result.SerializeToString(deterministic=True)


def _codes(result: Any) -> tuple[tuple[int, str], ...]:
    return tuple(sorted((each.level, each.code) for each in result.diagnostics))


def other_fragments(one: wire.GenerateResult, other: wire.GenerateResult) -> str | None:
    """Say how the fragments of *other* are not those of *one*, or None."""
    before, after = _by_path(one), _by_path(other)
    if before.keys() != after.keys():
        return f"the fragment {quote(min(before.keys() ^ after.keys()))} is there in one of them only"
    for path, fragments in before.items():
        if len(fragments) != len(after[path]):
            return f"{quote(path)} has {len(fragments)} fragments, and then {len(after[path])}"
        for each, twin in zip(fragments, after[path], strict=True):
            if (each.strategy, each.order, each.format) != (twin.strategy, twin.order, twin.format):
                return f"{quote(path)} has another strategy, order or format"
            if _meaning(each) != _meaning(twin):
                return f"{quote(path)} means something else"
    return None


def _by_path(result: wire.GenerateResult) -> dict[str, list[wire.Fragment]]:
    found: dict[str, list[wire.Fragment]] = {}
    for fragment in result.fragments:
        found.setdefault(fragment.path, []).append(fragment)
    return found


def _meaning(fragment: wire.Fragment) -> Hashable:
    """Return what the text of *fragment* means, where that can be known; the text itself otherwise."""
    read = _READERS.get(fragment.format or fragment.path.rpartition(".")[2])
    if read is None or len(fragment.content) > READ_LIMIT:
        return fragment.content
    try:
        tree = read(structure.Text("", fragment.path, fragment.content))
    except FragmentError:
        return fragment.content
    return structure.mark_of(tree) if tree is not None else None
