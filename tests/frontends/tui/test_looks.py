"""Rows as segments and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from rich.cells import cell_len

from plughost.contracts.duplex.screen import Cell, Color, Coord, WireBuffer
from plughost.frontends.tui import looks
from plughost.host.duplex import painting

HOSTILE = ["<", "&", '"', "]]>", "\x1b[31m", "\ud800", "\ufffe", "\x00", "日", "e\u0301", "@", "{", "}"]


def rows(symbols: list[str], width: int = 30) -> list[painting.Row]:
    cells = tuple(
        (Coord(2 * x, 0), Cell(symbol, Color(1, 2, 3), None, 31)) for x, symbol in enumerate(symbols)
    )
    return painting.rows(WireBuffer(width, 2, cells), width, 2)


def test_the_segments_of_a_row_are_as_wide_as_it() -> None:
    for row in rows(HOSTILE):
        assert sum(cell_len(segment.text) for segment in looks.segments(row)) == 30


def test_every_modifier_and_colour_is_in_the_style() -> None:
    style = looks.style(Color(255, 0, 16), Color(0, 1, 2), 31)
    assert (style.bold, style.dim, style.italic, style.underline, style.reverse) == (True,) * 5
    assert style.color is not None
    assert style.bgcolor is not None
    assert (tuple(style.color.get_truecolor()), tuple(style.bgcolor.get_truecolor())) == (
        (255, 0, 16),
        (0, 1, 2),
    )


def test_what_is_left_open_is_the_terminals_own() -> None:
    style = looks.style(None, None, 0)
    assert (style.color, style.bgcolor, style.bold, style.reverse) == (None, None, None, None)


def test_a_picture_is_well_formed_whatever_the_plugin_paints() -> None:
    picture = looks.svg(rows(HOSTILE), '<title> & "quotes"')
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "日" in picture


def test_a_picture_fetches_nothing_and_is_the_same_each_time() -> None:
    shown = rows([*"@font-face { src: url(x) }"[:14]])
    picture = looks.svg(shown, "fake")
    assert "url(http" not in picture.replace("&quot;", "")
    assert "@font-face" not in picture
    assert looks.svg(shown, "fake") == picture


def test_a_picture_of_nothing_is_one() -> None:
    assert looks.svg([], "fake").startswith("<svg")
