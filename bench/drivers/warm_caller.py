"""Calls to a warm spare: has one process wait, idle and shaken hands with, before each call that is timed.

Theory of operation. A host says what happens through `on_event`, so nothing private is touched: the request
leaves for a process that has shaken hands when the session goes to `executing`, and the answer is the next
frame from that process. The spare that takes the place of a used one is started during the call, as in
real use; the next call waits until that one sleeps, since a spare still importing is not warm.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from plughost import Binding, Event, Limits
from plughost.contracts.base import FramePassed, StateChanged
from plughost.manifest import binding
from plughost.manifest.binding import ExecuteOptions
from plughost.process.news import Spawned

from .. import greeting
from ..driver import ROOT
from ..stopwatch import Marks, Stopwatch

GREETER = ROOT / "src/plughost/bundled/execute/greeter"
PATIENT = Limits(timeout_s=60, handshake_s=60)  # a crowd of spares starts all at once
LOOKS = 6  # at a process in a row, asleep each time, before it counts as idle
LOOK_S = 0.005
IDLE_S = 60.0


def bind(spares: int) -> Binding:
    """Return the bundled greeter, bound to keep *spares* processes waiting."""
    return binding.replace(binding.read(GREETER), execute=ExecuteOptions(spares=spares), limits=PATIENT)


class Ear:
    """Listens to a host: who was started, who is ready, and when a call's request and answer passed."""

    def __init__(self) -> None:
        self.newest = 0
        self.spawned = 0
        self.ready: set[int] = set()
        self._watch = Stopwatch()
        self._serving = 0
        self._news = asyncio.Event()

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until *reached*, which is asked again whenever a process is ready."""
        while not reached():
            self._news.clear()
            await self._news.wait()

    def time(self) -> Stopwatch:
        """Return a stopwatch that runs from now, on which the next call's moments will be noted."""
        self._watch, self._serving = Stopwatch(), 0
        return self._watch

    def __call__(self, event: Event) -> None:
        pid = event.pid or 0
        match event.what:
            case Spawned():
                self.newest = pid
                self.spawned += 1
            case StateChanged(_, "ready"):
                self.ready.add(pid)
                self._news.set()
            case StateChanged(_, "executing"):
                self._serving = pid
                self._watch.mark("taken")
            case FramePassed("in") if pid == self._serving:
                self._watch.mark("answered")
            case _:
                pass


def wait_until_idle(*pids: int) -> None:
    """Return once all of *pids* sleep and go on sleeping. Raises TimeoutError."""
    asleep = 0
    until = time.monotonic() + IDLE_S
    while asleep < LOOKS:
        asleep = asleep + 1 if all(_state(pid) == "S" for pid in pids) else 0
        if time.monotonic() > until:
            raise TimeoutError(f"{len(pids)} processes are not idle after {IDLE_S:.0f} s")
        time.sleep(LOOK_S)


def finish(watch: Stopwatch, output: object) -> Marks:
    """Note the end of a call that brought *output*, and return what was measured."""
    watch.mark("gone")
    greeting.check(output)
    return watch.marks


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
