"""A screen as it travels: its size and the painted cells, in the order of painting. Paints nothing."""

from __future__ import annotations

from msgspec import Struct

from .scalars import U8, U16


class Viewport(Struct, frozen=True):
    """A screen's size in cells."""

    width: U16
    height: U16


class Coord(Struct, frozen=True):
    """A cell's place."""

    x: U16
    y: U16


class Color(Struct, frozen=True):
    """A colour of 24 bits."""

    r: U8
    g: U8
    b: U8


class Cell(Struct, frozen=True):
    """What stands in a cell: one grapheme, and how. A colour that is None is the terminal's own."""

    symbol: str
    fg: Color | None = None
    bg: Color | None = None
    modifier: U16 = 0


class WireBuffer(Struct, frozen=True):
    """A screen: the painted cells in the order in which they were painted."""

    width: U16
    height: U16
    cells: tuple[tuple[Coord, Cell], ...]
