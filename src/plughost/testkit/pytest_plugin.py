"""Fixtures for pytest, found by themselves once plughost is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..blocking import Host


@pytest.fixture
def plughost_host() -> Iterator[Host]:
    """A blocking host, closed after the test: `plughost_host.add(directory).call(tool, input)`."""
    from ..blocking import Host  # not at import: every pytest run on this machine imports this file

    with Host() as host:
        yield host
