"""Plugins in every language that is here: what plughost adds to each one's own start."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from plughost import ManifestError, Unsupported
from plughost.manifest import binding
from plughost.process import command

from ..contender import Contender
from ..driver import ROOT
from ..samples import Source
from ..section import Row, Section
from ..target import Kind, Target
from .python_start import BASES, CONTENDERS

ASYNCIO_MODULE = "bench.drivers.asyncio_host"
RAW_MODULE = "bench.drivers.raw_pipe"
BUNDLED = "src/plughost/bundled/execute/greeter"  # relative to the repository, where drivers are started
EXAMPLES = "examples/execute"
WANTED = ("c", "go", "node", "rust", "shell")
NAMES = {"c": "C", "go": "Go", "node": "Node.js", "rust": "Rust", "shell": "shell and awk"}
ADDED_MS = 2.0


@cache
def directories() -> tuple[str, ...]:
    """Return the plugins that can be started here, the bundled Python one first."""
    return (BUNDLED, *(_directory(name) for name in WANTED if not _problem(name)))


def own_start() -> Section:
    bare_python = Source("bare-python", "byte")
    contenders = [*CONTENDERS, Contender("bare-python", RAW_MODULE, "greeter", directories()), asyncio_host()]
    rows = [
        Row("Python, bare", bare_python),
        Row("Python, under plughost", Source("asyncio", "handshake"), ours=True),
    ]
    for name in WANTED:
        contenders += _pair(name)
        rows += _rows(name)
    return Section(
        key="languages",
        title="A plugin's own start, and under plughost",
        unit="ms",
        contenders=tuple(contenders),
        rows=tuple(rows),
        bases=BASES,
        notes=(
            "Bare: the same command with a handshake written to its pipe, to the first byte of its reply.",
            "Under plughost: from the call to the accepted handshake, asyncio host.",
        ),
    )


def asyncio_host() -> Contender:
    """The contender that calls the bundled Python greeter."""
    return Contender("asyncio", ASYNCIO_MODULE, "greeter", directories())


def _pair(name: str) -> list[Contender]:
    job, problem = Path(_directory(name)).name, _problem(name)
    return [
        Contender(f"bare-{name}", RAW_MODULE, job, directories(), missing=problem),
        Contender(f"host-{name}", ASYNCIO_MODULE, job, directories(), missing=problem),
    ]


def _rows(name: str) -> list[Row]:
    label, bare = NAMES[name], Source(f"bare-{name}", "byte")
    target = Target(Kind.OVER, ADDED_MS, "its own start", bare)
    hosted = Row(f"{label}, under plughost", Source(f"host-{name}", "handshake"), target, ours=True)
    return [Row(f"{label}, bare", bare), hosted]


def _directory(name: str) -> str:
    return f"{EXAMPLES}/greeter-{name}"


@cache
def _problem(name: str) -> str:
    """Say why the example cannot be started here, or nothing."""
    try:
        command.resolve(binding.read(ROOT / _directory(name)), os.environ.get("PATH", os.defpath))
    except ManifestError:
        return f"there is no {_directory(name)}"
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        return f"there is no {missing}: examples/build builds what a compiler is there for"
    except (OSError, Unsupported) as error:
        return str(error)
    return ""
