"""A YAML file to a mapping of plain values, or a ManifestError that names line and key. Knows no meaning.

Theory of operation: YAML can do far more than a manifest needs, and each extra is a way to hurt its reader.
So the library is only asked for events, which come one by one from a flat loop; the values are built here,
with a bound on their number and depth. Whatever two readers could understand differently is refused:
anchors and aliases altogether, because nothing in a page of flat keys is worth naming twice, and without
them there is no expansion, no cycle and no merge; tags, directives and second documents; keys that are no
text or come twice; infinities and NaN. Plain words are read by the core schema of YAML 1.2: `yes` and dates
are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ManifestError
from ..messages.quoting import quote
from . import bounded_file

SIZE_LIMIT = (
    65_536  # bytes; a manifest has one or two thousand, and a scanner can be made to take squared time
)
EVENT_LIMIT = 10_000  # values, keys, and the beginning and end of whatever holds them
DEPTH_LIMIT = 16  # a manifest needs three
DIGIT_LIMIT = 32  # characters of a number

_NULL = ("", "~", "null", "Null", "NULL")
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def read(path: Path) -> dict[str, Any]:
    """Return the file at *path* as a mapping of plain values. Raises ManifestError."""
    return parse(text(path), str(path))


def text(path: Path) -> str:
    """Return what the file at *path* says, if it is not too long. Raises ManifestError."""
    return bounded_file.text(path, SIZE_LIMIT, "Put the manifest there")


def parse(text: str, source: str) -> dict[str, Any]:
    """Return YAML *text* as a mapping of plain values; *source* names it in errors. Raises ManifestError."""
    if len(text) > SIZE_LIMIT:
        raise ManifestError(source, "", f"over {SIZE_LIMIT} characters", "Name the right file")
    tree = _Tree(source)
    for count, event in enumerate(_events(text, source)):
        if count >= EVENT_LIMIT:
            raise tree.wrong(event, f"over {EVENT_LIMIT} values and keys", "Name the right file")
        tree.grow(event)
    if not isinstance(tree.root, dict):
        found = "empty" if tree.root is None else "not a mapping"
        raise ManifestError(source, "", found, "Write `key: value` lines")
    return tree.root


@dataclass(slots=True)
class _Branch:
    """A mapping or list that has begun and not ended, and the key whose value comes next."""

    value: Any
    key: str | None = None


@dataclass(slots=True)
class _Tree:
    """Grows values from events. Refuses what is not plain."""

    source: str
    root: Any = None
    documents: int = 0
    open: list[_Branch] = field(default_factory=list)

    def grow(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self._begin(event)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.open.pop()
            self._take_next()
        elif kind in ("MappingStartEvent", "SequenceStartEvent", "ScalarEvent", "AliasEvent"):
            self._refuse_extras(event)
            if kind == "ScalarEvent":
                self._scalar(event)
            else:
                self._branch(event, {} if kind == "MappingStartEvent" else [])

    def wrong(self, event: Any, problem: str, remedy: str) -> ManifestError:
        key = ".".join(branch.key for branch in self.open if branch.key is not None)
        return ManifestError(self.source, key, f"line {event.start_mark.line + 1}: {problem}", remedy)

    def _begin(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self.wrong(event, "a second document", "Keep one, without a `---` after it")
        if event.version or event.tags:
            raise self.wrong(event, "a directive", "Take the line that begins with % out")

    def _refuse_extras(self, event: Any) -> None:
        if event.anchor is not None:
            raise self.wrong(event, "an anchor or alias", "Write the value out, or quote the text")
        if event.tag is not None:
            raise self.wrong(event, "a tag", "Write the plain value; quote what is to be text")

    def _branch(self, event: Any, value: Any) -> None:
        if self.open and self._wants_key():
            raise self.wrong(event, "a key that is a list or mapping", "Use text as keys")
        if len(self.open) >= DEPTH_LIMIT:
            raise self.wrong(event, f"nested over {DEPTH_LIMIT} deep", "Flatten it")
        self._hang(value)
        self.open.append(_Branch(value))

    def _scalar(self, event: Any) -> None:
        try:
            event.value.encode()
        except UnicodeEncodeError as error:
            raise self.wrong(event, "half a surrogate pair", "Write the character itself") from error
        value = self._resolve(event) if event.style is None else event.value
        if not (self.open and self._wants_key()):
            self._hang(value)
            self._take_next()
            return
        if not isinstance(value, str):
            raise self.wrong(event, f"the key {quote(event.value)} is not text", "Quote it")
        if value in self.open[-1].value:
            raise self.wrong(event, f"the key {quote(value)} a second time", "Keep one of them")
        self.open[-1].key = value

    def _resolve(self, event: Any) -> Any:
        """Return what a plain word means in the core schema of YAML 1.2."""
        word: str = event.value
        if word in _NULL:
            return None
        if word in _BOOLEAN:
            return _BOOLEAN[word]
        if _NOT_FINITE.fullmatch(word):
            raise self.wrong(event, f"{quote(word)} is not a finite number", "Give a number")
        return self._number(event, word)

    def _number(self, event: Any, word: str) -> Any:
        whole = _INTEGER.fullmatch(word)
        if whole is None and not _FLOAT.fullmatch(word):
            return word
        if len(word) > DIGIT_LIMIT:
            raise self.wrong(event, f"a number of {len(word)} characters", "Give a smaller one, or quote it")
        if whole is not None:
            return int(word, 0 if word[:2] in ("0o", "0x") else 10)
        if math.isinf(value := float(word)):
            raise self.wrong(event, f"{quote(word)} is not a finite number", "Give a number")
        return value

    def _wants_key(self) -> bool:
        return isinstance(self.open[-1].value, dict) and self.open[-1].key is None

    def _hang(self, value: Any) -> None:
        if not self.open:
            self.root = value
        elif isinstance(self.open[-1].value, list):
            self.open[-1].value.append(value)
        else:
            self.open[-1].value[self.open[-1].key] = value

    def _take_next(self) -> None:
        """A value is whole: the next thing in its mapping is a key."""
        if self.open:
            self.open[-1].key = None


def _events(text: str, source: str) -> Iterator[Any]:
    """Yield the events of *text*, and let nothing but a ManifestError out of the library."""
    from ruamel.yaml import YAML

    events = YAML(typ="safe", pure=True).parse(text)
    while True:
        try:
            event = next(events)
        except StopIteration:
            return
        except Exception as error:  # besides its own, it lets IndexError, ValueError and others through
            raise _syntax_error(error, source) from error
        yield event


def _syntax_error(error: Exception, source: str) -> ManifestError:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    line = f"line {mark.line + 1}: " if mark is not None else ""
    tabbed = "'\\t'" in problem
    remedy = "Indent with blanks; a tab is none" if tabbed else "Mend it; quote texts with special characters"
    return ManifestError(source, "", f"{line}not valid YAML: {quote(problem)}", remedy)
