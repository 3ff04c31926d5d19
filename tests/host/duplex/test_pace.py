"""For how long one plugin is told what waits for it, before others are heard."""

from __future__ import annotations

import pytest

from plughost.host.duplex.pace import CHUNK_BYTES, LONG_S, MOST_S, SHARE, TURN_S, Pace


def after(others_s: float) -> Pace:
    """Return the pace of one that gave way to others, who took so long."""
    pace = Pace()
    pace.give_way(100.0)
    pace.go_on(100.0 + others_s)
    return pace


def test_a_first_turn_is_short() -> None:
    assert Pace().begin(100.0, 0) == 100.0 + TURN_S


def test_a_chunk_that_was_just_written_is_a_turn() -> None:
    assert Pace().begin(100.0, CHUNK_BYTES) == 100.0
    assert Pace().begin(100.0, CHUNK_BYTES - 1) == 100.0 + TURN_S


@pytest.mark.parametrize("written", [0, CHUNK_BYTES])
@pytest.mark.parametrize(("others_s", "turn"), [(LONG_S * 2, SHARE * LONG_S * 2), (3600.0, MOST_S)])
def test_where_the_others_take_long_it_has_a_share_of_that_and_no_more_than_the_most(
    others_s: float, turn: float, written: int
) -> None:
    assert after(others_s).begin(9000.0, written) == pytest.approx(9000.0 + turn)


def test_where_the_others_are_quick_a_turn_is_short() -> None:
    assert after(LONG_S / 2).begin(9000.0, 0) == 9000.0 + TURN_S


def test_time_in_which_nothing_waits_is_not_the_others() -> None:
    pace = after(LONG_S / 2)
    assert pace.begin(1_000_000.0, 0) == 1_000_000.0 + TURN_S
    assert not pace.gave_way_at


def test_what_the_others_took_last_counts() -> None:
    pace = after(LONG_S * 2)
    pace.give_way(200.0)
    pace.go_on(200.0 + LONG_S / 2)
    assert pace.begin(200.0 + LONG_S / 2, 0) == 200.0 + LONG_S / 2 + TURN_S
