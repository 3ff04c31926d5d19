"""Real children only here; every test is checked for leaks."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


@pytest.fixture
def wait_gone() -> Callable[[int], bool]:
    """Return a function that waits for a process to be gone, or a zombie; False if it is still there after 10 s."""

    def gone(pid: int) -> bool:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            return bool(select.select([pidfd], [], [], 200)[0])
        finally:
            os.close(pidfd)

    return gone


def is_alive(pid: int) -> bool:
    """Tell whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def alive() -> Callable[[int], bool]:
    return is_alive
