"""The modules of a plugin to the class that the worker would take, found without importing anything.

Theory of operation: the worker imports `__init__.py`, or `plugin.py` if there is none, and takes the name
`Plugin` from it, or the only subclass of the SDK's. Here the same name is followed through the package: class
statements, imports between its modules, one name assigned to another. What leads elsewhere is either the SDK's
base class, known by its name, or unknown; and about what is unknown nothing is claimed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from .lint_source import Module

ENTRIES = (PurePosixPath("__init__.py"), PurePosixPath("plugin.py"))  # the first that is there is imported
BASE = "Plugin"  # what the SDK calls the class to derive from, and the worker the one it takes
STEP_LIMIT = 32  # imports or assignments between a name and its class

Binding = ast.stmt | ast.expr  # the statement that makes a name, or the value that is assigned to it


@dataclass(frozen=True, slots=True, eq=False)
class PluginClass:
    """A class statement of the plugin's own."""

    module: Module
    node: ast.ClassDef


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something from outside of the package, by its full name; or, without one, something that only runs tell."""

    name: str = ""

    @property
    def is_base(self) -> bool:
        return self.name.rpartition(".")[2] == BASE


@dataclass(frozen=True, slots=True)
class Lineage:
    """A class and its own ancestors, nearest first, and the foreign classes they derive from."""

    classes: tuple[PluginClass, ...]
    foreign: tuple[Foreign, ...]

    @property
    def is_plugin(self) -> bool:
        return any(each.is_base for each in self.foreign)

    @property
    def is_known(self) -> bool:
        """Tell whether no ancestor could define what is not seen here."""
        return all(
            each.is_base or each.name in ("abc.ABC", "object", "typing.Generic") for each in self.foreign
        )

    def members(self) -> dict[str, Binding]:
        """Return what the classes define, by name; the nearest definition of each."""
        found: dict[str, Binding] = {}
        for each in self.classes:
            for name, nodes in _bindings(each.node.body).items():
                found.setdefault(name, nodes[-1])
        return found


class Package:
    """The modules of one plugin, and what their names mean."""

    def __init__(self, name: str, modules: Mapping[PurePosixPath, Module]) -> None:
        self._name = name
        self._modules = modules
        self._tables = {path: _bindings(module.tree.body) for path, module in modules.items()}

    @property
    def entry(self) -> Module | None:
        """The module that the worker imports."""
        return next((self._modules[path] for path in ENTRIES if path in self._modules), None)

    def exported(self) -> PluginClass | Foreign | None:
        """Return what the worker finds as `Plugin`, if anything."""
        return self._resolve(self.entry, BASE) if self.entry is not None else None

    def subclasses(self) -> list[PluginClass]:
        """Return the plugin classes that the entry has under any name."""
        if self.entry is None:
            return []
        names = [*self._tables[self.entry.path], *self._starred(self.entry)]
        nodes = {}
        for name in names:
            found = self._resolve(self.entry, name)
            if isinstance(found, PluginClass) and self.lineage(found).is_plugin:
                nodes[found.node] = found
        return list(nodes.values())

    def lineage(self, start: PluginClass) -> Lineage:
        """Return *start* with its ancestors."""
        classes: dict[ast.ClassDef, PluginClass] = {}
        foreign: list[Foreign] = []
        waiting = [start]
        while waiting:
            here = waiting.pop(0)
            if here.node in classes:
                continue
            classes[here.node] = here
            for base in here.node.bases:
                found = self._meaning(here.module, base)
                if isinstance(found, PluginClass):
                    waiting.append(found)
                else:
                    foreign.append(found or Foreign())
        return Lineage(tuple(classes.values()), tuple(foreign))

    def _meaning(self, module: Module, node: ast.expr) -> PluginClass | Foreign | None:
        """Return what an expression after `class` or `=` means."""
        if isinstance(node, ast.Subscript):  # Generic[T]
            node = node.value
        if isinstance(node, ast.Name):
            return self._resolve(module, node.id, before=node.lineno) or Foreign(node.id)
        name = module.dotted(node)
        return Foreign("" if name is None or name.startswith(".") else name)

    def _resolve(
        self, module: Module, name: str, steps: int = 0, *, before: int | None = None
    ) -> PluginClass | Foreign | None:
        """Return what *name* means at the top of *module*, or there *before* a line; None if nothing has it."""
        if steps > STEP_LIMIT:
            return Foreign()
        nodes = self._tables[module.path].get(name, [])
        nodes = [node for node in nodes if before is None or node.lineno < before]
        node = nodes[-1] if nodes else None
        if isinstance(node, ast.ClassDef):
            return PluginClass(module, node)
        if isinstance(node, ast.ImportFrom):
            original = next(each.name for each in node.names if name == (each.asname or each.name))
            return self._imported(module, node, original, steps)
        if isinstance(node, ast.Name):  # one name assigned to another
            return self._resolve(module, node.id, steps + 1, before=node.lineno)
        if node is not None or "__getattr__" in self._tables[module.path]:
            return Foreign()
        found = (self._imported(module, star, name, steps) for star in _stars(module))
        return next((each for each in found if each is not None), None)

    def _imported(
        self, module: Module, node: ast.ImportFrom, name: str, steps: int
    ) -> PluginClass | Foreign | None:
        origin = self._origin(module, node)
        if origin is not None:
            return self._resolve(origin, name, steps + 1)
        outside = node.level == 0 and (node.module or "").split(".")[0] != self._name
        return Foreign(f"{node.module}.{name}" if outside else "")

    def _origin(self, module: Module, node: ast.ImportFrom) -> Module | None:
        """Return the module of this package that *node* imports from, if it is one."""
        parts = (node.module or "").split(".") if node.module else []
        if node.level:
            where = list(module.path.parent.parts)
            if node.level - 1 > len(where):
                return None
            where = where[: len(where) - (node.level - 1)]
        elif parts and parts[0] == self._name:
            where, parts = [], parts[1:]
        else:
            return None
        path = PurePosixPath(*where, *parts)
        for file in (path / "__init__.py", path.with_suffix(".py") if parts else path / "__init__.py"):
            if file in self._modules:
                return self._modules[file]
        return None

    def _starred(self, module: Module) -> list[str]:
        """Return the names that `from … import *` of this package brings into *module*."""
        origins = [self._origin(module, star) for star in _stars(module)]
        return [name for origin in origins if origin is not None for name in self._tables[origin.path]]


def literal(node: ast.AST | None) -> Any:
    """Return the value that *node* spells out, or `...` if only a run could tell."""
    try:
        return ast.literal_eval(node) if isinstance(node, ast.expr) else ...
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ...


def _stars(module: Module) -> list[ast.ImportFrom]:
    return [
        node
        for node in module.tree.body
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]


def _bindings(body: list[ast.stmt]) -> dict[str, list[Binding]]:
    """Return what a module or class binds: each name, with the statements or values that say what it is."""
    found: dict[str, list[Binding]] = {}
    for node in _statements(body):
        for name, meaning in _bound(node):
            found.setdefault(name, []).append(meaning)
    return found


def _bound(node: ast.stmt) -> Iterator[tuple[str, Binding]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, node
    elif isinstance(node, ast.ImportFrom):
        yield from ((alias.asname or alias.name, node) for alias in node.names if alias.name != "*")
    elif isinstance(node, ast.Import):
        yield from ((alias.asname or alias.name.partition(".")[0], node) for alias in node.names)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(target, node.value)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _assigned(node.target, node.value)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if len(values) == len(target.elts):  # name, version = "stamp", "1.0"
            for each, part in zip(target.elts, values, strict=True):
                if isinstance(each, ast.Name):
                    yield each.id, part


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of *body* and of the blocks in it that share its names."""
    waiting: list[ast.stmt | ast.excepthandler] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            blocks = [getattr(node, name, []) for name in ("body", "handlers", "orelse", "finalbody")]
            waiting.extend(reversed([each for block in blocks for each in block]))
