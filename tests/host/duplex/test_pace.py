"""For how long one plugin is told what waits for it, before others are heard."""

from __future__ import annotations

import pytest

from plughost.host.duplex.pace import LONG_S, MOST_S, SHARE, TURN_S, Pace


def test_a_first_turn_is_short() -> None:
    assert Pace().begin(100.0) == 100.0 + TURN_S


@pytest.mark.parametrize(
    ("waited", "turn"), [(LONG_S / 2, TURN_S), (LONG_S * 2, SHARE * LONG_S * 2), (3600.0, MOST_S)]
)
def test_who_had_to_wait_long_has_a_share_of_that_and_no_more_than_the_most(
    waited: float, turn: float
) -> None:
    pace = Pace()
    pace.give_way(100.0)
    assert pace.begin(100.0 + waited) == pytest.approx(100.0 + waited + turn)


def test_a_wait_counts_once() -> None:
    pace = Pace()
    pace.give_way(100.0)
    pace.begin(101.0)
    assert pace.begin(200.0) == 200.0 + TURN_S
