"""A plugin without a process: shows lines, keeps keys, and is in whatever state a test puts it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from plughost.autopsy import Autopsy, Stage
from plughost.contracts.duplex.keys import KeyEvent
from plughost.contracts.duplex.messages import RenderResult
from plughost.contracts.duplex.screen import Cell, Coord, WireBuffer
from plughost.errors import PlughostError
from plughost.failures import PluginCrashed, PluginTimeout
from plughost.host.duplex.status import Status
from plughost.supervision.states import State

RUNNING = Status(
    state=State.RUNNING,
    pid=1,
    starts=1,
    attempt=0,
    failures=0,
    wedged=False,
    pending=0,
    unanswered=0,
    waiting_events=0,
    dropped_keys=0,
    dropped_events=0,
    ignored=0,
    denied=0,
    last_failure=None,
)
CRASH = PluginCrashed("fake", "it fell\x1b[31m over", Autopsy(stage=Stage.EXECUTE, hint="pick it up"))
TIMEOUT = PluginTimeout("fake", "it sleeps", Autopsy(stage=Stage.EXECUTE, hint="wake it up"))


def buffer(*lines: str, width: int = 40, height: int = 8) -> WireBuffer:
    """Return *lines* painted one symbol to a cell."""
    cells = tuple((Coord(x, y), Cell(each)) for y, line in enumerate(lines) for x, each in enumerate(line))
    return WireBuffer(width, height, cells)


class FakePlugin:
    """`lines` are what it shows, `error` what it raises, `gate` holds back its frames while it is clear."""

    def __init__(self, name: str = "fake", *lines: str) -> None:
        self.name = name
        self.lines = lines
        self.status = RUNNING
        self.error: PlughostError | None = None
        self.keys: list[KeyEvent] = []
        self.hears = True
        self.sizes: list[tuple[int, int]] = []
        self.answered = 0
        self.under_way = 0
        self.most_under_way = 0
        self.redraws = 0
        self.reloads = 0
        self.gate = asyncio.Event()
        self.gate.set()

    def put(self, **status: Any) -> None:
        """Change its status."""
        self.status = replace(self.status, **status)

    async def render(self, width: int, height: int) -> RenderResult:
        self.sizes.append((width, height))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await self.gate.wait()
        finally:
            self.under_way -= 1
        if self.error is not None:
            raise self.error
        self.answered += 1
        self.redraws -= 1
        return RenderResult(buffer(*self.lines, width=width, height=height), redraw=self.redraws > 0)

    def key(self, screen_id: str, key: KeyEvent) -> bool:
        assert screen_id == f"{self.name}-screen"
        self.keys.append(key)
        return self.hears

    async def reload(self) -> None:
        self.reloads += 1
        self.error = None
        self.put(state=State.RUNNING)
