"""`plughost screen`: plugins' screens on a terminal, one at a time. Ctrl-C leaves, whatever a plugin does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from ...host.events import Event, Published
from ...supervision.states import State
from . import status_line, tabs
from .canvas import Canvas
from .keys import translate
from .view import View

STATUS_S = 0.25  # between two looks at a plugin's status
# To the other screens, only taken where there are several. As in browsers; Ctrl-] where the terminal keeps those.
STEPS = {"ctrl+pagedown": 1, "ctrl+pageup": -1, "ctrl+right_square_bracket": 1}
RELOAD = "r"  # only taken while the plugin is in quarantine, and cannot want it


class ScreenApp(App[None], inherit_bindings=False):
    """Shows *views*, the first one first."""

    CSS = """
    Screen { layout: vertical; }
    #tabs, #status, #help { height: 1; width: 100%; }
    #status { text-style: reverse; }
    #help { text-style: dim; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "leave", show=False, priority=True)]

    def __init__(self, views: Sequence[View]) -> None:
        super().__init__(ansi_color=True)  # the colours that a plugin leaves open are the terminal's
        self.views = tuple(views)
        self.current = 0
        self._canvas = Canvas(self._press, self._resize, self._paste)
        self._tabs, self._status, self._help = (
            Static(id=name, markup=False) for name in ("tabs", "status", "help")
        )
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def view(self) -> View:
        """The one that is shown."""
        return self.views[self.current]

    def compose(self) -> ComposeResult:
        yield self._tabs
        yield self._canvas
        yield self._status
        yield self._help

    def on_mount(self) -> None:
        self._tabs.display = len(self.views) > 1
        self._canvas.focus()
        for view in self.views:
            self._begin(view.run())
        self.set_interval(STATUS_S, self.tell)
        self._switch(0)

    async def on_unmount(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def action_leave(self) -> None:
        self.exit()

    def on_key(self, event: events.Key) -> None:
        """Take a key that comes while the terminal says that it is not looked at: the canvas has no focus then."""
        event.stop()
        self._press(event.key, event.character)

    def heard(self, event: Event) -> None:
        """Take note of what happened in the host: a plugin that was told something may look different."""
        told = event.what.subscribers if isinstance(event.what, Published) else (event.plugin,)
        if event.name in ("published", "plugin_state", "wedged", "recovered"):
            for view in self.views:
                if view.plugin.name in told:
                    view.wake()

    def tell(self) -> None:
        """Write anew how the plugin is, if that has changed."""
        view, status = self.view, self.view.plugin.status
        what, remedy = status_line.trouble(view.problem, status)
        summary = status_line.summary(view.plugin.name, status)
        self._put(self._status, f"{summary} · {what}" if what else summary)
        self._put(self._help, " · ".join(filter(None, [*self._keys(view, status.state), remedy])))

    def _keys(self, view: View, state: State) -> list[str]:
        offered = ["ctrl+c leaves"]
        if len(self.views) > 1:
            offered.append("ctrl+pgup, ctrl+pgdn, ctrl+] other screens")
        if state is State.QUARANTINED:
            offered += ["r reloads", "esc leaves"]
        elif view.escape.leaves:
            offered.append("the next esc leaves")
        else:
            offered.append("all else is the plugin's")
        return offered

    @staticmethod
    def _put(line: Static, text: str) -> None:
        if getattr(line.content, "plain", None) != text:
            line.update(Text(text, no_wrap=True, overflow="ellipsis"))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.panic(repr(task.exception()))

    def _switch(self, index: int) -> None:
        """Show another screen."""
        self.view.hide()
        self.view.repaint = lambda _rows: None
        self.current = index
        self.view.repaint = self._repaint
        self._canvas.draw(self.view.painting)
        self._resize(*self._canvas.size)
        self.tell()

    def _repaint(self, rows: Sequence[int]) -> None:
        self._canvas.draw(self.view.painting, rows)
        self.tell()

    def _resize(self, width: int, height: int) -> None:
        names = tabs.names([(view.plugin.name, view.screen_id) for view in self.views])
        self._tabs.update(tabs.line(names, self.current, width))
        self.view.show(width, height)

    def _press(self, name: str, character: str | None) -> None:
        if len(self.views) > 1 and name in STEPS:
            self._switch((self.current + STEPS[name]) % len(self.views))
        elif name == RELOAD and self.view.plugin.status.state is State.QUARANTINED:
            self._begin(self.view.reload())
        else:
            key = translate(name, character)
            if key is not None and self.view.press(key):
                self.exit()

    def _paste(self, pressed: Sequence[tuple[str, str]]) -> None:
        found = (translate(name, character) for name, character in pressed)
        self.view.paste([key for key in found if key is not None])
