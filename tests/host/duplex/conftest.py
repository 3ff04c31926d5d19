"""Fleets of real plugins; after each test nothing may be left: no process, descriptor or thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.duplex.fleet_lab import Lab, is_alive


@pytest.fixture
def lab(tmp_path: Path, leak_check: None) -> Iterator[Lab]:
    """A blocking host, which is closed in the end."""
    before = set(threading.enumerate())
    made = Lab(tmp_path)
    yield made
    made.close()
    for thread in set(threading.enumerate()) - before:  # what it did elsewhere ends by itself
        thread.join(200)
        assert not thread.is_alive(), thread.name
    assert not [pid for pid in made.spawned() if is_alive(pid)]


@pytest.fixture(
    params=[
        "blocking",
        "asyncio",
        pytest.param("blocking, the short way", marks=pytest.mark.long),
        pytest.param("asyncio, the short way", marks=pytest.mark.long),
    ]
)
def both(request: pytest.FixtureRequest, lab: Lab) -> Lab:
    """The same, by either host. Who watches the wire, as this does, is kept off the short way, unless it is forced."""
    lab.kind, _, way = request.param.partition(", ")
    lab.short = bool(way)
    return lab
