"""Consoles with real workers, by either host: the same verbs, whichever it is."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plughost
from plughost import blocking
from plughost.host.sideband.reply import Reply
from plughost.manifest.sideband_limits import SidebandLimits

FOREIGN = Path(__file__).parent / "foreign.py"
EVERY = 5  # one in so many of these tests runs every day: each starts programs. Odd, so that both hosts have turns
PATIENCE_S = 200.0  # for what must come; longer, and it never will
QUICK = {"teardown_s": 0.1, "terminate_s": 0.1}  # for a worker that has to be killed


@dataclass
class Desk:
    """A console of either host."""

    lab: Lab
    console: Any

    def run(self, text: str, timeout: float = PATIENCE_S) -> Reply:
        return self.lab.wait(self.console.run(text, timeout))

    def begin(self, text: str) -> Reply:
        """Run *text* and wait for nothing."""
        return self.run(text, 0)

    def begin_until(self, text: str, word: str) -> None:
        """Run *text*, which prints *word*, and return when it has."""
        shown = self.begin(text).text
        while word not in shown:
            reply = self.poll(0.01)
            assert reply.state == "running", reply
            shown += reply.text

    def answer(self, text: str, timeout: float = PATIENCE_S) -> Reply:
        return self.lab.wait(self.console.answer(text, timeout))

    def poll(self, timeout: float = PATIENCE_S) -> Reply:
        return self.lab.wait(self.console.poll(timeout))

    def interrupt(self, timeout: float = PATIENCE_S, **options: Any) -> str:
        return self.lab.wait(self.console.interrupt(timeout, **options))

    def restart(self) -> Reply:
        return self.lab.wait(self.console.restart())

    def close(self) -> None:
        self.lab.wait(self.console.close())


@dataclass
class Lab:
    """One host, and its consoles."""

    home: Path
    kind: str = "blocking"
    events: list[Any] = field(default_factory=list)
    _host: Any = None
    _runner: asyncio.Runner | None = None

    def wait(self, result: Any) -> Any:
        if inspect.isawaitable(result):
            assert self._runner is not None

            async def awaited() -> Any:
                return await result

            return self._runner.run(awaited())
        return result

    @property
    def host(self) -> Any:
        if self._host is None:
            if self.kind == "blocking":
                self._host = blocking.Host(on_event=self.events.append)
            else:
                self._runner = asyncio.Runner()
                self._host = plughost.Host(on_event=self.events.append)
        return self._host

    def console(self, worker: Any = sys.executable, name: str = "", **options: Any) -> Desk:
        """Return a console; what is no option of a console is a limit."""
        kept = {key: options.pop(key) for key in ("environment", "output_directory") if key in options}
        host = self.host
        made = host.console(worker, name=name, cwd=self.home, limits=SidebandLimits(**options), **kept)
        return Desk(self, self.wait(made))

    def foreign(self, *faults: str, **options: Any) -> Desk:
        return self.console([sys.executable, "-I", "-S", str(FOREIGN), *faults], **options)

    def pipe(self) -> Path:
        """Return a named pipe: whoever reads it waits for whoever writes it, and the other way round."""
        path = self.home / "pipe"
        os.mkfifo(path)
        return path

    def close(self) -> None:
        if self._host is not None:
            host, self._host = self._host, None
            self.wait(host.close() if self.kind == "blocking" else host.aclose())
        if self._runner is not None:
            self._runner.close()

    def unheard(self) -> set[str]:
        """Return why messages were dropped."""
        return {event.what.reason for event in self.events if event.name == "unheard"}


def resident_kib() -> int:
    """Return how much memory this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
