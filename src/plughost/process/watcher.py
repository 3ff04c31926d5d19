"""The part of a driver that a link needs: which descriptors to look at. Promises only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Watcher(Protocol):
    """Calls *on_ready* when something can be done with a descriptor, for as long as it is watched."""

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None: ...
    def watch_writable(self, fd: int, on_ready: Callable[[], None]) -> None: ...
    def unwatch(self, fd: int) -> None: ...
    def unwatch_writable(self, fd: int) -> None: ...
