"""What workers that are gone have left for the next reply, kept until somebody is told. Bounded; decides nothing."""

from __future__ import annotations

from pathlib import Path

from ...contracts.sideband.items import Item
from ...failures import PluginFailure
from .reply import omit
from .worker import Request


class Remains:
    """Of the last worker that is gone, and a count of what those before it had left."""

    __slots__ = ("failure", "full_output", "items", "request")

    def __init__(self) -> None:
        self.items: tuple[Item, ...] = ()
        self.full_output: Path | None = None
        self.request: Request | None = None  # what it was given last, if no reply was given about that
        self.failure: PluginFailure | None = None

    def add(
        self,
        items: tuple[Item, ...],
        full_output: Path | None,
        request: Request | None,
        failure: PluginFailure | None,
    ) -> None:
        """Another worker is gone. What nobody has asked for since the one before is only counted."""
        self.items = (omit(self.items), *items) if self.items else items
        self.full_output, self.request, self.failure = full_output, request, failure
