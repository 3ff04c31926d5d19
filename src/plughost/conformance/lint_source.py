"""The Python files of a plugin's directory to syntax trees, and what each tells by itself. Runs none of them.

A source is parsed by Python's own parser and then only looked at: who calls `print`, leaves the process,
speaks to the network, or works at import. Names are followed through imports, not through assignments: this
finds what authors do by habit, not what one hides.
"""

from __future__ import annotations

import ast
import os
import stat
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TypeGuard

from ..manifest import bounded_file
from ..messages.quoting import quote
from .lint_report import Finding, error, warning

SIZE_LIMIT = 1_048_576  # bytes of one source, and what any other file of a plugin is expected to stay below
FILE_LIMIT = 1000  # files and directories looked at: more is a virtual environment that was left there
SAME_LIMIT = 5  # findings of one code in one file: the sixth print tells nothing new

NETWORK = (
    "aiohttp", "boto3", "ftplib", "grpc", "http.client", "http.server", "httpx", "imaplib", "nntplib",
    "paramiko", "poplib", "requests", "smtplib", "socket", "socketserver", "telnetlib", "urllib.request",
    "urllib3", "websocket", "websockets", "xmlrpc",
)  # fmt: skip
EXITS = ("exit", "os._exit", "os.abort", "quit", "sys.exit", "SystemExit")
WORK = (
    "input", "open", "os.makedirs", "os.mkdir", "os.popen", "os.remove", "os.rename", "os.replace", "os.system",
    "os.unlink", "shutil", "subprocess", "time.sleep",
)  # fmt: skip
WORK_METHODS = ("mkdir", "read_bytes", "read_text", "touch", "unlink", "write_bytes", "write_text")
SKIPPED = ("__pycache__", "node_modules")


@dataclass(frozen=True, slots=True)
class Module:
    """One source: its path below the plugin's directory, its tree, and what its imports call what."""

    path: PurePosixPath
    tree: ast.Module
    imports: dict[str, str]

    def dotted(self, node: ast.expr) -> str | None:
        """Return the full name of what *node* means, such as `os.path.join`; None if it is not just a name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self.imports.get(node.id, node.id), *reversed(parts)])

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def load(directory: Path) -> tuple[dict[PurePosixPath, Module], list[Finding]]:
    """Return the modules below *directory* by their paths, and what is wrong with its files."""
    modules: dict[PurePosixPath, Module] = {}
    found: list[Finding] = []
    for count, (path, status) in enumerate(_entries(directory)):
        if count >= FILE_LIMIT:
            found.append(warning("many-files", f"over {FILE_LIMIT} files: the rest was not looked at"))
            break
        if stat.S_ISREG(status.st_mode) and status.st_size > SIZE_LIMIT:
            found.append(warning("large-file", f"{path}: over {SIZE_LIMIT} bytes"))
        elif path.suffix == ".py" and not stat.S_ISDIR(status.st_mode):
            parsed = _parse(directory, path)
            if isinstance(parsed, Finding):
                found.append(parsed)
            else:
                modules[path] = parsed
    return modules, found


def habits(module: Module, *, network: bool) -> list[Finding]:
    """Return what the code of *module* does that a worker should not; *network* tells if that is declared."""
    found = [] if network else _network_imports(module)
    for node in _walk(module.tree, into_functions=True):
        if isinstance(node, ast.Call) and _prints(module, node):
            found.append(warning("print-call", f"{module.at(node)}: print goes to stderr; use ctx.log"))
        elif (name := _exit(module, node)) is not None:
            remedy = "raise PluginError to fail, return to be done"
            found.append(warning("exit-call", f"{module.at(node)}: {name} ends the worker unheard; {remedy}"))
    for node in _walk(module.tree, into_functions=False):
        if isinstance(node, ast.Call) and (name := _work(module, node)) is not None:
            message = f"{module.at(node)}: {quote(name)} is called at import; call it in pre_transform_all"
            found.append(warning("import-work", message))
    return _shortened(found)


def _entries(root: Path) -> Iterator[tuple[PurePosixPath, os.stat_result]]:
    """Yield what is below *root*, with its status. Follows no link to a directory."""
    waiting = [PurePosixPath()]  # a list, not recursion: a tree can be deeper than a stack
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(root / here) as scan:
                names = sorted(entry.name for entry in islice(scan, FILE_LIMIT + 1))
        except OSError:
            continue  # what we may not list holds no module for us
        for name in names:
            try:
                status = os.lstat(root / here / name)
            except OSError:
                continue  # it has gone
            if stat.S_ISDIR(status.st_mode) and not name.startswith(".") and name not in SKIPPED:
                waiting.append(here / name)
            yield here / name, status


def _parse(directory: Path, path: PurePosixPath) -> Module | Finding:
    try:
        source = bounded_file.read(directory / path, SIZE_LIMIT + 1)
    except OSError as problem:
        return error("unreadable", f"{path}: {problem.strerror}")
    if source is None:
        return error("unreadable", f"{path}: not a regular file")
    if len(source) > SIZE_LIMIT:  # by way of a link
        return warning("large-file", f"{path}: over {SIZE_LIMIT} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a text is between Python and its author
            tree = ast.parse(source)
    except SyntaxError as problem:
        line = f":{problem.lineno}" if problem.lineno else ""
        return error("syntax-error", f"{path}{line}: {quote(problem.msg)}")
    except (ValueError, RecursionError, MemoryError) as problem:  # NULs; nested deeper than the parser goes
        return error("syntax-error", f"{path}: cannot be parsed: {quote(str(problem))}")
    return Module(path, tree, _names(tree))


def _names(tree: ast.Module) -> dict[str, str]:
    """Return the full names of what is imported anywhere, and of what is defined at the top."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            names |= {alias.asname or alias.name: f"{origin}.{alias.name}" for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[node.name] = f".{node.name}"  # no longer the builtin of that name
    return names


