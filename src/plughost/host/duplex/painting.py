"""A plugin's buffer to the rows of a screen: clipped, sanitised, each glyph whole. Writes to no terminal.

What a cell may show is one base character and the marks on it. Everything by which a plugin could speak to the
operator's terminal, or shift what stands beside its cell, is replaced: controls, escapes, directions, joiners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from unicodedata import category, east_asian_width

from ...contracts.duplex.screen import Cell, Color, WireBuffer

# Bits of Cell.modifier, by name; the others mean nothing and are cleared.
MODIFIERS = {"bold": 1, "dim": 2, "italic": 4, "underlined": 8, "reversed": 16}
KNOWN_BITS = sum(MODIFIERS.values())

UNSHOWABLE = "\N{REPLACEMENT CHARACTER}"
BLANK = Cell(" ")
MOST_POINTS = 8  # of a symbol that are looked at: a base, and more marks than any script puts on one
MOST_COLUMNS, MOST_ROWS = 1000, 1000  # where nobody says how large: a plugin may claim 65 535 of both

# First and last of the characters that are one, two or no columns wide, by the terminal or by what stands before.
_DISPUTED = (
    ("\u1160", "\u11ff"),  # vowels and finals that join the letter before them
    ("\u2630", "\u2637"),  # trigrams and their kin, which Unicode 16 made wide
    ("\u268a", "\u268f"),
    ("\u3164", "\u3164"),  # a letter that is not there
    ("\u4dc0", "\u4dff"),
    ("\ud7b0", "\ud7ff"),
    ("\uffa0", "\uffa0"),
    ("\U0001d300", "\U0001d376"),
    ("\U0001f1e6", "\U0001f1ff"),  # halves of flags
    ("\U0001f3fb", "\U0001f3ff"),  # colours of the skin before them
)

Row = list[Cell | None]  # None: the right half of the wide glyph before it


def rows(buffer: WireBuffer, width: int, height: int) -> list[Row]:
    """Return *buffer* on a screen of *width* columns and *height* rows; every row has *width* entries.

    Later cells win. A wide glyph that does not fit before the edge, or that a later cell cuts in half, becomes
    blank. A bare blank on a wide glyph's right half is how others write that half, and leaves it whole.
    """
    painted: list[Row] = [[BLANK] * width for _ in range(max(height, 0))]
    for place, cell in buffer.cells:
        if place.x < width and place.y < height:
            _paint(painted[place.y], place.x, cell)
    return painted


def _paint(row: Row, x: int, cell: Cell) -> None:
    shown, wide = _glyph(cell.symbol[:MOST_POINTS])
    modifier = cell.modifier & KNOWN_BITS
    if row[x] is None:
        if shown == " " and cell.fg is None and cell.bg is None and not modifier:
            return
        row[x - 1] = _blanked(row[x - 1])
    if wide and x + 1 == len(row):
        shown, wide = " ", False
    if wide and x + 2 < len(row) and row[x + 2] is None:
        row[x + 2] = _blanked(row[x + 1])
    elif not wide and x + 1 < len(row) and row[x + 1] is None:
        row[x + 1] = _blanked(row[x])
    row[x] = Cell(shown, cell.fg, cell.bg, modifier)
    if wide:
        row[x + 1] = None


def _blanked(cell: Cell | None) -> Cell:
    """Return what is left where half of *cell* was."""
    return BLANK if cell is None else Cell(" ", cell.fg, cell.bg, cell.modifier)


@lru_cache(maxsize=4096)  # the glyphs of a screen are few, and every frame has them all
def _glyph(symbol: str) -> tuple[str, bool]:
    """Return what is shown for *symbol*, and whether it takes two columns."""
    base = symbol[:1]
    if not base or base.isspace():
        return " ", False
    if not _can_begin(base):
        return UNSHOWABLE, False
    marks = "".join(each for each in symbol[1:] if _is_mark(each))
    return base + marks, east_asian_width(base) in "WF"


def _can_begin(base: str) -> bool:
    """Whether *base* has a width of its own. Private use has: fonts keep their icons there."""
    if any(first <= base <= last for first, last in _DISPUTED):
        return False
    return category(base) == "Co" or (base.isprintable() and category(base)[0] != "M")


def _is_mark(point: str) -> bool:
    """Whether *point* is drawn onto its base. Selectors of variants are not kept: they widen it here and there."""
    return category(point) in ("Mn", "Me") and not (
        "\ufe00" <= point <= "\ufe0f"
        or "\U000e0100" <= point <= "\U000e01ef"
        or "\u180b" <= point <= "\u180f"
    )


@dataclass(frozen=True, slots=True)
class Run:
    """Cells of a row that look alike, from column *x* on."""

    x: int
    text: str
    fg: Color | None
    bg: Color | None
    modifier: int

    @property
    def bare(self) -> bool:
        """Nothing was painted here, or nothing that can be seen."""
        return self.fg is None and self.bg is None and not self.modifier and not self.text.strip(" ")


def runs(row: Sequence[Cell | None]) -> list[Run]:
    """Return *row* as runs, which together are as wide as it."""
    found: list[Run] = []
    symbols: list[str] = []
    first, look = 0, BLANK
    for x, cell in enumerate(row):
        if cell is None:
            continue
        if symbols and (cell.fg, cell.bg, cell.modifier) != (look.fg, look.bg, look.modifier):
            found.append(Run(first, "".join(symbols), look.fg, look.bg, look.modifier))
            symbols = []
        if not symbols:
            first, look = x, cell
        symbols.append(cell.symbol)
    if symbols:
        found.append(Run(first, "".join(symbols), look.fg, look.bg, look.modifier))
    return found


def changed(before: Sequence[Sequence[Cell | None]], after: Sequence[Sequence[Cell | None]]) -> list[int]:
    """Return which rows of *after* are not as in *before*."""
    return [y for y, row in enumerate(after) if y >= len(before) or row != before[y]]


def text(buffer: WireBuffer, width: int | None = None, height: int | None = None) -> str:
    """Return *buffer* as plain lines, without blanks at their ends. Sizes that are not given are its own, bounded."""
    return "\n".join(_line(row) for row in rows(buffer, *_size(buffer, width, height)))


def to_json(buffer: WireBuffer, width: int | None = None, height: int | None = None) -> dict[str, Any]:
    """Return *buffer* as JSON: its size, its plain lines, and the runs that can be seen, with their looks."""
    columns, lines = _size(buffer, width, height)
    painted = rows(buffer, columns, lines)
    return {
        "width": columns,
        "height": lines,
        "lines": [_line(row) for row in painted],
        "runs": [_run(y, run) for y, row in enumerate(painted) for run in runs(row) if not run.bare],
    }


def _size(buffer: WireBuffer, width: int | None, height: int | None) -> tuple[int, int]:
    return (
        min(buffer.width, MOST_COLUMNS) if width is None else width,
        min(buffer.height, MOST_ROWS) if height is None else height,
    )


def _line(row: Iterable[Cell | None]) -> str:
    return "".join(cell.symbol for cell in row if cell is not None).rstrip(" ")


def _run(y: int, run: Run) -> dict[str, Any]:
    look: dict[str, Any] = {"fg": run.fg and hexadecimal(run.fg), "bg": run.bg and hexadecimal(run.bg)}
    names = [name for name, bit in MODIFIERS.items() if run.modifier & bit]
    return {"x": run.x, "y": y, "text": run.text, **{k: v for k, v in look.items() if v}, "modifiers": names}


def hexadecimal(color: Color) -> str:
    """Return *color* as `#rrggbb`."""
    return f"#{color.r:02x}{color.g:02x}{color.b:02x}"
