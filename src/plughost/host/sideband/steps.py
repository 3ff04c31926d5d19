"""What a console waits for, as a value that either host can wait for, and where it stands. Waits for nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple, Protocol, TypeVar

from ...process.link import Link
from ...process.watcher import Watcher

T = TypeVar("T")


class Wait(NamedTuple):
    """Go on when *reached*, which only what happens to *link* can bring about, or after so many *seconds*.

    Without *seconds* the deadlines of the link bound it.
    """

    link: Link
    reached: Callable[[], bool]
    seconds: float | None = None


Flow = Generator[Wait, None, T]  # a verb of a console: it is driven by whoever can wait


class Ground(Protocol):
    """Where a console's workers are watched: an event loop, or whichever thread waits."""

    @property
    def watcher(self) -> Watcher: ...
    def adopt(self, link: Link, attend: Callable[[], None]) -> None:
        """Run *link* until its process is gone; *attend* to it after everything that happens to it."""
