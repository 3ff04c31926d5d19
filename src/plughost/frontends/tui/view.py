"""One plugin's screen: asks for frames when there is a reason to, one at a time, and keeps the latest."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...contracts.duplex.keys import KeyEvent
from ...contracts.duplex.messages import RenderResult
from ...errors import HostClosed, PlughostError
from ...failures import PluginFailure, PluginTimeout
from ...host.duplex import painting
from ...host.duplex.status import Status
from ...supervision.states import State
from . import notice
from .escape import Escape
from .room import keys_at_once

FRAME_S = 1 / 30  # between two frames at least: more than the eye wants, and a plugin has other work
SLOW_S = 1.0  # without a reason: a clock on the screen goes on, and an idle plugin costs next to nothing


class Plugin(Protocol):
    """What a view needs of a plugin."""

    @property
    def name(self) -> str: ...
    @property
    def status(self) -> Status: ...
    async def render(self, width: int, height: int) -> RenderResult: ...
    def key(self, screen_id: str, key: KeyEvent) -> bool: ...
    async def reload(self) -> Any: ...


class View:
    """A plugin's screen. *repaint* is told which rows of `painting` have changed."""

    def __init__(
        self,
        plugin: Plugin,
        screen_id: str,
        clock: Callable[[], float] = time.monotonic,
        at_once: int = keys_at_once(),
    ) -> None:
        self.plugin = plugin
        self.screen_id = screen_id
        self.painting: list[painting.Row] = []
        self.problem: PlughostError | None = None  # why the last frame did not come
        self.frames = 0
        self.escape = Escape()
        self.repaint: Callable[[Sequence[int]], None] = lambda _rows: None
        self._clock = clock
        self._at_once = at_once
        self._text: deque[KeyEvent] = (
            deque()
        )  # keys that nobody pressed one by one, and what was pressed after them
        self._reader: int | None = None  # of the plugin's processes, which has the beginning of that
        self._size = (0, 0)
        self._woken = asyncio.Event()
        self._shown = False

    def show(self, width: int, height: int) -> None:
        """Ask for frames of this size from now on, and for one at once."""
        self._shown, self._size = True, (width, height)
        self.wake()

    def hide(self) -> None:
        """Ask for no more frames."""
        self._shown = False
        self.escape.other_key()  # it was one that brought the operator elsewhere

    def wake(self) -> None:
        """Ask for a frame as soon as one may be asked for."""
        self._woken.set()

    def press(self, key: KeyEvent) -> bool:
        """Send *key* to the plugin. Returns True if it is an Esc that leaves instead."""
        if key.code.type == "esc" and not key.mods:
            self._text.clear()  # who wants out does not want the rest of it
            if self.plugin.status.state is State.QUARANTINED or self.escape.press(self._clock()):
                return True
        else:
            self.escape.other_key()
        if self._text:
            self._text.append(key)
        elif not self.plugin.key(self.screen_id, key):
            self.escape.painted(self._clock(), changed=False)  # nobody hears it, so nothing can follow
        self.wake()
        return False

    def paste(self, keys: Sequence[KeyEvent]) -> None:
        """Send *keys* to the plugin, as many with each frame as it has room for: it loses the oldest of too many."""
        self.escape.other_key()
        if not self._text:
            self._reader = None
        self._text.extend(keys)
        self.wake()

    async def reload(self) -> None:
        """Start the plugin anew, also out of quarantine."""
        try:
            await self.plugin.reload()
        except HostClosed:
            raise
        except PlughostError as error:
            self.problem = error
        self.wake()

    async def run(self) -> None:
        """Ask for frames until cancelled, or until the host is closed."""
        while True:
            await self._until_wanted()
            self._woken.clear()
            began = self._clock()
            try:
                await self._ask(*self._size)
            except HostClosed:
                return
            if self._text:
                self.wake()
            await asyncio.sleep(max(0.0, FRAME_S - (self._clock() - began)))

    async def _until_wanted(self) -> None:
        while not (self._shown or self._text):
            self._woken.clear()
            await self._woken.wait()
        try:
            async with asyncio.timeout(SLOW_S):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _ask(self, width: int, height: int) -> None:
        """Ask for one frame and keep it. A plugin is never asked for a screen of no size."""
        if not width or not height:
            return
        asked_at = self._clock()
        self._type()
        try:
            result = await self.plugin.render(width, height)
        except HostClosed:
            raise
        except PlughostError as error:
            self.problem = error
            if isinstance(error, PluginFailure) and not isinstance(error, PluginTimeout):
                self._text.clear()  # who had read the beginning of it is gone
            self._fail(error, width, height)
            self.escape.painted(asked_at, changed=False)
            return
        self.problem = None
        self.frames += 1
        self._reader = self._reader or self.plugin.status.starts
        if result.redraw or self.plugin.status.waiting_events:
            self.wake()
        changed = self._keep(painting.rows(result.buffer, width, height))
        self.escape.painted(asked_at, changed=changed)

    def _type(self) -> None:
        """Send the next keys of a text, if the plugin has read those before: it had, when it answered with a frame."""
        if self._reader not in (None, self.plugin.status.starts):
            self._text.clear()  # the next process would take the rest for something else
        if isinstance(self.problem, PluginTimeout) or not self._text:
            return
        for _ in range(min(self._at_once, len(self._text))):
            self.plugin.key(self.screen_id, self._text.popleft())
        status = self.plugin.status
        if status.state in (State.SPAWNING, State.RUNNING):  # else they wait for one that is not there yet
            self._reader = status.starts

    def _fail(self, error: PlughostError, width: int, height: int) -> None:
        """Leave the last frame, which may come to life again; without one, or out of hope, show what is known."""
        hopeless = self.plugin.status.state is State.QUARANTINED
        if isinstance(error, PluginFailure) and (hopeless or not self.frames):
            self._keep(notice.rows(error, width, height))
        else:
            self.repaint(())

    def _keep(self, painted: list[painting.Row]) -> bool:
        """Keep *painted* and tell of it. Returns whether it is another picture than before."""
        rows = painting.changed(self.painting, painted)
        self.painting = painted
        self.repaint(rows)
        return bool(rows)
