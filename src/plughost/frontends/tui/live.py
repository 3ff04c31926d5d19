"""Plugins' screens on a terminal, from the first process to the last: a host, its fleet, and the application."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...failures import PluginFailure
from ...host.asyncio_host import Host
from ...supervision.states import State
from .app import ScreenApp
from .room import keys_at_once
from .view import View

if TYPE_CHECKING:
    from ...host.duplex.options import FleetKeywords
    from ...host.events import Event

ENDING = (signal.SIGTERM, signal.SIGHUP)  # they would leave the terminal to the shell as a screen has it
PATIENCE_S = 0.5  # after which a person wonders why the prompt does not come back


@dataclass(frozen=True, slots=True)
class Left:
    """How the screens were left: *failure* is that of a plugin in quarantine, the one that was shown first of all."""

    is_sound: bool  # False: we broke
    failure: PluginFailure | None = None
    by_signal: int | None = None


Choose = Callable[[Any], Sequence[tuple[Any, str]]]  # a fleet to plugins and the screens to show of them


async def run(
    places: Sequence[Path], keywords: FleetKeywords, choose: Choose, lingers: Callable[[], None]
) -> Left:
    """Show what *choose* finds in the fleet of *places*, until the operator leaves. Returns how that was.

    A plugin that hangs takes its time to end; *lingers* is called when that begins to show.
    """
    app: ScreenApp | None = None

    def listen(event: Event) -> None:
        if app is not None:
            app.heard(event)

    async with Host(on_event=listen) as host:
        fleet = await host.fleet(*places, **keywords)
        app = ScreenApp([_view(plugin, screen) for plugin, screen in choose(fleet)])
        with _heeding(app) as came:
            await app.run_async(mouse=False)  # so that the terminal's own selection works
        failure = _failure(app)  # now: closing the host ends the quarantine too
        slow = asyncio.get_running_loop().call_later(PATIENCE_S, lingers)
    slow.cancel()
    return Left(app.return_code == 0, failure, next(iter(came), None))


@contextmanager
def _heeding(app: ScreenApp) -> Iterator[list[int]]:
    """Leave *app* when a signal ends us. The list that this gives holds it then; one more ends us at once."""
    loop = asyncio.get_running_loop()
    came: list[int] = []

    def leave(number: int) -> None:
        came.append(number)
        loop.remove_signal_handler(number)
        app.exit()

    heeded = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]  # not those of nohup
    for number in heeded:
        loop.add_signal_handler(number, leave, number)
    try:
        yield came
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)


def _view(plugin: Any, screen: str) -> View:
    return View(plugin, screen, at_once=keys_at_once(plugin.binding.limits.key_lane))


def _failure(app: ScreenApp) -> PluginFailure | None:
    """Return why a plugin is in quarantine, if one is."""
    each = (view.plugin.status for view in (app.view, *app.views))
    return next((status.last_failure for status in each if status.state is State.QUARANTINED), None)
