"""The session that `plughost demo` shows: cells to replies, printed as they come. The picture stays when it is over."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

from ...contracts.sideband.items import Image, Notice, Omitted, Prompt, Text
from .terminal import Terminal

if TYPE_CHECKING:
    from ...host.sideband.reply import Reply

T = TypeVar("T")

PATIENCE_S = 300.0  # for a cell: the first figure of matplotlib's on a machine takes as long as its fonts
GLANCE_S = 0.1  # for a loop that never ends

SUM = "squares = [n * n for n in range(10)]; sum(squares)"
QUESTION = "name = input('who is there? '); f'hello {name}'"
LOOP = "while True: pass"
STILL_THERE = "len(squares)"
CRASH = "import os; os.abort()"
GONE = "'squares' in globals()"


class ConsoleDemo:
    """One session, from its start to the end of its second worker."""

    def __init__(self, terminal: Terminal, figure: Path) -> None:
        self._terminal = terminal
        self._figure = figure
        self._replies: list[dict[str, Any]] = []
        self._timings_ms: dict[str, float] = {}
        self._picture: Path | None = None

    def run(self) -> dict[str, Any]:
        """Show it, and return what there is to know for a program."""
        from ...blocking import Host

        with Host() as host:
            console = self._timed("start", lambda: host.console(sys.executable, name="demo"))
            self._show(SUM, self._timed("first cell", lambda: console.run(SUM, PATIENCE_S)))
            code = self._figure.read_text(encoding="utf-8")
            self._show(
                f"({self._figure.name}, a picture)",
                self._timed("figure", lambda: console.run(code, PATIENCE_S)),
            )
            self._show(QUESTION, console.run(QUESTION, PATIENCE_S))
            self._show("Ada", console.answer("Ada", PATIENCE_S), sign="<")
            self._show(LOOP, console.run(LOOP, GLANCE_S))
            outcome = self._timed("interrupt", lambda: console.interrupt(PATIENCE_S))
            self._terminal.text(f"  interrupt: {outcome}")
            self._show("", console.poll(PATIENCE_S))
            self._show(STILL_THERE, console.run(STILL_THERE, PATIENCE_S))
            self._show(CRASH, console.run(CRASH, PATIENCE_S))
            self._show(GONE, self._timed("new worker", lambda: console.run(GONE, PATIENCE_S)))
        shown = ", ".join(f"{name} {ms:.1f}" for name, ms in self._timings_ms.items())
        self._terminal.text(f"  milliseconds: {shown}")
        if self._picture is not None:
            self._terminal.text(f"  the picture stays there: {self._picture}")
        return {
            "replies": self._replies,
            "interrupt": str(outcome),
            "picture": None if self._picture is None else str(self._picture),
            "timings_ms": self._timings_ms,
        }

    def _timed(self, name: str, act: Callable[[], T]) -> T:
        began = perf_counter()
        result = act()
        self._timings_ms[name] = round((perf_counter() - began) * 1000, 3)
        return result

    def _show(self, said: str, reply: Reply, *, sign: str = ">") -> None:
        if said:
            self._terminal.text(f"  {sign} {said}")
        for item in reply.items:
            match item:
                case Text(stream, text):
                    for line in text.splitlines():
                        self._terminal.text(f"    {stream}: {line}")
                case Image(_, mime_type, data):
                    self._keep(mime_type, data)
                case Prompt(prompt):
                    self._terminal.text(f"    asks: {prompt}")
                case Notice(text):
                    self._terminal.text(f"    {text}")
                case Omitted(chars):
                    self._terminal.text(f"    … {chars} characters are left out here")
                case _:
                    assert_never(item)
        self._terminal.text(f"    = {reply.state}, worker {reply.generation}")
        self._replies.append(
            {
                "text": reply.text,
                "state": str(reply.state),
                "generation": reply.generation,
                "error": reply.error,
            }
        )

    def _keep(self, mime_type: str, data: bytes) -> None:
        if mime_type != "image/png":
            self._terminal.text(f"    a picture, {mime_type}, which is not kept")
            return
        if self._picture is None:
            self._picture = Path(tempfile.mkdtemp(prefix="plughost-demo-")) / "figure.png"
        self._picture.write_bytes(data)
        self._terminal.text(f"    picture: {self._picture} ({len(data)} bytes)")
