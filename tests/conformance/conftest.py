"""A launcher for what is examined; every test is checked for what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plughost.process.local import LocalLauncher


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


@pytest.fixture
def launcher() -> Iterator[LocalLauncher]:
    launcher = LocalLauncher()
    yield launcher
    launcher.close()
