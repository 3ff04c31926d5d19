"""Consoles with real workers; after each test nothing may be left: no process, descriptor, thread or file."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from plughost.host.sideband.spool import PREFIX
from tests.host.sideband.lab import Lab


@pytest.fixture
def lab(tmp_path: Path, leak_check: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A blocking host, which is closed in the end."""
    spools = tmp_path / "temporary"
    spools.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spools))
    before = set(threading.enumerate())
    made = Lab(tmp_path)
    yield made
    made.close()
    for thread in set(threading.enumerate()) - before:  # what it did elsewhere ends by itself
        thread.join(200)
        assert not thread.is_alive(), thread.name
    assert not list(spools.glob(f"{PREFIX}*"))


@pytest.fixture(params=["blocking", "asyncio"])
def both(request: pytest.FixtureRequest, lab: Lab) -> Lab:
    """The same, by either host."""
    lab.kind = request.param
    return lab
