"""Turns the text of a request into code: its statements, and its last expression, which is shown. Runs nothing.

The whole text is compiled before any of it runs, so an error in its syntax has no effects. Text that is incomplete
is an error too; nothing is ever continued by the next request.
"""

from __future__ import annotations
import __future__ as features  # it is loaded by the line above

from _ast import AST, Expr, If, Interactive, Module, PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _ast import stmt
    from types import CodeType, ModuleType
    from typing import Any

KEPT = 16_777_216  # characters of source that tracebacks and inspect can still find; the newest is always among them


class Cells:
    """Compiles one cell after the other. What a cell imports from `__future__` holds for those after it."""

    def __init__(self) -> None:
        self._flags = PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._count = 0
        self._texts: dict[str, str] = {}
        self._size = 0
        self._linecache: ModuleType | None = None  # once it is loaded

    def compile(self, text: str) -> list[CodeType]:
        """Return the code of *text*, in the order it is to run. Raises whatever `compile` raises."""
        self._count += 1
        name = f"<cell {self._count}>"
        text = text[1:] if text.startswith("\ufeff") else text  # as of a file: a mark of its encoding
        self._keep(name, text)
        statements = self._parse(text, name)
        last = statements.pop() if statements and isinstance(statements[-1], Expr) else None
        codes = []
        if statements:
            codes.append(compile(Module(statements, []), name, "exec", flags=self._flags, dont_inherit=True))
        if last is not None:
            codes.append(compile(Interactive([last]), name, "single", flags=self._flags, dont_inherit=True))
        if "__future__" in text:
            self._learn(codes)
        return codes

    def fill(self, linecache: ModuleType) -> None:
        """Let tracebacks and inspect find the cells there have been so far."""
        self._linecache = linecache
        for name, text in self._texts.items():
            linecache.cache[name] = _entry(name, text)

    def _parse(self, text: str, name: str) -> list[stmt]:
        flags = self._flags | PyCF_ONLY_AST
        try:
            module: Any = compile(text, name, "exec", flags=flags, dont_inherit=True)
            return list(module.body)
        except IndentationError:
            # Perhaps a paste from within a block: read it as one. Dedenting it would change its strings.
            try:
                module = compile("if 1:\n" + text, name, "exec", flags=flags, dont_inherit=True)
            except (SyntaxError, ValueError):
                module = None
            if module is None or len(module.body) != 1 or not isinstance(module.body[0], If):
                raise
        _lift(module.body[0])
        return list(module.body[0].body)

    def _learn(self, codes: list[CodeType]) -> None:
        for name in features.all_feature_names:
            flag = getattr(features, name).compiler_flag
            if any(code.co_flags & flag for code in codes):
                self._flags |= flag

    def _keep(self, name: str, text: str) -> None:
        self._texts[name] = text
        self._size += len(text)
        linecache = self._linecache
        if linecache is not None and hasattr(linecache, "cache"):
            linecache.cache[name] = _entry(name, text)
        while self._size > KEPT and len(self._texts) > 1:
            oldest = next(iter(self._texts))
            self._size -= len(self._texts.pop(oldest))
            if linecache is not None and hasattr(linecache, "cache"):
                linecache.cache.pop(oldest, None)


def is_cell(filename: str) -> bool:
    """Tell whether code of that file name came from a cell."""
    return filename.startswith("<cell ")


def _lift(tree: AST) -> None:
    """Let all of *tree* be one line further up."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, AST):
            for name in ("lineno", "end_lineno"):
                line = getattr(node, name, None)
                if line is not None:
                    setattr(node, name, line - 1)
            waiting += [getattr(node, name, None) for name in node._fields]


def _entry(name: str, text: str) -> tuple[int, None, list[str], str]:
    """Return what linecache keeps of a file that never changes."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (len(text), None, [line + "\n" for line in lines], name)
