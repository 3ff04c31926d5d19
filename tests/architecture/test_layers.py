"""The rules that keep the tree readable: layers, purity, light imports, sizes, one door for the public API."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HOST, SDK = ROOT / "src/plughost", ROOT / "sdk/python/plughost_sdk"
SOURCES = sorted([*HOST.rglob("*.py"), *SDK.rglob("*.py")])

PURE = [
    *(HOST / "messages").glob("*.py"),
    *(HOST / "capabilities").glob("*.py"),
    *(HOST / "contracts").rglob("*.py"),
    *(HOST / "supervision").glob("*.py"),
    HOST / "process/ladder.py",
    HOST / "process/stderr.py",
    *(SDK / "frames").glob("*.py"),
]
IMPURE = {"asyncio", "threading", "subprocess", "socket", "time", "logging", "selectors", "select", "signal"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(path: Path) -> set[str]:
    """Return the top-level names of the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_the_import_layers_hold() -> None:
    linted = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout


@pytest.mark.parametrize("path", PURE, ids=name)
def test_what_is_pure_imports_no_clock_thread_process_or_loop(path: Path) -> None:
    assert imported(path) & IMPURE == set()


def test_one_contract_never_imports_another() -> None:
    contracts = [
        path for path in (HOST / "contracts").iterdir() if path.is_dir() and path.name != "__pycache__"
    ]
    for contract in contracts:
        others = {other.name for other in contracts} - {contract.name}
        for path in contract.glob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert not any(f"contracts.{other}" in text or f"from ..{other}" in text for other in others), (
                path
            )


@pytest.mark.parametrize("path", [*SDK.rglob("*.py")], ids=name)
def test_the_sdk_imports_the_standard_library_only(path: Path) -> None:
    protobuf = {"google"} if "hook" in str(path.relative_to(SDK)) else set()  # its messages are protobuf's
    assert imported(path) - sys.stdlib_module_names <= {"plughost_sdk"} | protobuf


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_is_short_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 750
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_only_the_terminal_prints(path: Path) -> None:
    allowed = {"terminal.py", "main.py"}
    calls = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not calls or path.name in allowed


@pytest.mark.parametrize("path", [*HOST.rglob("*.py")], ids=name)
def test_exceptions_are_defined_in_two_files_only(path: Path) -> None:
    if path.name in ("errors.py", "failures.py"):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            assert not any(base.endswith(("Error", "Exception", "Failure")) for base in bases), node.name


PUBLIC = (
    "plughost",
    "plughost.blocking",
    "plughost.testkit",
    "plughost_sdk.duplex",
    "plughost_sdk.envelope",
    "plughost_sdk.execute",
    "plughost_sdk.hook",
    "plughost_sdk.msgpack",
)


def public_names() -> list[str]:
    return sorted(f"{module}.{each}" for module in PUBLIC for each in importlib.import_module(module).__all__)


def test_the_public_names_are_those_that_were_agreed_on() -> None:
    agreed = (Path(__file__).parent / "public_api.txt").read_text().split()
    assert public_names() == agreed, "a change of the public API is a decision: write it into public_api.txt"


def test_every_public_name_can_be_imported() -> None:
    for each in public_names():
        module, _, attribute = each.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import plughost", {"asyncio", "msgspec", "click", "rich", "subprocess", "logging"}),
        ("import plughost.blocking", {"asyncio", "click", "rich", "logging", "uvloop"}),
        ("import plughost.frontends.cli.entry", {"click", "typing", "plughost.frontends.cli.main"}),
        ("import plughost.frontends.cli.main", {"asyncio", "msgspec", "rich", "subprocess"}),
        ("import plughost_sdk", {"json", "typing", "re"}),
    ],
)
def test_an_import_brings_in_nothing_heavy(statement: str, heavy: set[str]) -> None:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=250, check=True
    )
    assert set(done.stdout.split()) & heavy == set()
