"""Bringing a process down: each rung in its order, each once, each bounded; by a clock that the test holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.base import Rung
from plughost.process.ladder import Grace, Ladder

CLOSE, TERMINATE, KILL = Rung.CLOSE_STDIN, Rung.TERMINATE, Rung.KILL
GRACE = Grace(close_stdin_s=1.0, terminate_s=2.0, reap_s=4.0)


def descend(ladder):
    """Tick at every deadline; return what was stepped on, with the time, and when nothing was due any more."""
    steps, now = [], None
    while (deadline := ladder.next_deadline()) is not None:
        now = deadline
        rung = ladder.tick(now)
        if rung is not None:
            steps.append((now, rung))
    return steps, now


def test_a_ladder_that_has_not_begun_wants_nothing():
    ladder = Ladder(GRACE)
    assert (ladder.rung, ladder.next_deadline(), ladder.gave_up) == (None, None, False)
    assert ladder.tick(1e9) is None
    assert ladder.rung is None


@pytest.mark.parametrize(
    ("first", "steps", "end"),
    [
        (CLOSE, [(11.0, TERMINATE), (13.0, KILL)], 17.0),
        (TERMINATE, [(12.0, KILL)], 16.0),
        (KILL, [], 14.0),
    ],
)
def test_every_rung_gets_its_grace_and_then_the_next_one_is_due(first, steps, end):
    ladder = Ladder(GRACE)
    assert ladder.begin(first, 10.0) is first
    assert ladder.next_deadline() == 10.0 + GRACE.after(first)
    assert descend(ladder) == (steps, end)
    assert (ladder.rung, ladder.gave_up) == (KILL, True)


@pytest.mark.parametrize("rung", [CLOSE, TERMINATE])
def test_nothing_is_due_before_the_grace_is_over(rung):
    ladder = Ladder(GRACE)
    ladder.begin(rung, 0.0)
    assert ladder.tick(GRACE.after(rung) - 0.001) is None
    assert ladder.rung is rung
    assert ladder.tick(GRACE.after(rung)) is not None


def test_a_late_tick_steps_down_one_rung_and_gives_it_its_whole_grace():
    ladder = Ladder(GRACE)
    ladder.begin(CLOSE, 0.0)
    assert ladder.tick(100.0) is TERMINATE
    assert ladder.tick(100.0) is None
    assert ladder.next_deadline() == 102.0


@pytest.mark.parametrize("standing", [CLOSE, TERMINATE, KILL])
@pytest.mark.parametrize("wanted", [CLOSE, TERMINATE, KILL])
def test_a_descent_only_goes_down_and_never_repeats_a_rung(standing, wanted):
    order = [CLOSE, TERMINATE, KILL]
    ladder = Ladder(GRACE)
    ladder.begin(standing, 0.0)
    deadline = ladder.next_deadline()
    stepped = ladder.begin(wanted, 0.5)
    if order.index(wanted) > order.index(standing):
        assert (stepped, ladder.rung) == (wanted, wanted)
        assert ladder.next_deadline() == 0.5 + GRACE.after(wanted)
    else:
        assert (stepped, ladder.rung) == (None, standing)
        assert ladder.next_deadline() == deadline


def test_it_gives_up_only_when_even_the_kill_has_had_its_time():
    ladder = Ladder(GRACE)
    ladder.begin(KILL, 0.0)
    ladder.tick(3.999)
    assert not ladder.gave_up
    assert ladder.tick(4.0) is None
    assert ladder.gave_up
    assert ladder.next_deadline() is None


@pytest.mark.parametrize("standing", [None, CLOSE, TERMINATE, KILL])
def test_when_the_process_is_gone_nothing_is_due_and_the_rung_stays_where_it_was(standing):
    ladder = Ladder(GRACE)
    if standing is not None:
        ladder.begin(standing, 0.0)
    ladder.end()
    assert ladder.next_deadline() is None
    for wanted in (CLOSE, TERMINATE, KILL):
        assert ladder.begin(wanted, 1.0) is None
    assert ladder.tick(1e9) is None
    assert (ladder.rung, ladder.next_deadline(), ladder.gave_up) == (standing, None, False)


@given(
    st.lists(
        st.tuples(st.sampled_from(["tick", CLOSE, TERMINATE, KILL]), st.floats(0, 3, allow_nan=False)),
        max_size=12,
    )
)
def test_whatever_is_asked_each_rung_is_stepped_on_once_in_order_and_the_end_is_bounded(asked):
    ladder, now, stepped = Ladder(GRACE), 0.0, []
    for what, seconds in asked:
        now += seconds
        rung = ladder.tick(now) if what == "tick" else ladder.begin(what, now)
        stepped += [] if rung is None else [rung]
        if ladder.next_deadline() is not None:
            assert ladder.next_deadline() <= now + max(GRACE.after(rung) for rung in Rung)
    stepped += [rung for _, rung in descend(ladder)[0]]
    order = [CLOSE, TERMINATE, KILL]
    assert stepped == sorted(set(stepped), key=order.index)
    assert ladder.gave_up == bool(stepped)
