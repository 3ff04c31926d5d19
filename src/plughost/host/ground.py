"""What a fleet stands on: something that watches its processes, tells it the time and takes in work. Promises only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..process.link import Link
from ..process.watcher import Watcher


class Ground(Protocol):
    """Where processes are watched and time passes: an event loop, or whichever thread waits."""

    @property
    def watcher(self) -> Watcher: ...
    def adopt(self, link: Link, attend: Callable[[], None]) -> None:
        """Run *link* until its process is gone; *attend* to it after everything that happens to it."""

    def expect(self, link: Link) -> None:
        """Look at the deadlines of *link* again: something was asked of it."""

    def say_soon(self, link: Link) -> None:
        """Let *link* write what its session has to say, together with what will be said in a moment, if it can be.

        Then its deadlines are looked at again.
        """

    def go_on_soon(self, link: Link) -> None:
        """Let *link* go on when others have had their turn: it has much to say to a plugin that reads fast."""

    def wake_at(self, at: float) -> None:
        """Let the fleet tick at *at*, or before."""

    def post(self, work: Callable[[], None]) -> None:
        """Do *work* where the fleet works. For any thread."""


def nothing_is_due(now: float) -> None:
    """Do nothing: the ground has no fleet yet."""
