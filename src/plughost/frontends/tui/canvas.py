"""The part of the terminal where a plugin's screen is drawn, row by row. Takes every key there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ...contracts.duplex.screen import Cell
from . import looks

_PASTED = {"\n": "enter", "\r": "enter", "\t": "tab"}


class Canvas(Widget, can_focus=True):
    """Draws the rows that it is given. *on_press* is given each key, *on_size* each size, *on_text* what is pasted."""

    DEFAULT_CSS = "Canvas { height: 1fr; }"

    def __init__(
        self,
        on_press: Callable[[str, str | None], None],
        on_size: Callable[[int, int], None],
        on_text: Callable[[list[tuple[str, str]]], None],
    ) -> None:
        super().__init__()
        self._on_press = on_press
        self._on_size = on_size
        self._on_text = on_text
        self._rows: Sequence[Sequence[Cell | None]] = ()

    def draw(self, rows: Sequence[Sequence[Cell | None]], changed: Sequence[int] | None = None) -> None:
        """Show *rows*, of which only those *changed* are drawn anew; without that, all."""
        self._rows = rows
        if changed is None:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def render_line(self, y: int) -> Strip:
        if y >= len(self._rows):
            return Strip.blank(self.size.width)
        row = self._rows[y]
        return Strip(looks.segments(row), len(row)).adjust_cell_length(self.size.width)

    def on_resize(self, event: events.Resize) -> None:
        self._on_size(event.size.width, event.size.height)

    def on_key(self, event: events.Key) -> None:
        """Take the key before anything of the library's own does: Tab, Ctrl-Q and the like are the plugin's."""
        event.stop()
        event.prevent_default()
        self._on_press(event.key, event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Pass on what was pasted as keys: the wire knows nothing else. Controls in it are nobody's keys."""
        event.stop()
        text = event.text.replace("\r\n", "\n")
        self._on_text(
            [(_PASTED.get(each, each), each) for each in text if each.isprintable() or each in _PASTED]
        )
