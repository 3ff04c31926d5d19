"""What is known of a plugin that cannot show itself, to rows in the place of its screen."""

from __future__ import annotations

from textwrap import wrap

from ...contracts.duplex.screen import Cell, Coord, WireBuffer
from ...failures import PluginFailure
from ...host.duplex import painting
from ..cli.terminal import one_line


def rows(failure: PluginFailure, width: int, height: int) -> list[painting.Row]:
    """Return *failure* on a screen of *width* columns and *height* rows: what happened, and all that is known."""
    said = [failure.message, "", *failure.autopsy.lines()]
    lines = [
        line for each in said for line in wrap(one_line(each), max(width, 1), subsequent_indent="  ") or [""]
    ]
    cells = tuple(
        (Coord(x, y), Cell(symbol))
        for y, line in enumerate(lines[: max(height, 0)])
        for x, symbol in enumerate(line)
        if symbol != " "
    )
    return painting.rows(WireBuffer(width, height, cells), width, height)
