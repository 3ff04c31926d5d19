"""For how long one plugin is told what waits for it, before others are heard."""

from __future__ import annotations

import pytest

from plughost.host.duplex.pace import CHUNK_BYTES, LONG_S, MOST_S, SHARE, TURN_S, Pace, Turns


def after(others_s: float) -> Pace:
    """Return the pace of one that gave way to others, who took so long."""
    pace = Pace(Turns())
    pace.begin(100.0, 0)
    pace.give_way(100.0)
    pace.go_on(100.0 + others_s)
    return pace


def test_a_first_turn_is_short() -> None:
    assert Pace(Turns()).begin(100.0, 0) == 100.0 + TURN_S


def test_a_chunk_that_was_just_written_is_a_turn() -> None:
    assert Pace(Turns()).begin(100.0, CHUNK_BYTES) == 100.0
    assert Pace(Turns()).begin(100.0, CHUNK_BYTES - 1) == 100.0 + TURN_S


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
    pace.begin(200.0, 0)
    pace.give_way(200.0)
    pace.go_on(200.0 + LONG_S / 2)
    assert pace.begin(200.0 + LONG_S / 2, 0) == 200.0 + LONG_S / 2 + TURN_S


def turn(pace: Pace, now: float) -> float:
    """Let one have its turn, all of it; returns when that is over."""
    if pace.gave_way_at:
        pace.go_on(now)
    until = pace.begin(now, 0)
    pace.give_way(until)
    return until


@pytest.mark.parametrize("count", [1, 3, 40, 500])
@pytest.mark.parametrize("others_s", [0.0, LONG_S * 2, 0.1])
def test_however_many_are_told_the_others_wait_no_longer_than_for_one(count: int, others_s: float) -> None:
    turns, now = Turns(), 100.0
    paces = [Pace(turns) for _ in range(count)]
    for _ in range(20):
        began = now
        for pace in paces:
            now = turn(pace, now)
        assert now - began <= 1.01 * (min(SHARE * others_s, MOST_S) + count * TURN_S)
        now += others_s
    if count * TURN_S < MOST_S < others_s:
        assert now - others_s - began == pytest.approx(MOST_S)


def test_one_that_knows_everything_takes_nothing_from_the_others() -> None:
    turns = Turns()
    told, other = Pace(turns), Pace(turns)
    turn(other, 100.0)
    told.begin(100.0, 0)
    told.end(100.0 + LONG_S * 2)
    other.go_on(100.0 + LONG_S * 2)
    assert other.begin(200.0, 0) == 200.0 + TURN_S
    assert not turns.awaited


def test_one_that_gives_way_or_goes_on_twice_has_once() -> None:
    turns = Turns()
    pace = Pace(turns)
    for _ in range(2):
        pace.begin(100.0, 0)
        pace.give_way(100.0)
    assert turns.awaited == 1
    for _ in range(2):
        pace.go_on(100.0 + LONG_S * 2)
    assert turns.awaited == 0
    assert pace.begin(200.0, 0) == pytest.approx(200.0 + SHARE * LONG_S * 2)
