"""Turns a cell with a top-level `await` into its result, on an event loop that stays from cell to cell."""

from __future__ import annotations

import asyncio

from .interrupt import invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any


class Loop:
    """The event loop of the session. Tasks that a cell leaves behind go on whenever a later cell awaits."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run *coroutine* to its end. Interrupted, it is cancelled first, so that its `finally` clauses run."""
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)  # asyncio.run, in a cell before, may have left none
        task = self._loop.create_task(coroutine)
        try:
            invoke(self._loop.run_until_complete, task)
        except BaseException:
            if not task.done():
                task.cancel()
                try:
                    invoke(self._loop.run_until_complete, task)
                except asyncio.CancelledError:
                    pass
            elif not task.cancelled():
                task.exception()  # seen: or asyncio would report it a second time
            raise
