"""No test of this folder depends on how fast the machine is."""

from __future__ import annotations

import pytest

from tests.frontends.mcp.agent import PATIENCE_S


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the end of an interrupted request however long it takes."""
    from plughost.frontends.mcp import session

    monkeypatch.setattr(session, "SETTLE_S", PATIENCE_S)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "frontends/mcp/" in item.nodeid and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(2 * PATIENCE_S))
