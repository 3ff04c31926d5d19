"""Passes with real workers; after each test nothing of a pass may be left: no process, descriptor or file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.envelope.lab import Lab


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak_check: None) -> Iterator[Lab]:
    """A tree with one file, for the blocking host."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    made = Lab(tmp_path)
    made.write({"a.txt": "a\n"})
    yield made
    assert not made.left_behind()


@pytest.fixture(params=["blocking", pytest.param("asyncio", marks=pytest.mark.thin(4, "both hosts"))])
def both(request: pytest.FixtureRequest, lab: Lab) -> Lab:
    """The same, by either host."""
    lab.kind = request.param
    return lab
