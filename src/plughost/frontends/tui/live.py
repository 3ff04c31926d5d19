"""Plugins' screens on a terminal, from the first process to the last: a host, its fleet, and the application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...host.asyncio_host import Host
from .app import ScreenApp
from .view import View

if TYPE_CHECKING:
    from ...host.duplex.options import FleetKeywords
    from ...host.events import Event

PATIENCE_S = 0.5  # after which a person wonders why the prompt does not come back
Choose = Callable[[Any], Sequence[tuple[Any, str]]]  # a fleet to plugins and the screens to show of them


async def run(
    places: Sequence[Path], keywords: FleetKeywords, choose: Choose, lingers: Callable[[], None]
) -> bool:
    """Show what *choose* finds in the fleet of *places*, until the operator leaves. Returns False if we broke.

    A plugin that hangs takes its time to end; *lingers* is called when that begins to show.
    """
    app: ScreenApp | None = None

    def listen(event: Event) -> None:
        if app is not None:
            app.heard(event)

    async with Host(on_event=listen) as host:
        fleet = await host.fleet(*places, **keywords)
        app = ScreenApp([View(plugin, screen) for plugin, screen in choose(fleet)])
        await app.run_async(mouse=False)  # so that the terminal's own selection works
        slow = asyncio.get_running_loop().call_later(PATIENCE_S, lingers)
    slow.cancel()
    return app.return_code == 0
