"""Painted rows to the segments of the terminal library, and to a picture. Decides no colour: a plugin's are kept."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import lru_cache

from rich.color import Color as RichColor
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from ...contracts.duplex.screen import Cell, Color
from ...host.duplex import painting

_WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


@lru_cache(maxsize=1024)  # a screen has few looks, and every row has them again
def style(fg: Color | None, bg: Color | None, modifier: int) -> Style:
    """Return how a run looks. What is None stays the terminal's own."""
    on = {name: True for name, bit in painting.MODIFIERS.items() if modifier & bit}
    return Style(
        color=None if fg is None else RichColor.from_rgb(fg.r, fg.g, fg.b),
        bgcolor=None if bg is None else RichColor.from_rgb(bg.r, bg.g, bg.b),
        bold=on.get("bold"),
        dim=on.get("dim"),
        italic=on.get("italic"),
        underline=on.get("underlined"),
        reverse=on.get("reversed"),
    )


def segments(row: Sequence[Cell | None]) -> list[Segment]:
    """Return *row* as segments, which together are as wide as it."""
    return [Segment(run.text, style(run.fg, run.bg, run.modifier)) for run in painting.runs(row)]


def svg(rows: Sequence[Sequence[Cell | None]], title: str) -> str:
    """Return *rows* as an SVG picture of a terminal."""
    width = max((len(row) for row in rows), default=1)
    console = Console(
        record=True,
        width=max(width, 1),
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for row in rows:
        console.print(Segments([*segments(row), Segment.line()]), end="", soft_wrap=True)
    head, end, picture = console.export_svg(title=title).partition("</style>")
    # The library's frame asks a web server for its font; a picture of ours asks nobody for anything.
    return _WEB_FONT.sub("", head) + end + picture
