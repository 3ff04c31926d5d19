"""YAML text -> values that can be merged, and back. Refuses tags, directives, keys that are no text, and bottomless
nesting.

Theory of operation. The library is asked for nodes, not for values: a node still knows how it was written, so quotes,
block texts and the comments of what was there first survive, and nothing is ever read as a boolean, a date or a
number and written as another: `on` is a key and `3.10` stays what it is. An alias is written out as what it stands
for, because what is merged into one place must not appear in another; all that they expand to is counted.
What was written is read once more: if it is not what was meant, comments are given up, then the ways in which texts
were quoted, and then all of it.
"""

from __future__ import annotations

import io
from enum import Enum
from typing import Any

from ..errors import FragmentError
from ..messages.quoting import quote
from .budget import TEXT_VALUES, Budget
from .structure import DEPTH_LIMIT, Leaf, Series, Table, Text, Tree, mark_of

WIDTH = 1 << 30  # characters of a line: no line is broken that was not broken before
INDENT = 2  # blanks, for the mappings of a text

_CORE = "tag:yaml.org,2002:"
_SCALARS = {_CORE + each for each in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")}
_TEXT, _NULL, _BOOLEAN = _CORE + "str", _CORE + "null", _CORE + "bool"
_FOLD_MARK = "\a"  # where the library remembers a fold of a folded text; such a character cannot be in one


def read(text: Text, budget: Budget | None = None) -> Tree | None:
    """Return what *text* holds; None if that is null, or comments alone. Counts it. Raises FragmentError."""
    budget = budget or Budget()
    budget.spend(text, TEXT_VALUES)
    _refuse_directives(text)
    library = _library(text, budget)
    try:
        node = library.compose(text.content)
    except RecursionError as error:
        raise _too_deep(text) from error
    except Exception as error:  # besides its own, it lets IndexError, ValueError and others through
        if isinstance(error, FragmentError) or error is budget.stop:
            raise
        raise _syntax_error(text, error) from error
    tree = None if node is None else _Reading(text, budget, library.resolver).tree(node, 1)
    return None if isinstance(tree, Leaf) and tree.mark == (_NULL, "") else tree


def write(tree: Tree, text: Text, budget: Budget | None = None) -> bytes:
    """Return *tree* as YAML, written as *text* was where it can be. Raises FragmentError if it cannot be written."""
    again = (budget or Budget()).unlimited()  # nothing is here that was not counted when it was read
    offset = _dash_offset(tree)
    meant = mark_of(tree)
    for manner in _Manner:
        try:
            written = _written(_node(tree, manner), offset, text, again)
            found = read(Text(text.plugin, text.path, written), again)
        except Exception as error:  # as above, and FragmentError for what does not read
            if error is again.stop:
                raise
            continue
        if found is not None and mark_of(found) == meant:
            return written.encode()
    raise text.wrong("cannot be written once it is merged", "Generate plainer YAML, or replace the file")


class _Reading:
    """Turns the nodes of one text into values, and counts them."""

    def __init__(self, text: Text, budget: Budget, resolver: Any) -> None:
        self._text = text
        self._budget = budget
        self._resolver = resolver

    def tree(self, node: Any, depth: int) -> Tree:
        self._budget.spend(self._text)
        if depth > DEPTH_LIMIT:
            raise _too_deep(self._text)
        if node.id == "scalar":
            return self._leaf(node)
        if node.tag not in (_CORE + "map", _CORE + "seq"):
            raise self._wrong(node, f"the tag {quote(str(node.tag))}", "Write plain values")
        if node.id == "sequence":
            return Series(self._text.plugin, node, [self.tree(each, depth + 1) for each in node.value])
        return self._table(node, depth)

    def _table(self, node: Any, depth: int) -> Table:
        table = Table(self._text.plugin, node)
        for key_node, value in node.value:
            if key_node.id != "scalar":
                raise self._wrong(key_node, "a key that is a list or mapping", "Use text as keys")
            if key_node.tag == _NULL:
                raise self._wrong(key_node, "a key that is null", "Use text as keys")
            self._budget.spend(self._text)
            key = self._leaf(key_node)
            name = key_node.value.replace(_FOLD_MARK, "")
            if name in table.items:
                raise self._wrong(key_node, f"the key {quote(name)} a second time", "Keep one of them")
            table.items[name] = key, self.tree(value, depth + 1)
        return table

    def _leaf(self, node: Any) -> Leaf:
        plain = node.style in (None, "")
        untagged = self._resolver.resolve(type(node), node.value, (plain, not plain))
        if node.ctag != untagged or node.tag not in _SCALARS:
            raise self._wrong(node, f"the tag {quote(str(node.tag))}", "Write plain values")
        value = node.value.replace(_FOLD_MARK, "") if node.style == ">" else node.value
        mark = {_NULL: "", _BOOLEAN: value.lower()}.get(node.tag, value)
        return Leaf(self._text.plugin, (node.tag, mark), quote(value), node)

    def _wrong(self, node: Any, problem: str, remedy: str) -> FragmentError:
        return self._text.wrong(f"line {node.start_mark.line + 1}: {problem}", remedy)


def _library(text: Text, budget: Budget) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.scanner import RoundTripScanner, ScannerError

    class Scanner(RoundTripScanner):
        """Stops at the bracket that is too deep: looking for the end of a key behind it costs squared time."""

        def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:  # noqa: N803 - the library's
            if len(self.flow_context) >= DEPTH_LIMIT:
                raise ScannerError(
                    problem=f"over {DEPTH_LIMIT} brackets deep", problem_mark=self.reader.get_mark()
                )
            super().fetch_flow_collection_start(TokenClass, to_push)

    class Counting(Composer):
        """Stops at the value that is one too many: the rest would be read for nothing."""

        values = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.values += 1
            budget.foresee(text, self.values)
            return super().compose_node(parent, index)

    library = YAML(typ="rt", pure=True)
    library.Scanner = Scanner
    library.Composer = Counting
    library.max_depth = DEPTH_LIMIT
    library.composer.warn_double_anchors = False  # YAML allows it: the last one counts
    library.width = WIDTH
    library.brace_single_entry_mapping_in_flow_sequence = True
    return library


def _refuse_directives(text: Text) -> None:
    """Refuse `%YAML 1.1` and its like, which would change what the words after it mean."""
    for number, line in enumerate(text.content.lstrip("\ufeff").splitlines(), 1):
        if line.startswith("%"):
            raise text.wrong(f"line {number}: a directive", "Take the line that begins with % out")
        if line.strip() and not line.lstrip().startswith(("#", "...")):
            return


def _syntax_error(text: Text, error: Exception) -> FragmentError:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    line = f"line {mark.line + 1}: " if mark is not None else ""
    return text.wrong(f"{line}not YAML: {quote(problem)}", "Mend what generates it")


def _too_deep(text: Text) -> FragmentError:
    return text.wrong(f"nested over {DEPTH_LIMIT} deep", "Flatten it")


class _Manner(Enum):
    """How a merged text is written; each is tried if the one before it does not read as what was meant."""

    AS_IT_WAS = 1
    WITHOUT_COMMENTS = 2
    QUOTED = 3  # without comments, and with every text in double quotes, which can say anything


def _node(tree: Tree, manner: _Manner) -> Any:
    """Return a new node for *tree*, written as its source is; no two places share one."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

    source = tree.source
    comment = source.comment if manner is _Manner.AS_IT_WAS else None
    if isinstance(tree, Leaf):
        value, style = source.value, source.style
        if (
            style == ">"
        ):  # it would come back with other folds than it had: its lines as they are say the same
            value, style = value.replace(_FOLD_MARK, ""), "|"
        if manner is _Manner.QUOTED and source.tag == _TEXT:
            style = '"'
        return ScalarNode(source.ctag, value, style=style, comment=comment)
    flow = source.flow_style
    if isinstance(tree, Series):
        items = [_node(each, manner) for each in tree.items]
        return SequenceNode(source.ctag, items, flow_style=flow, comment=comment)
    pairs = [(_node(key, manner), _node(value, manner)) for key, value in tree.items.values()]
    return MappingNode(source.ctag, pairs, flow_style=flow, comment=comment)


def _written(node: Any, offset: int, text: Text, budget: Budget) -> str:
    library = _library(text, budget)
    library.indent(mapping=INDENT, sequence=offset + INDENT, offset=offset)
    stream = io.StringIO()
    library.serialize(node, stream)
    return stream.getvalue()


def _dash_offset(tree: Tree) -> int:
    """Return how far the first list in a mapping of *tree* is indented there: 0 or 2 blanks."""
    waiting: list[Tree] = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Series):
            waiting += reversed(each.items)
        elif isinstance(each, Table):
            for key, value in each.items.values():
                if isinstance(value, Series) and value.items and not value.source.flow_style:
                    return INDENT if value.source.start_mark.column > key.source.start_mark.column else 0
            waiting += reversed([value for _, value in each.items.values()])
    return 0
