"""Which screens there are, on one line."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from plughost.frontends.tui import tabs

NAMES = [f"plugin-{number}" for number in range(12)]


def test_a_screen_is_called_by_its_plugin_and_two_of_one_by_both() -> None:
    screens = [("burndown", "main"), ("probe", "main"), ("probe", "keys")]
    assert tabs.names(screens) == ["burndown", "probe: main", "probe: keys"]


@pytest.mark.parametrize("current", range(len(NAMES)))
@pytest.mark.parametrize("width", [20, 40, 80, 300])
def test_the_one_that_is_shown_is_seen_however_many_there_are(current: int, width: int) -> None:
    line = tabs.line(NAMES, current, width)
    (marked,) = [span for span in line.spans if span.style == "reverse"]
    assert line.plain[marked.start : marked.end] == f" {current + 1} {NAMES[current]} "
    assert cell_len(line.plain[: marked.end]) <= width


def test_all_are_shown_where_there_is_room() -> None:
    assert tabs.line(["a", "b"], 1, 80).plain == " 1 a  2 b "


def test_one_that_is_wider_than_the_line_is_shown_as_far_as_it_goes() -> None:
    assert tabs.line(["a", "b" * 30], 1, 10).plain.startswith("… 2 bbb")


def test_a_name_cannot_speak_to_the_terminal() -> None:
    assert "\x1b" not in tabs.line(["a\x1b[2J"], 0, 80).plain
