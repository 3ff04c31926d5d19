"""When a plugin that does not answer is slow, wedged, or hangs; by injected times."""

from __future__ import annotations

import pytest

from plughost.host.duplex.patience import MISSES_TO_FAIL, Patience

LIMIT_S = 10.0


def give_up(patience: Patience, count: int, *, each_s: float, late: int = 0, begin: float = 0.0) -> float:
    """Let *count* callers ask one after another and give up after *each_s*; returns when the last one did."""
    now = begin
    for _ in range(count):
        took = patience.miss(now, now + each_s, LIMIT_S, late)
        if took is not None:
            patience.is_wedged = True
        now += each_s
    return now


def test_calls_as_long_as_the_limit_count_and_so_many_in_a_row_are_the_end():
    patience = Patience()
    now = give_up(patience, MISSES_TO_FAIL - 1, each_s=LIMIT_S)
    assert (patience.is_wedged, patience.is_over) == (True, False)
    give_up(patience, 1, each_s=LIMIT_S, begin=now)
    assert patience.is_over


@pytest.mark.parametrize(
    ("count", "wedged", "over"), [(9, False, False), (10, True, False), (30, True, True)]
)
def test_short_calls_count_together_when_nothing_is_answered_for_as_long(count, wedged, over):
    patience = Patience()
    give_up(patience, count, each_s=LIMIT_S / 10)
    assert (patience.is_wedged, patience.is_over) == (wedged, over)
    assert patience.is_strained


def test_an_answer_makes_up_for_all_of_them():
    patience = Patience()
    now = give_up(patience, 9, each_s=LIMIT_S / 10)
    assert patience.answered() is False
    assert not patience.is_strained
    give_up(patience, 9, each_s=LIMIT_S / 10, begin=now)
    assert not patience.is_wedged


def test_who_answers_always_a_little_too_late_is_slow_and_not_wedged():
    patience = Patience()
    now = 0.0
    for late in range(100):
        now = give_up(patience, 1, each_s=LIMIT_S / 10, late=late, begin=now)
    assert not patience.is_wedged


def test_one_that_was_wedged_and_answers_says_so_once():
    patience = Patience()
    give_up(patience, 1, each_s=LIMIT_S)
    assert [patience.answered(), patience.answered()] == [True, False]


def test_calls_at_the_same_time_that_are_given_up_at_the_same_time_are_one_stretch():
    patience = Patience()
    for _ in range(50):
        patience.miss(0.0, LIMIT_S / 2, LIMIT_S, 0)
    assert not patience.is_over
