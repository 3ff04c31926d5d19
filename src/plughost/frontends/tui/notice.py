"""What is known of a plugin that cannot show itself, to rows in the place of its screen."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from unicodedata import category, east_asian_width

from ...contracts.duplex.screen import Cell, Coord, WireBuffer
from ...failures import PluginFailure
from ...host.duplex import painting
from ..cli.terminal import one_line

INDENT = "  "  # of what goes on in another row
WIDEST = 2  # columns of a character


def rows(failure: PluginFailure, width: int, height: int) -> list[painting.Row]:
    """Return *failure* on a screen of *width* columns and *height* rows: what happened, and all that is known."""
    said = [failure.message, "", *failure.autopsy.lines()]
    lines = [line for each in said for line in _fold(one_line(each), max(width, 1))]
    cells = tuple(
        (Coord(x, y), Cell(symbol))
        for y, line in enumerate(lines[: max(height, 0)])
        for x, symbol in _places(line)
        if symbol != " "
    )
    return painting.rows(WireBuffer(width, height, cells), width, height)


def _fold(text: str, width: int) -> list[str]:
    """Cut *text* into rows of *width* columns. A plugin complains in any language, and some have wide characters."""
    if text.isascii():
        return wrap(text, width, subsequent_indent=INDENT) or [""]
    lines = [""]
    left = width
    for each in text:
        if _columns(each) > left:
            lines.append(INDENT if width > len(INDENT) + WIDEST else "")
            left = width - len(lines[-1])
        lines[-1] += each
        left -= _columns(each)
    return lines


def _places(line: str) -> Iterator[tuple[int, str]]:
    """Give each character of *line*, with the marks on it, and the column where it begins."""
    x, symbol = 0, ""
    for each in line:
        if not _columns(each):
            symbol += each
            continue
        if symbol:
            yield x, symbol
            x += _columns(symbol[0])
        symbol = each
    if symbol:
        yield x, symbol


def _columns(character: str) -> int:
    if category(character) in ("Mn", "Me"):
        return 0
    return WIDEST if east_asian_width(character) in "WF" else 1
