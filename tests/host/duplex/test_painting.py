"""What a plugin's cells become on a screen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.duplex.screen import Cell, Color, Coord, WireBuffer
from plughost.host.duplex import painting
from plughost.host.duplex.painting import BLANK, UNSHOWABLE

RED, BLUE = Color(255, 0, 0), Color(0, 0, 255)


def painted(*cells: tuple[int, int, Cell], width: int = 4, height: int = 2) -> list[painting.Row]:
    return painting.rows(
        WireBuffer(width, height, tuple((Coord(x, y), cell) for x, y, cell in cells)), width, height
    )


def first(symbol: str) -> str:
    [[cell, *_]] = painted((0, 0, Cell(symbol)), height=1)
    assert cell is not None
    return cell.symbol


def line(row: painting.Row) -> str:
    return "".join("<" if cell is None else cell.symbol for cell in row)


def test_a_screen_without_cells_is_blank() -> None:
    assert painted() == [[BLANK] * 4] * 2


@pytest.mark.requirement("duplex:render:clipped")
@pytest.mark.parametrize(("x", "y"), [(4, 0), (0, 2), (65_535, 65_535), (4, 2)])
def test_a_cell_outside_the_screen_is_clipped(x: int, y: int) -> None:
    assert painted((x, y, Cell("x"))) == painted()


def test_the_cell_in_the_last_corner_is_shown() -> None:
    assert line(painted((3, 1, Cell("x")))[1]) == "   x"


@pytest.mark.parametrize(("width", "height"), [(0, 0), (0, 3), (3, 0)])
def test_a_screen_of_no_size_is_no_error(width: int, height: int) -> None:
    rows = painting.rows(WireBuffer(9, 9, ((Coord(0, 0), Cell("x")),)), width, height)
    assert rows == [[]] * height


def test_the_screen_counts_and_not_the_size_that_the_plugin_claims() -> None:
    rows = painting.rows(WireBuffer(1, 1, ((Coord(2, 1), Cell("x")),)), 4, 2)
    assert line(rows[1]) == "  x "


@pytest.mark.requirement("duplex:render:clipped")
def test_later_cells_win_also_with_their_colours() -> None:
    [[cell, *_], _] = painted((0, 0, Cell("a", RED, BLUE, 1)), (0, 0, Cell("b")))
    assert cell == Cell("b")


@pytest.mark.requirement("duplex:render:clipped")
def test_unknown_modifier_bits_are_cleared() -> None:
    [[cell, *_], _] = painted((0, 0, Cell("a", modifier=0xFFFF)))
    assert cell is not None
    assert cell.modifier == 31


@pytest.mark.parametrize(
    "symbol",
    ["\x1b", "\x1b[31m", "\x1b]0;title\x07", "\x9b1m", "\x07", "\x00", "\x7f", "\x08x"],
    ids=["esc", "colour", "title", "csi", "bell", "nul", "del", "backspace"],
)
def test_what_speaks_to_a_terminal_is_not_shown(symbol: str) -> None:
    assert first(symbol) == UNSHOWABLE


@pytest.mark.parametrize(
    "symbol",
    [
        "\ud800",
        "\u202e",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\u0301",
        "\u1160",
        "\ufffe",
        "\U0001f1e9\U0001f1ea",
        "\u2066",
    ],
    ids=["surrogate", "rtl", "zwsp", "zwj", "bom", "accent", "jamo", "none", "flag", "isolate"],
)
def test_what_has_no_width_of_its_own_is_replaced(symbol: str) -> None:
    assert first(symbol) == UNSHOWABLE


@pytest.mark.parametrize("symbol", ["", " ", "\t", "\n", "\r", "\xa0", "\u2028", "\u3000"], ids=ascii)
def test_what_is_empty_is_a_blank(symbol: str) -> None:
    assert first(symbol) == " "


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        ("ab", "a"),
        ("e\u0301", "e\u0301"),
        ("a\x1b[2J", "a"),
        ("a\u202eb", "a"),
        ("a\ud800", "a"),
        ("\u2764\ufe0f", "\u2764"),
        ("a" + "\u0301" * 50, "a" + "\u0301" * (painting.MOST_POINTS - 1)),
        ("\ue0b0", "\ue0b0"),
        ("\U000f0001", "\U000f0001"),
    ],
    ids=[
        "two",
        "accent",
        "escape",
        "direction",
        "surrogate",
        "emoji-style",
        "many-marks",
        "icon",
        "new-icon",
    ],
)
def test_a_cell_shows_one_base_and_the_marks_on_it(symbol: str, shown: str) -> None:
    assert first(symbol) == shown


def test_an_emoji_of_many_people_is_its_first_person() -> None:
    [row] = painted((0, 0, Cell("\U0001f468\u200d\U0001f469\u200d\U0001f467")), height=1)
    assert line(row) == "\U0001f468<  "


def test_a_wide_glyph_takes_two_columns() -> None:
    assert line(painted((1, 0, Cell("日")))[0]) == " 日< "


def test_a_wide_glyph_in_the_last_column_is_a_blank_of_its_colour() -> None:
    row = painted((3, 0, Cell("日", bg=RED)))[0]
    assert row[3] == Cell(" ", bg=RED)


def test_a_wide_glyph_in_the_last_two_columns_is_whole() -> None:
    assert line(painted((2, 0, Cell("日")))[0]) == "  日<"


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ([(0, "日"), (1, "x")], " x  "),
        ([(0, "日"), (0, "x")], "x   "),
        ([(1, "日"), (0, "月")], "月<  "),
        ([(0, "日"), (1, "月")], " 月< "),
        ([(0, "日"), (2, "月"), (1, "火")], " 火< "),
        ([(0, "日"), (0, "月")], "月<  "),
        ([(0, "日"), (1, "")], "日<  "),
        ([(0, "日"), (1, " ")], "日<  "),
        ([(0, "日"), (0, " ")], "    "),
    ],
    ids=["right", "left", "left-wide", "right-wide", "both", "same", "empty-half", "blank-half", "erased"],
)
def test_no_half_of_a_glyph_is_left(cells: list[tuple[int, str]], shown: str) -> None:
    assert line(painted(*((x, 0, Cell(symbol)) for x, symbol in cells))[0]) == shown


def test_a_coloured_blank_cuts_a_wide_glyph() -> None:
    row = painted((0, 0, Cell("日", fg=RED)), (1, 0, Cell(" ", bg=BLUE)))[0]
    assert row[:2] == [Cell(" ", fg=RED), Cell(" ", bg=BLUE)]


symbols = st.text(st.characters(), max_size=3) | st.sampled_from(["日", "a", " ", "", "😀", "\x1b[0m"])
cells = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), symbols), max_size=40)


@given(cells, st.integers(0, 5), st.integers(0, 3))
def test_every_row_is_as_wide_as_the_screen_and_speaks_to_no_terminal(
    found: list[tuple[int, int, str]], width: int, height: int
) -> None:
    buffer = WireBuffer(9, 9, tuple((Coord(x, y), Cell(symbol)) for x, y, symbol in found))
    rows = painting.rows(buffer, width, height)
    assert [len(row) for row in rows] == [width] * height
    for row in rows:
        for x, cell in enumerate(row):
            if cell is None:
                left = row[x - 1]
                assert x > 0
                assert left is not None
                assert unicodedata.east_asian_width(left.symbol[0]) in "WF"
            else:
                wide = unicodedata.east_asian_width(cell.symbol[0]) in "WF"
                assert wide == (x + 1 < width and row[x + 1] is None)
                assert all(unicodedata.category(each) not in ("Cc", "Cf", "Cs", "Cn") for each in cell.symbol)


@pytest.mark.thin(17)
@pytest.mark.parametrize("plane", range(17))
def test_a_glyph_is_as_wide_here_as_where_it_is_drawn(plane: int) -> None:
    from rich.cells import cell_len  # what measures the lines of a live screen

    def width(point: int) -> int:
        [row] = painted((0, 0, Cell(chr(point))), width=2, height=1)
        return sum(cell_len(cell.symbol) for cell in row if cell is not None)

    assert [hex(point) for point in range(plane << 16, (plane + 1) << 16) if width(point) != 2] == []


def test_runs_are_cells_that_look_alike() -> None:
    row = painted((0, 0, Cell("a", RED)), (1, 0, Cell("b", RED)), (2, 0, Cell("c", RED, modifier=1)))[0]
    assert [(run.x, run.text, run.modifier, run.bare) for run in painting.runs(row)] == [
        (0, "ab", 0, False),
        (2, "c", 1, False),
        (3, " ", 0, True),
    ]


def test_a_run_after_a_wide_glyph_begins_behind_it() -> None:
    row = painted((0, 0, Cell("日", RED)), (2, 0, Cell("x", BLUE)))[0]
    assert [run.x for run in painting.runs(row)] == [0, 2, 3]


def test_only_rows_that_differ_have_changed() -> None:
    before = painted((0, 0, Cell("a")), (0, 1, Cell("b")))
    assert painting.changed(before, before) == []
    assert painting.changed(before, painted((0, 0, Cell("a")), (0, 1, Cell("c")))) == [1]
    assert painting.changed(before, painted((0, 0, Cell("a", RED)), (0, 1, Cell("b")))) == [0]
    assert painting.changed([], before) == [0, 1]
    assert painting.changed(before, painted(width=5, height=3)) == [0, 1, 2]


def test_text_is_plain_lines_without_blanks_at_their_ends() -> None:
    buffer = WireBuffer(4, 3, ((Coord(1, 0), Cell("日")), (Coord(0, 2), Cell("x"))))
    assert painting.text(buffer) == " 日\n\nx"
    assert painting.text(buffer, 2, 1) == ""
    assert painting.text(WireBuffer(0, 0, ())) == ""


def test_the_text_of_a_screen_that_claims_to_be_huge_is_bounded() -> None:
    corners = tuple((Coord(65_535, y), Cell("x")) for y in range(65_536))
    text = painting.text(WireBuffer(65_535, 65_535, (*corners, (Coord(0, 0), Cell("y")))))
    assert text == "y" + "\n" * (painting.MOST_ROWS - 1)


def test_json_has_the_lines_and_the_looks() -> None:
    shown = painting.to_json(
        WireBuffer(3, 1, ((Coord(0, 0), Cell("a", RED, BLUE, 1 | 16)), (Coord(2, 0), Cell("b"))))
    )
    assert shown == {
        "width": 3,
        "height": 1,
        "lines": ["a b"],
        "runs": [
            {
                "x": 0,
                "y": 0,
                "text": "a",
                "fg": "#ff0000",
                "bg": "#0000ff",
                "modifiers": ["bold", "reversed"],
            },
            {"x": 1, "y": 0, "text": " b", "modifiers": []},
        ],
    }
