"""A screen to draw on: turns text at places into the cells of a WireBuffer. Clips what does not fit.

The same drawing gives the same bytes: cells are sent row by row, each place once. A wide character fills two places
and is sent as one cell; half of one, where it was cut by the edge or drawn over, is a blank.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Color = str | tuple[int, int, int]
    Wire = dict[str, int] | None
    Cell = tuple[str, Wire, Wire, int]

LARGEST = 65_535  # columns or rows: the wire's numbers have 16 bits
LONGEST_SYMBOL = 64  # characters: text may pile up combining marks without end
BOLD, DIM, ITALIC, UNDERLINED, REVERSED = 1, 2, 4, 8, 16

BLANK = " "
COVERED = ""  # in place of a symbol: the right half of the wide character before it
JOINER = "\u200d"


class Canvas:
    """A drawing of *width* × *height* cells. Places count from 0 at the top left."""

    def __init__(self, width: int, height: int) -> None:
        for each in (width, height):
            if type(each) is not int or not 0 <= each <= LARGEST:
                raise ValueError(f"a canvas has 0 to {LARGEST} columns and rows, not {each!r}")
        self.width, self.height = width, height
        self._cells: dict[tuple[int, int], Cell] = {}  # by row and column

    def put(
        self,
        x: int,
        y: int,
        text: str,
        *,
        fg: Color | None = None,
        bg: Color | None = None,
        bold: bool = False,
        dim: bool = False,
        italic: bool = False,
        underlined: bool = False,
        reversed: bool = False,
    ) -> int:
        """Draw *text* from column *x* of row *y*, over what is there, and return the column after it.

        A line feed goes on in the next row at *x*, a tab is a blank, other control characters are left out. Colours
        are `(r, g, b)` or `"#rrggbb"`; without one, the terminal's. Raises ValueError for something else.
        """
        modifier = BOLD * bold | DIM * dim | ITALIC * italic | UNDERLINED * underlined | REVERSED * reversed
        style = (_color(fg), _color(bg), modifier)
        column = x
        for symbol, width in _symbols(text):
            if symbol == "\n":
                column, y = x, y + 1
                continue
            self._set(column, y, symbol, width, style)
            column += width
        return column

    def to_wire(self) -> dict[str, Any]:
        """Return the WireBuffer."""
        cells = []
        for (y, x), (symbol, fg, bg, modifier) in sorted(self._cells.items(), key=_place):
            if symbol == COVERED:
                continue
            cell: dict[str, Any] = {"symbol": symbol}
            if fg is not None:
                cell["fg"] = fg
            if bg is not None:
                cell["bg"] = bg
            cells.append([{"x": x, "y": y}, {**cell, "modifier": modifier}])
        return {"width": self.width, "height": self.height, "cells": cells}

    def __str__(self) -> str:
        """Return the drawing as text, without colours: for a test, or a look."""
        rows = [[BLANK] * self.width for _ in range(self.height)]
        for (y, x), cell in self._cells.items():
            rows[y][x] = cell[0]
        return "\n".join("".join(row).rstrip() for row in rows)

    def _set(self, x: int, y: int, symbol: str, width: int, style: tuple[Wire, Wire, int]) -> None:
        if not 0 <= y < self.height:
            return
        inside = [column for column in range(x, x + width) if 0 <= column < self.width]
        for column in inside:
            self._uncover(column, y)
        if len(inside) < width:
            symbol = BLANK  # half of it, at most: a terminal can show it only whole
        for column in inside:
            self._cells[y, column] = (symbol, *style)
            symbol = COVERED if symbol != BLANK else BLANK

    def _uncover(self, x: int, y: int) -> None:
        """Make a blank of the other half of a wide character, one half of which is about to be drawn over."""
        cell = self._cells.get((y, x))
        if cell is None:
            return
        left, right = (y, x - 1), (y, x + 1)
        if cell[0] == COVERED:
            self._cells[left] = (BLANK, *self._cells[left][1:])
        elif right in self._cells and self._cells[right][0] == COVERED:
            self._cells[right] = (BLANK, *self._cells[right][1:])


def _place(item: tuple[tuple[int, int], Cell]) -> tuple[int, int]:
    return item[0]


def _symbols(text: str) -> Iterator[tuple[str, int]]:
    """Cut *text* into what fills one or two cells each: a character with all that combines with it."""
    if text.isascii() and text.isprintable():
        for each in text:
            yield each, 1
        return
    import unicodedata

    symbol, width = "", 0
    for each in text:
        category = unicodedata.category(each)
        hidden = category in ("Cc", "Cf", "Cs", "Zl", "Zp") and each != JOINER
        joins = category in ("Mn", "Me", "Mc") or each == JOINER or symbol.endswith(JOINER)
        if joins and symbol and not hidden:  # a joiner must not carry an escape into a cell
            if len(symbol) < LONGEST_SYMBOL:
                symbol += each
            continue
        if (hidden or category in ("Cf", "Mn", "Me")) and each not in "\n\t":
            continue  # nothing to see, or nothing that a terminal should be sent
        if symbol:
            yield symbol, width
        symbol, width = "", 0
        if each == "\n":
            yield each, 0
        else:
            symbol = BLANK if each == "\t" else each
            width = 2 if unicodedata.east_asian_width(each) in "WF" else 1
    if symbol:
        yield symbol, width


def _color(color: Color | None) -> Wire:
    if color is None:
        return None
    parts: Any = color
    if isinstance(color, str):
        digits = color[1:]
        if len(color) == 7 and color[0] == "#" and all(each in "0123456789abcdefABCDEF" for each in digits):
            parts = bytes.fromhex(digits)
    if len(parts) != 3 or not all(type(each) is int and 0 <= each <= 255 for each in parts):
        raise ValueError(f'a colour is (r, g, b) with 0 to 255 each, or "#rrggbb", not {color!r}')
    return dict(zip("rgb", parts, strict=True))
