"""A node and where it stands, to the typed values that are read from it, or a ManifestError with its line and key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from ..errors import ManifestError
from ..messages.quoting import listed, quote
from . import key_path, placeholder, yaml_text
from .node import BOOLEANS, Mapping, Node, Scalar, Sequence

NAME_LIMIT = 100  # characters; names become parts of file names, which may have 255 bytes
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# Of 1. `step` and `setps` are `steps`, and no key that a provider knows is so near to one of ours.
_NEAR = 0.8


@dataclass(frozen=True, slots=True)
class Place:
    """One value of a pipeline file. A *templated* one may hold placeholders, which are not looked up as names."""

    node: Node
    key: str
    source: str
    templated: bool = False

    def wrong(self, problem: str, remedy: str, at: Node | None = None) -> ManifestError:
        """Return the error that *problem* is, at the line of this value, or of *at*."""
        line = (at or self.node).line
        return ManifestError(self.source, key_path.shown(self.key), f"line {line}: {problem}", remedy)

    def at(self, name: str, node: Node) -> Place:
        key = f"{self.key}.{name}" if self.key else name
        return Place(node, key, node.source or self.source, self.templated)

    # Mappings

    def entries(self) -> dict[str, Place]:
        """Return the values of a mapping with keys of any name."""
        if not isinstance(self.node, Mapping):
            raise self._unlike("a mapping", "Indent `key: value` lines below it")
        return {name: self.at(name, value) for name, value in self.node.entries.items()}

    def named(self) -> dict[str, Place]:
        """Return the values of a mapping whose keys are names."""
        found = self.entries()
        for name in found:
            self._check_name(name, self._written(name))
        return found

    def members(self, known: tuple[str, ...], required: tuple[str, ...] = ()) -> dict[str, Place]:
        """Return the values of a mapping that has no keys but those *known*."""
        found, others = self._sorted_out(known)
        for name in others:
            raise self._unknown(name, known)
        self._require(required)
        return found

    def split(
        self, known: tuple[str, ...], required: tuple[str, ...] = ()
    ) -> tuple[dict[str, Place], dict[str, Place]]:
        """Return the values of the *known* keys of a mapping, and of all others.

        A key that is nearly a known one is refused: it would be passed on and have no effect.
        """
        found, others = self._sorted_out(known)
        for name in others:
            if _is_near(name, known):
                raise self._unknown(name, known)
        for name in required:
            if name not in found:  # then what is only a little like it was meant to be it
                for near in difflib.get_close_matches(name, others, 1):
                    raise self._unknown(near, known)
        self._require(required)
        return found, others

    def either(self, found: dict[str, Place], one: str, other: str) -> Place | None:
        """Return which of two spellings of a key is in *found*, if one is."""
        if one in found and other in found:
            raise found[other].wrong(f"both `{one}` and `{other}`", "Keep one of them")
        return found.get(one) or found.get(other)

    def _sorted_out(self, known: tuple[str, ...]) -> tuple[dict[str, Place], dict[str, Place]]:
        every, ours = self.entries(), frozenset(known)
        found = {name: place for name, place in every.items() if name in ours}
        return found, {name: place for name, place in every.items() if name not in ours}

    def _require(self, required: tuple[str, ...]) -> None:
        assert isinstance(self.node, Mapping)
        for name in required:
            if name not in self.node.entries:
                raise self.at(name, self.node).wrong("missing", f"Add a line `{name}: …`")

    def _written(self, name: str) -> Scalar:
        assert isinstance(self.node, Mapping)
        return self.node.keys[name]

    def _unknown(self, name: str, known: tuple[str, ...]) -> ManifestError:
        meant = difflib.get_close_matches(name, known, 1)
        guess = f"Did you mean `{meant[0]}`? " if meant else ""
        where = self.at(name, self._written(name))
        return where.wrong(f"no key {quote(name)} here", f"{guess}The keys here are: {listed(known)}")

    # Lists

    def items(self) -> list[Place]:
        if not isinstance(self.node, Sequence):
            raise self._unlike("a list", "Write it as [one, two], or as lines that begin with a dash")
        return [
            Place(each, f"{self.key}[{number}]", each.source or self.source, self.templated)
            for number, each in enumerate(self.node.items)
        ]

    def one_or_more(self) -> list[Place]:
        """Return the items of a list; anything else is its own only one."""
        return self.items() if isinstance(self.node, Sequence) else [self]

    def texts(self) -> list[str]:
        """Return a text or a list of texts as a list."""
        return [each.text() for each in self.one_or_more()]

    # Texts

    def text(self) -> str:
        """Return a text, or a number as it is spelled, or `true` or `false`."""
        if not isinstance(self.node, Scalar) or self.node.is_null:
            raise self._unlike("a text", "Write one; '' is the empty one")
        if not self.node.style and self.node.text in BOOLEANS:
            return self.node.text.lower()
        return self.node.text

    def filled(self) -> str:
        """Return a text that is not empty or blank."""
        text = self.text()
        if not text.strip():
            raise self.wrong("empty", "Write what it is to be, or take the key out")
        return text

    def name(self) -> str:
        text = self.text()
        self._check_name(text, self.node)
        return text

    def reference(self, kind: str, there: Collection[str], prefix: str = "") -> str:
        """Return a text that is, after *prefix*, one of the names *there*; *kind* says of what."""
        text = self.text()
        name = text.removeprefix(prefix)
        if not (name in there or (self.templated and any(placeholder.keys(self.node)))):
            raise self.unresolved(name, kind, there)
        return text

    def unresolved(self, name: str, kind: str, there: Collection[str]) -> ManifestError:
        names = sorted(there)
        meant = difflib.get_close_matches(name, names, 1)
        guess = f"Did you mean `{meant[0]}`? " if meant else ""
        remedy = f"{guess}There are: {listed(names)}" if names else f"This file defines no {kind}"
        return self.wrong(f"there is no {kind} {quote(name)}", remedy)

    def text_map(self) -> dict[str, str]:
        return {name: place.text() for name, place in self.entries().items()}

    def variables(self) -> dict[str, str]:
        """Return the texts of a mapping whose keys are variables of an environment."""
        found = self.text_map()
        for name in found:
            if not _VARIABLE.fullmatch(name):
                raise self.wrong(
                    f"{quote(name)} is no variable", "Use letters, digits and `_`", self._written(name)
                )
        return found

    # YAML

    def yaml(self) -> str:
        return yaml_text.dump(self.node)

    def yaml_map(self) -> dict[str, str]:
        return yaml_of(self.entries())

    def _check_name(self, name: str, written: Node) -> None:
        if len(name) > NAME_LIMIT:
            raise self.wrong(f"a name of over {NAME_LIMIT} characters", "Shorten it", written)
        if not _NAME.fullmatch(name):
            remedy = "Use letters, digits, `_`, `-` and `.`, and none of the last two at the beginning"
            raise self.wrong(f"{quote(name)} is not a name", remedy, written)

    def _unlike(self, expected: str, remedy: str) -> ManifestError:
        return self.wrong(f"expected {expected}, got {_kind(self.node)}", remedy)


def yaml_of(places: dict[str, Place]) -> dict[str, str]:
    """Return the YAML text of each of *places*."""
    return {name: place.yaml() for name, place in places.items()}


@lru_cache(maxsize=1024)  # a job of many rows asks the same again for each
def _is_near(name: str, known: tuple[str, ...]) -> bool:
    return bool(difflib.get_close_matches(name, known, 1, _NEAR))


def _kind(node: Node) -> str:
    if isinstance(node, Scalar):
        return "nothing" if node.is_null else "a text"
    return "a list" if isinstance(node, Sequence) else "a mapping"
