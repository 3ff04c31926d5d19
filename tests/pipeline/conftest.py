"""How many random examples the tests of pipeline files try."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("everyday", settings.get_profile("default"), max_examples=25)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Try few random examples everyday, and all with `--all`: a test takes its settings when it is imported."""
    if not collector.config.getoption("--all"):
        settings.load_profile("everyday")
    try:
        return (yield)
    finally:
        settings.load_profile("default")
