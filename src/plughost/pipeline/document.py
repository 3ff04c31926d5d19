"""A YAML file to a tree of nodes that know their lines, or a ManifestError with line and key. Knows no meaning.

Theory of operation: the library is only asked for events, one by one; the tree is built here, under bounds.
Anchors, aliases and `<<` are what people use to say a thing once in such files, so they work, and cost nothing: an
alias is the same node again. What it would be if it were written out is counted, in values and in characters,
before it is hung in: a file of a page cannot become a gigabyte. An alias inside of what it names is refused, and
so are tags, directives, second documents, repeated keys and anchors, and keys that are no text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import ManifestError
from ..messages.quoting import is_utf8, quote
from . import key_path, yaml_events
from .node import Mapping, Node, Scalar, Sequence

EVENT_LIMIT = 100_000  # values, keys, and the beginning and end of what holds them, aliases written out
TEXT_LIMIT = 4_194_304  # characters of values and keys, aliases written out: each goes into the schema
DEPTH_LIMIT = 32  # the deepest that providers know of have eight or so
KEY_LIMIT = 256  # characters of a key; YAML itself takes no more than 1024

_MERGE = "<<"


@dataclass(slots=True)
class Spent:
    """What was read so far, over all files of one pipeline."""

    events: int = 0
    characters: int = 0


def parse(text: str, source: str, spent: Spent | None = None) -> Mapping:
    """Return YAML *text* as a tree; *source* names it in errors, *spent* counts over files. Raises ManifestError."""
    tree = _Tree(source, spent or Spent())
    for event in yaml_events.of_text(text, source):
        tree.grow(event)
    if isinstance(tree.root, Mapping):
        return tree.root
    is_empty = tree.root is None or (isinstance(tree.root, Scalar) and tree.root.is_null)
    found = "empty" if is_empty else "not a mapping"
    line = tree.root.line if tree.root is not None else 1
    raise ManifestError(source, "", f"line {line}: {found}", "Write `key: value` lines, at least `jobs:`")


@dataclass(frozen=True, slots=True)
class _Whole:
    """A node that has ended, and what it costs wherever it is hung in."""

    node: Node
    events: int
    characters: int
    height: int


@dataclass(slots=True)
class _Branch:
    """A mapping or list that has begun and not ended, and the key whose value comes next."""

    event: Any
    is_mapping: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Scalar] = field(default_factory=dict)
    key: Scalar | None = None
    merged: tuple[Scalar, Node] | None = None
    events: int = 2
    characters: int = 0
    height: int = 1

    def end(self) -> Node:
        line, column = _position(self.event)
        if self.is_mapping:
            return Mapping(self.entries, self.keys, line, column)
        return Sequence(tuple(self.items), line, column)


@dataclass(slots=True)
class _Tree:
    """Grows nodes from events. Refuses what is over its bounds or could be read in two ways."""

    source: str
    spent: Spent
    root: Node | None = None
    documents: int = 0
    open: list[_Branch] = field(default_factory=list)
    anchors: dict[str, _Whole | None] = field(default_factory=dict)  # None: has not ended yet

    def grow(self, event: Any) -> None:
        match type(event).__name__:
            case "DocumentStartEvent":
                self._begin(event)
            case "MappingStartEvent" | "SequenceStartEvent":
                self._branch(event)
            case "MappingEndEvent" | "SequenceEndEvent":
                self._end()
            case "ScalarEvent":
                self._scalar(event)
            case "AliasEvent":
                self._alias(event)

    def wrong(self, event: Any, problem: str, remedy: str) -> ManifestError:
        return self._wrong_at(event.start_mark.line + 1, problem, remedy)

    def _wrong_at(self, line: int, problem: str, remedy: str) -> ManifestError:
        key = ".".join(branch.key.text for branch in self.open if branch.key is not None)
        return ManifestError(self.source, key_path.shown(key), f"line {line}: {problem}", remedy)

    def _begin(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self.wrong(event, "a second document", "Keep one, without a `---` after it")
        if event.version or event.tags:
            raise self.wrong(event, "a directive", "Take the line that begins with % out")

    def _branch(self, event: Any) -> None:
        self._refuse_tag(event)
        if self._wants_key():
            raise self.wrong(event, "a key that is a list or mapping", "Use text as keys")
        self._count(event, 2, 0, 1)
        self._announce(event)
        self.open.append(_Branch(event, type(event).__name__ == "MappingStartEvent"))

    def _end(self) -> None:
        branch = self.open[-1]
        if branch.merged is not None:
            self._merge(branch, *branch.merged)
        self.open.pop()
        whole = _Whole(branch.end(), branch.events, branch.characters, branch.height)
        self._name(branch.event, whole)
        self._hang(whole)

    def _scalar(self, event: Any) -> None:
        self._refuse_tag(event)
        text: str = event.value
        if not is_utf8(text):
            raise self.wrong(event, "half a surrogate pair", "Write the character itself")
        if "\0" in text:
            raise self.wrong(event, "a NUL character", "Take it out")
        self._count(event, 1, len(text), 0)
        line, column = _position(event)
        if not text and not event.style and self.open and self.open[-1].key is not None:
            # Nothing was written, which the library finds at whatever comes next: it is missing where its key is.
            line, column = self.open[-1].key.line, self.open[-1].key.column
        whole = _Whole(Scalar(text, event.style or "", line, column), 1, len(text), 0)
        self._announce(event)
        self._name(event, whole)
        self._take(event, whole)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise self.wrong(event, f"nothing is named {quote('&' + event.anchor)} before", "Name it above")
        whole = self.anchors[event.anchor]
        if whole is None:
            raise self.wrong(event, f"{quote('*' + event.anchor)} holds itself", "Write the inner value out")
        self._count(event, whole.events, whole.characters, whole.height)
        self._take(event, whole)

    def _take(self, event: Any, whole: _Whole) -> None:
        """Make a whole node the next key, or the next value."""
        if not self._wants_key():
            self._hang(whole)
            return
        branch, key = self.open[-1], whole.node
        if not isinstance(key, Scalar) or not key.is_word:
            shown = quote(key.text) if isinstance(key, Scalar) else "of this mapping"
            raise self.wrong(event, f"the key {shown} is not text", "Quote it")
        if len(key.text) > KEY_LIMIT:
            raise self.wrong(event, f"a key of over {KEY_LIMIT} characters", "Shorten it")
        if key.text in branch.entries:
            raise self.wrong(event, f"the key {quote(key.text)} a second time", "Keep one of them")
        branch.key = key
        self._weigh(branch, whole)

    def _hang(self, whole: _Whole) -> None:
        if not self.open:
            self.root = whole.node
            return
        branch = self.open[-1]
        self._weigh(branch, whole)
        if not branch.is_mapping:
            branch.items.append(whole.node)
            return
        assert branch.key is not None  # a mapping's value comes after its key
        if branch.key.text == _MERGE and not branch.key.style:
            if branch.merged is not None:
                raise self._wrong_at(branch.key.line, "`<<` a second time", "Give it a list: `<<: [*a, *b]`")
            branch.merged = (branch.key, whole.node)
        else:
            branch.entries[branch.key.text], branch.keys[branch.key.text] = whole.node, branch.key
        branch.key = None

    def _merge(self, branch: _Branch, key: Scalar, value: Node) -> None:
        """Put the keys of the mappings in *value* before the branch's own, which win; of several the first does."""
        merged: dict[str, tuple[Node, Scalar]] = {}
        for each in value.items if isinstance(value, Sequence) else (value,):
            if not isinstance(each, Mapping):
                raise self._wrong_at(
                    key.line, "`<<` takes mappings", "Give it an alias of one, or a list of them"
                )
            for name, inner in each.entries.items():
                merged.setdefault(name, (inner, each.keys[name]))
        own = {name: (inner, branch.keys[name]) for name, inner in branch.entries.items()}
        merged.update(own)
        branch.entries = {name: inner for name, (inner, _) in merged.items()}
        branch.keys = {name: written for name, (_, written) in merged.items()}

    def _count(self, event: Any, events: int, characters: int, height: int) -> None:
        self.spent.events += events
        self.spent.characters += characters
        if self.spent.events > EVENT_LIMIT:
            raise self.wrong(event, f"over {EVENT_LIMIT} values and keys, aliases written out", "Split it")
        if self.spent.characters > TEXT_LIMIT:
            raise self.wrong(event, f"over {TEXT_LIMIT} characters, aliases written out", "Split it")
        if len(self.open) + height > DEPTH_LIMIT:
            raise self.wrong(event, f"nested over {DEPTH_LIMIT} deep", "Flatten it")

    def _weigh(self, branch: _Branch, whole: _Whole) -> None:
        branch.events += whole.events
        branch.characters += whole.characters
        branch.height = max(branch.height, whole.height + 1)

    def _announce(self, event: Any) -> None:
        if event.anchor in self.anchors:
            raise self.wrong(
                event, f"the anchor {quote('&' + event.anchor)} a second time", "Rename one of them"
            )
        if event.anchor is not None:
            self.anchors[event.anchor] = None

    def _name(self, event: Any, whole: _Whole) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = whole

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            raise self.wrong(event, "a tag", "Write the plain value; quote what is to be text")

    def _wants_key(self) -> bool:
        return bool(self.open) and self.open[-1].is_mapping and self.open[-1].key is None


def _position(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1
