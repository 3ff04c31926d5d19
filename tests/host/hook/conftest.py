"""Conversations with real providers; after each test nothing may be left: no process, descriptor, thread or file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.hook.lab import Lab, is_alive


@pytest.fixture
def lab(tmp_path: Path, leak_check: None) -> Iterator[Lab]:
    """A blocking host, which is closed in the end."""
    threads = threading.active_count()
    made = Lab(tmp_path)
    yield made
    made.close()
    assert threading.active_count() == threads
    assert not [pid for pid in made.spawned() if is_alive(pid)]
    assert not [path.name for path in made.out.glob(".*plughost*")]


@pytest.fixture(params=["blocking", pytest.param("asyncio", marks=pytest.mark.thin(3, "both hook hosts"))])
def both(request: pytest.FixtureRequest, lab: Lab) -> Lab:
    """The same, by either host."""
    lab.kind = request.param
    return lab
