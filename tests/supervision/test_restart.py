"""A policy is checked where it is made, and failures become waits as it says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.supervision.restart import Failures, RestartPolicy, SpawnMode


def test_the_policy_that_nobody_wrote_is_the_contracts() -> None:
    assert RestartPolicy() == RestartPolicy(
        spawn=SpawnMode.LAZY,
        backoff_s=(1, 4, 16),
        failure_window_s=60,
        failures_to_quarantine=3,
        stable_s=60,
        exit_zero_is_crash=True,
        idle_reap_s=600,
    )


@pytest.mark.parametrize("wrong", [-1, -0.001, math.inf, math.nan])
@pytest.mark.parametrize("name", ["failure_window_s", "stable_s", "idle_reap_s"])
def test_a_time_that_is_none_is_refused_by_name(name: str, wrong: float) -> None:
    with pytest.raises(ValueError, match=name):
        RestartPolicy(**{name: wrong})


@pytest.mark.parametrize(
    "waits", [(), (-1,), (1, -1), (math.inf,), (1, math.nan)], ids=["none", "-1", "1,-1", "inf", "1,nan"]
)
def test_waits_that_are_none_are_refused(waits: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="backoff_s"):
        RestartPolicy(backoff_s=waits)


@pytest.mark.parametrize("wrong", [0, -1])
def test_quarantine_takes_a_failure(wrong: int) -> None:
    with pytest.raises(ValueError, match="failures_to_quarantine"):
        RestartPolicy(failures_to_quarantine=wrong)


def test_every_time_may_be_0() -> None:
    RestartPolicy(backoff_s=(0,), failure_window_s=0, stable_s=0, idle_reap_s=0)


@pytest.mark.parametrize(("attempt", "wait"), [(1, 1), (2, 4), (3, 16), (4, 16), (1000, 16)])
def test_each_failure_in_a_row_has_its_wait(attempt: int, wait: float) -> None:
    assert RestartPolicy().wait_s(attempt) == wait


def test_one_failure_quarantines_if_the_policy_says_so_even_in_a_window_of_no_time() -> None:
    failures = Failures(RestartPolicy(failures_to_quarantine=1, failure_window_s=0))
    assert not failures.enough(0.0)
    failures.add(1.0)
    assert failures.enough(1.0)
    assert not failures.enough(1.001)


def test_forgiveness_shortens_the_wait_and_forgets_no_failure() -> None:
    failures = Failures(RestartPolicy())
    failures.add(0.0)
    failures.add(1.0)
    assert failures.wait_s() == 4
    failures.forgive()
    assert failures.within(2.0) == (0.0, 1.0)
    failures.add(2.0)
    assert failures.wait_s() == 1
    assert failures.enough(2.0)


def test_clearing_forgets_both() -> None:
    failures = Failures(RestartPolicy())
    failures.add(0.0)
    failures.clear()
    assert (failures.attempt, failures.within(0.0)) == (0, ())


@settings(max_examples=25)
@given(st.lists(st.integers(0, 300), max_size=40), st.integers(1, 5), st.integers(0, 120))
def test_the_verdict_is_that_of_counting_them_all(times: list[int], most: int, window: int) -> None:
    failures = Failures(RestartPolicy(failures_to_quarantine=most, failure_window_s=window))
    seen: list[int] = []
    for now in sorted(times):
        failures.add(now)
        seen.append(now)
        count = sum(at == now or now - at < window for at in seen)
        assert failures.enough(now) == (count >= most)
        assert len(failures.within(now)) == min(count, most)
