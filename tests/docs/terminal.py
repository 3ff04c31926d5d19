"""The `console` blocks of a page: text to commands and what they should print, run in a shell and compared.

`…` stands for anything within a line, and a line of its own for any lines. Durations, process ids and
request ids differ from run to run, so any number of their kind will do.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 250
ELLIPSIS = "…"

_VARIABLE = (
    (re.compile(r"(?<![\d.])\d+\.\d+(?![\d.])"), "#.#"),  # a duration: a version has two dots
    (re.compile(r"\bprocess \d+"), "process #"),
    (re.compile(r"\b\d+ MiB"), "# MiB"),
    (re.compile(r"/python3(?:\.\d+)?(?= )"), "/python"),  # by which of its names pip was run
    (re.compile(r"plugin_req_[0-9a-f]{16}"), "plugin_req_#"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """One line after a prompt, and the lines up to the next prompt."""

    line: str
    prints: str


def parse(block: str) -> list[Command]:
    """Return the commands of a `console` block."""
    found = []
    for chunk in re.split(r"^\$ ", block, flags=re.M)[1:]:
        line, _, prints = chunk.partition("\n")
        found.append(Command(line, prints))
    return found


class Terminal:
    """A shell in *directory* that remembers the last exit status."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.status = 0

    def run(self, command: str) -> str:
        """Run *command* and return what it prints on either stream."""
        done = subprocess.run(
            ["sh", "-c", f"(exit {self.status}); {command}"],
            cwd=self.directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
        self.status = done.returncode
        return done.stdout.decode()


def difference(expected: str, actual: str) -> str:
    """Say how *actual* is not what the page shows; "" if it is."""
    wanted, got = _lines(expected), _lines(actual)
    if _agree(wanted, got):
        return ""
    return "\n".join(difflib.unified_diff(wanted, got, "page", "run", lineterm=""))


def _agree(wanted: list[str], got: list[str]) -> bool:
    if not wanted:
        return not got
    first, *rest = wanted
    if first.strip() == ELLIPSIS:
        return any(_agree(rest, got[at:]) for at in range(len(got) + 1))
    pattern = re.escape(first).replace(re.escape(ELLIPSIS), ".*")
    return bool(got) and re.fullmatch(pattern, got[0]) is not None and _agree(rest, got[1:])


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in _without_variables(text).rstrip().splitlines()]


def _without_variables(text: str) -> str:
    for pattern, stand_in in _VARIABLE:
        text = pattern.sub(stand_in, text)
    return text


def _environment() -> dict[str, str]:
    here = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": os.pathsep.join((here, os.environ.get("PATH", os.defpath))),
        "COLUMNS": "80",
        "PYTHONUNBUFFERED": "1",  # so that both streams come in the order in which a terminal shows them
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:asyncio -p no:xdist -p no:hypothesispytest",
    }