def _walk(tree: ast.Module, *, into_functions: bool) -> Iterator[ast.AST]:
    """Yield the nodes that importing the module runs, or also those of functions; never an `if` for `__main__`."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not into_functions:
            continue
        children = node.orelse if _is_for_main(node) else ast.iter_child_nodes(node)
        waiting.extend(reversed(list(children)))


def _is_for_main(node: ast.AST) -> TypeGuard[ast.If]:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


def _network_imports(module: Module) -> list[Finding]:
    found = []
    for node in ast.walk(module.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if _is_among(name, NETWORK):
                message = f"{module.at(node)}: imports {quote(name)}, but the manifest declares no network"
                found.append(warning("network-import", message, "isolation.network"))
    return found


def _prints(module: Module, node: ast.Call) -> bool:
    return module.dotted(node.func) == "print" and not any(word.arg == "file" for word in node.keywords)


def _exit(module: Module, node: ast.AST) -> str | None:
    """Return the name of what ends the process, if *node* does."""
    called = node.func if isinstance(node, ast.Call) else node.exc if isinstance(node, ast.Raise) else None
    name = module.dotted(called) if called is not None else None
    return name if name in EXITS else None


def _work(module: Module, node: ast.Call) -> str | None:
    """Return the name of what is called, if it reads, writes, waits or speaks."""
    name = module.dotted(node.func)
    if name is not None and _is_among(name, (*WORK, *NETWORK)):
        return name
    method = node.func.attr if isinstance(node.func, ast.Attribute) else None
    return method if method in WORK_METHODS else None


def _is_among(name: str, table: Sequence[str]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in table)


def _shortened(found: list[Finding]) -> list[Finding]:
    """Return *found* with only the first few of each code."""
    seen: Counter[str] = Counter()
    kept = []
    for finding in found:
        seen[finding.code] += 1
        if seen[finding.code] <= SAME_LIMIT:
            kept.append(finding)
    return kept
