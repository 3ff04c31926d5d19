"""The command line as its users meet it: a program, its output and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.host.envelope.lab import Lab

PLUGHOST = [sys.executable, "-m", "plughost"]


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        assert len(self.stdout.splitlines()) == 1, "exactly one JSON object"
        return json.loads(self.stdout)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    """Run `plughost` with words, in an empty directory."""

    def go(*words: str, stdin: str = "", env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
        done = subprocess.run(
            [*PLUGHOST, *words],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=cwd or tmp_path,
            env={**os.environ, **(env or {})},
            timeout=250,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return go


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak_check: None) -> Iterator[Lab]:
    """A tree with one file; nothing of a pass may be left afterwards."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    made = Lab(tmp_path)
    made.write({"a.txt": "a\n"})
    yield made
    assert not made.left_behind()
