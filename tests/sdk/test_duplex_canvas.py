"""A canvas: what is drawn where, what is clipped, and what two drawings of the same thing have in common."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk.duplex import Canvas

TEXT = st.text(st.sampled_from("ab \n\t\x1b世界é\u0301\u200d👩👧\ufe0f\u2028\ud800ｱ"), max_size=12)
PUTS = st.lists(st.tuples(st.integers(-4, 9), st.integers(-2, 4), TEXT), max_size=8)


def draw(width, height, *puts):
    canvas = Canvas(width, height)
    for put in puts:
        canvas.put(*put)
    return canvas


def cells(canvas):
    return [(coord["x"], coord["y"], cell["symbol"]) for coord, cell in canvas.to_wire()["cells"]]


def test_a_new_canvas_is_empty():
    assert Canvas(80, 24).to_wire() == {"width": 80, "height": 24, "cells": []}
    assert Canvas(0, 0).to_wire() == {"width": 0, "height": 0, "cells": []}


def test_text_is_drawn_one_character_a_cell():
    assert cells(draw(5, 2, (1, 1, "abc"))) == [(1, 1, "a"), (2, 1, "b"), (3, 1, "c")]


def test_put_returns_the_column_after_the_text():
    canvas = Canvas(3, 1)
    assert canvas.put(0, 0, "ab") == 2
    assert canvas.put(2, 0, "世界") == 6
    assert canvas.put(-5, 0, "ab") == -3


def test_cells_are_sent_row_by_row_whatever_the_order_of_drawing():
    canvas = draw(3, 2, (2, 1, "d"), (0, 1, "c"), (1, 0, "b"), (0, 0, "a"))
    assert cells(canvas) == [(0, 0, "a"), (1, 0, "b"), (0, 1, "c"), (2, 1, "d")]


def test_later_text_replaces_earlier_text():
    canvas = Canvas(3, 1)
    canvas.put(0, 0, "abc", fg=(1, 2, 3), bold=True)
    canvas.put(1, 0, "x")
    assert canvas.to_wire()["cells"][1] == [{"x": 1, "y": 0}, {"symbol": "x", "modifier": 0}]
    assert cells(canvas) == [(0, 0, "a"), (1, 0, "x"), (2, 0, "c")]


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (-1, 0, ["b", "c"]),
        (2, 0, ["a"]),
        (3, 0, []),
        (-3, 0, []),
        (0, -1, []),
        (0, 1, []),
        (10**30, 0, []),
    ],
)
def test_what_is_outside_is_clipped(x, y, expected):
    assert [symbol for _, _, symbol in cells(draw(3, 1, (x, y, "abc")))] == expected


def test_a_line_feed_goes_on_below_the_first_character():
    assert str(draw(4, 3, (1, 0, "ab\nc\n\nd"))) == " ab\n c\n"


@pytest.mark.parametrize(
    "control", ["\x1b", "\x00", "\r", "\x7f", "\x9b", "\u2028", "\u202e", "\ud800", "\u200b"], ids=ascii
)
def test_what_a_terminal_should_not_be_sent_is_left_out(control):
    assert cells(draw(4, 1, (0, 0, f"a{control}b"))) == [(0, 0, "a"), (1, 0, "b")]


def test_a_tab_is_a_blank():
    assert cells(draw(4, 1, (0, 0, "a\tb"))) == [(0, 0, "a"), (1, 0, " "), (2, 0, "b")]


# Characters that are not one cell wide


def test_a_wide_character_is_one_cell_and_takes_two_places():
    assert cells(draw(5, 1, (0, 0, "世a界"))) == [(0, 0, "世"), (2, 0, "a"), (3, 0, "界")]


@pytest.mark.parametrize(("x", "expected"), [(2, [(2, 0, " ")]), (-1, [(0, 0, " ")]), (3, []), (-2, [])])
def test_half_a_wide_character_at_the_edge_is_a_blank(x, expected):
    assert cells(draw(3, 1, (x, 0, "世"))) == expected


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ((0, 0, "x"), [(0, 0, "x"), (1, 0, " ")]),
        ((1, 0, "x"), [(0, 0, " "), (1, 0, "x")]),
        ((1, 0, "界"), [(0, 0, " "), (1, 0, "界")]),
        ((-1, 0, "界"), [(0, 0, " "), (1, 0, " ")]),
        ((0, 0, "界"), [(0, 0, "界")]),
    ],
)
def test_half_a_wide_character_that_is_drawn_over_leaves_a_blank(over, expected):
    assert cells(draw(4, 1, (0, 0, "世"), over)) == expected


def test_the_blank_that_is_left_keeps_its_background():
    canvas = Canvas(2, 1)
    canvas.put(0, 0, "世", bg=(1, 2, 3))
    canvas.put(0, 0, "x")
    assert canvas.to_wire()["cells"][1][1] == {"symbol": " ", "bg": {"r": 1, "g": 2, "b": 3}, "modifier": 0}


@pytest.mark.parametrize(
    "symbol",
    ["e\u0301", "👩\u200d👧", "❤\ufe0f", "क\u093f"],
    ids=["accent", "joined", "variation", "vowel sign"],
)
def test_what_combines_stays_in_one_cell(symbol):
    found = cells(draw(9, 1, (0, 0, f"{symbol}x")))
    assert [each[2] for each in found] == [symbol, "x"]


def test_a_combining_mark_with_nothing_before_it_is_left_out():
    assert cells(draw(3, 1, (0, 0, "\u0301a"))) == [(0, 0, "a")]


def test_combining_marks_do_not_pile_up_without_end():
    ((_, _, symbol), (x, _, _)) = cells(draw(3, 1, (0, 0, "e" + "\u0301" * 10_000 + "x")))
    assert len(symbol) == 64
    assert x == 1


# Colours and styles


@pytest.mark.parametrize("color", [(255, 215, 0), [255, 215, 0], "#ffd700", "#FFD700"], ids=repr)
def test_a_colour_has_two_spellings(color):
    canvas = Canvas(1, 1)
    canvas.put(0, 0, "x", fg=color, bg=color)
    expected = {"r": 255, "g": 215, "b": 0}
    assert canvas.to_wire()["cells"] == [
        [{"x": 0, "y": 0}, {"symbol": "x", "fg": expected, "bg": expected, "modifier": 0}]
    ]


@pytest.mark.parametrize(
    "color",
    [
        "",
        "red",
        "#fff",
        "#ffd70",
        "#ffd7000",
        "#gggggg",
        "#ff d700",
        "abc",
        (1, 2),
        (1, 2, 256),
        (1, 2, -1),
        (1, 2, True),
        (1.0, 2, 3),
    ],
    ids=repr,
)
def test_another_colour_is_refused_and_nothing_is_drawn(color):
    canvas = Canvas(1, 1)
    with pytest.raises(ValueError):
        canvas.put(0, 0, "x", fg=color)
    assert cells(canvas) == []


@pytest.mark.parametrize(
    ("style", "bit"), [("bold", 1), ("dim", 2), ("italic", 4), ("underlined", 8), ("reversed", 16)]
)
def test_each_style_is_a_bit(style, bit):
    canvas = Canvas(1, 1)
    canvas.put(0, 0, "x", **{style: True})
    assert canvas.to_wire()["cells"][0][1]["modifier"] == bit


def test_styles_add_up():
    canvas = Canvas(1, 1)
    canvas.put(0, 0, "x", bold=True, dim=True, italic=True, underlined=True, reversed=True)
    assert canvas.to_wire()["cells"][0][1]["modifier"] == 31


@pytest.mark.parametrize("size", [-1, 65_536, 1.0, True, "1", None], ids=repr)
def test_a_size_that_the_wire_cannot_carry_is_refused(size):
    for both in ((size, 1), (1, size)):
        with pytest.raises(ValueError):
            Canvas(*both)


def test_the_largest_size_is_allowed():
    canvas = draw(65_535, 65_535, (65_534, 65_534, "xy"))
    assert cells(canvas) == [(65_534, 65_534, "x")]


@pytest.mark.parametrize("hidden", ["\x1b", "\x00", "\ud800", "\u202e", "\u2028"], ids=ascii)
def test_a_joiner_carries_nothing_hidden_into_a_cell(hidden):
    assert cells(draw(4, 1, (0, 0, f"a\u200d{hidden}b"))) == [(0, 0, "a\u200db")]


def test_a_line_feed_after_a_joiner_begins_the_next_row():
    assert cells(draw(4, 2, (1, 0, "a\u200d\nb"))) == [(1, 0, "a\u200d"), (1, 1, "b")]


# Whatever is drawn


@given(puts=PUTS)
def test_every_cell_is_inside_once_in_order_and_printable(puts):
    canvas = draw(6, 3, *puts)
    found = cells(canvas)
    places = [(y, x) for x, y, _ in found]
    assert places == sorted(set(places))
    assert all(0 <= x < 6 and 0 <= y < 3 for x, y, _ in found)
    json.dumps(canvas.to_wire(), ensure_ascii=False).encode()
    for _, _, symbol in found:
        assert symbol
        assert unicodedata.category(symbol[0]) not in ("Cc", "Cs", "Cf")


@given(puts=PUTS)
def test_no_wide_character_is_cut_or_overlapped(puts):
    found = cells(draw(6, 3, *puts))
    places = {(x, y) for x, y, _ in found}
    for x, y, symbol in found:
        if unicodedata.east_asian_width(symbol[0]) in "WF":
            assert x + 1 < 6
            assert (x + 1, y) not in places


@given(puts=PUTS)
def test_the_same_drawing_gives_the_same_bytes(puts):
    assert json.dumps(draw(6, 3, *puts).to_wire()) == json.dumps(draw(6, 3, *puts).to_wire())
