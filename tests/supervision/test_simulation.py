"""A pattern in words becomes the timeline that the real lifecycle would make of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.supervision.pattern import (
    LONGEST_S,
    MOST_PROCESSES,
    Does,
    Intervention,
    Life,
    Operator,
    Pattern,
    parse,
)
from plughost.supervision.restart import RestartPolicy, SpawnMode
from plughost.supervision.simulation import Event, Timeline, simulate
from plughost.supervision.states import State

LAZY, EAGER = RestartPolicy(), RestartPolicy(spawn=SpawnMode.EAGER)


def run(words: str, policy: RestartPolicy = LAZY, **options: float) -> Timeline:
    return simulate(policy, parse([words]), **options)


def told(timeline: Timeline, *events: Event) -> list[tuple[float, Event]]:
    return [(moment.at_s, moment.event) for moment in timeline.moments if moment.event in events]


def starts(timeline: Timeline) -> list[float]:
    return [at for at, _ in told(timeline, Event.STARTED)]


# Words


def test_every_word_is_understood() -> None:
    words = ["crash@0.5 exit0@3", "exec-fails", "init-fails@10 ok@120 idle", "reload@200 ask@7 shutdown@.5"]
    assert parse(words) == Pattern(
        (
            Life(Does.CRASH, 0.5),
            Life(Does.EXIT_ZERO, 3),
            Life(Does.EXEC_FAILS),
            Life(Does.INIT_FAILS, 10),
            Life(Does.OK, 120),
            Life(Does.IDLE),
        ),
        (
            Intervention(Operator.RELOAD, 200),
            Intervention(Operator.ASK, 7),
            Intervention(Operator.SHUTDOWN, 0.5),
        ),
    )


def test_a_number_before_a_word_repeats_it_and_no_time_is_at_once() -> None:
    assert parse(["3xcrash@1 2xexec-fails crash"]).lives == (
        *[Life(Does.CRASH, 1)] * 3,
        *[Life(Does.EXEC_FAILS)] * 2,
        Life(Does.CRASH, 0),
    )


@pytest.mark.parametrize(
    "word",
    [
        "crsh@1",
        "crash@",
        "crash@x",
        "crash@1.2.3",
        "crash@.",
        "crash@-1",
        "crash@1e9",
        "crash@nan",
        "crash@١",
        "crash@1s",
        "CRASH@1",
        "@1",
        "1",
        "xcrash",
        "0xcrash",
        "-1xcrash",
        "crash@1,crash@2",
        "exec-fails@1",
        "idle@3",
        "reload",
        "2xreload@1",
        "shutdown",
        f"crash@{LONGEST_S + 1:.0f}",
        f"{MOST_PROCESSES}xcrash",
        "999999999xcrash",
        "\x1b[31m",
        "crash@" + "9" * 400,
    ],
)
def test_a_word_that_is_wrong_is_refused_with_the_word(word: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(word))):
        parse(["ok@1", word])


def test_the_largest_pattern_is_still_understood() -> None:
    assert len(parse([f"{MOST_PROCESSES}xcrash@{LONGEST_S:.0f}"]).lives) == MOST_PROCESSES


@pytest.mark.parametrize(
    "words", [[], [""], ["  "], ["reload@3"]], ids=["nothing", "empty", "blank", "reload"]
)
def test_a_pattern_has_a_process(words: list[str]) -> None:
    with pytest.raises(ValueError, match="process"):
        parse(words)


# Timelines


def test_crashes_are_told_with_their_waits_and_end_in_quarantine() -> None:
    timeline = run("crash@0.5 crash@1 crash@2 crash@3", EAGER)
    assert starts(timeline) == [0, 1.5, 6.5]
    assert told(timeline, Event.FAILED) == [(0.5, Event.FAILED), (2.5, Event.FAILED), (8.5, Event.FAILED)]
    assert (timeline.state, timeline.started, timeline.unused) == (State.QUARANTINED, 3, 1)
    assert told(timeline, Event.REFUSED) == [(8.5, Event.REFUSED)]
    assert timeline.moments[-1].failures == 3


def test_failures_that_are_far_apart_reach_the_last_wait_and_no_quarantine() -> None:
    timeline = run("5xcrash@40", EAGER)
    assert starts(timeline) == [0, 41, 85, 141, 197]
    assert timeline.moments[-1].event is Event.PATTERN_OVER
    assert timeline.moments[-1].at_s == 253


def test_a_stable_minute_makes_the_next_wait_the_first_again() -> None:
    timeline = run("crash crash crash@100 crash", RestartPolicy(failures_to_quarantine=9))
    assert told(timeline, Event.STABLE) == [(65, Event.STABLE)]
    assert starts(timeline) == [0, 1, 5, 106]


def test_a_process_that_is_out_of_use_is_let_go_and_the_next_one_asked_for() -> None:
    timeline = run("ok@120 crash@1", RestartPolicy(idle_reap_s=10), ask_after_s=5)
    assert [(moment.at_s, moment.event) for moment in timeline.moments] == [
        (0, Event.ASKED),
        (0, Event.STARTED),
        (0, Event.RUNNING),
        (130, Event.STOPPING),
        (130, Event.GONE),
        (135, Event.ASKED),
        (135, Event.STARTED),
        (135, Event.RUNNING),
        (136, Event.FAILED),
        (137, Event.BACKOFF_OVER),
        (137, Event.PATTERN_OVER),
    ]
    assert timeline.state is State.SPAWNING


def test_a_process_that_is_never_let_go_ends_the_timeline() -> None:
    timeline = run("idle crash", RestartPolicy(idle_reap_s=0))
    assert (timeline.state, timeline.started, timeline.unused) == (State.RUNNING, 1, 1)


def test_a_lazy_plugin_is_there_again_after_its_backoff_before_anybody_asks() -> None:
    timeline = run("crash crash", ask_after_s=30)
    assert told(timeline, Event.BACKOFF_OVER, Event.ASKED) == [
        (0, Event.ASKED),
        (1, Event.BACKOFF_OVER),
        (5, Event.BACKOFF_OVER),
    ]
    assert starts(timeline) == [0, 1]


def test_nobody_asks_for_a_plugin_that_is_there_again_by_itself() -> None:
    assert told(run("crash idle", EAGER, ask_after_s=3), Event.ASKED) == []


def test_exec_and_init_failures_count_like_crashes() -> None:
    timeline = run("exec-fails init-fails@10 init-fails@10 idle reload@100")
    assert told(timeline, Event.FAILED) == [(0, Event.FAILED), (11, Event.FAILED), (25, Event.FAILED)]
    assert starts(timeline) == [0, 1, 15, 100]
    assert timeline.unused == 0


@pytest.mark.parametrize(("crash", "state"), [(True, State.QUARANTINED), (False, State.IDLE)])
def test_exit_0_is_what_the_policy_says(crash: bool, state: State) -> None:
    assert run("3xexit0@1", RestartPolicy(exit_zero_is_crash=crash)).state is state


def test_what_runs_is_started_anew_by_a_reload_and_ended_by_the_hosts_end() -> None:
    timeline = run("idle idle crash reload@20 shutdown@30")
    assert starts(timeline) == [0, 20]
    assert told(timeline, Event.GONE, Event.SHUTDOWN) == [
        (20, Event.GONE),
        (30, Event.SHUTDOWN),
        (30, Event.GONE),
    ]
    assert (timeline.state, timeline.unused) == (State.IDLE, 1)
    assert timeline.moments[-1].event is Event.REFUSED


def test_a_request_from_outside_is_served_and_keeps_the_process_in_use() -> None:
    timeline = run("idle ask@7", RestartPolicy(idle_reap_s=10))
    assert told(timeline, Event.ASKED, Event.GONE) == [(0, Event.ASKED), (7, Event.ASKED), (17, Event.GONE)]


def test_a_thousand_failures_without_a_wait_are_no_problem() -> None:
    policy = RestartPolicy(spawn=SpawnMode.EAGER, backoff_s=(0,), failures_to_quarantine=MOST_PROCESSES)
    assert run(f"{MOST_PROCESSES}xexec-fails", policy).state is State.QUARANTINED


# Any pattern

SECONDS = st.sampled_from([0.0, 0.5, 1.0, 5.0, 20.0, 60.0, 200.0])
FAILING = st.builds(
    Life, st.sampled_from([Does.CRASH, Does.EXIT_ZERO, Does.EXEC_FAILS, Does.INIT_FAILS]), SECONDS
)
LIVES = st.lists(st.builds(Life, st.sampled_from(Does), SECONDS), min_size=1, max_size=12)
POLICIES = st.builds(
    RestartPolicy,
    spawn=st.sampled_from(SpawnMode),
    backoff_s=st.lists(SECONDS, min_size=1, max_size=4).map(tuple),
    failure_window_s=SECONDS,
    failures_to_quarantine=st.integers(1, 5),
    stable_s=SECONDS,
    exit_zero_is_crash=st.booleans(),
    idle_reap_s=SECONDS,
)


@settings(max_examples=25)
@given(
    POLICIES,
    LIVES,
    st.lists(st.builds(Intervention, st.sampled_from(Operator), SECONDS), max_size=5),
    SECONDS,
)
def test_any_pattern_ends_in_a_known_state_and_time_never_goes_back(
    policy: RestartPolicy, lives: list[Life], interventions: list[Intervention], ask_after: float
) -> None:
    timeline = simulate(policy, Pattern(tuple(lives), tuple(interventions)), ask_after_s=ask_after)
    times = [moment.at_s for moment in timeline.moments]
    assert times == sorted(times)
    assert timeline.state in (State.IDLE, State.QUARANTINED, State.RUNNING, State.SPAWNING)
    if timeline.state is State.RUNNING:
        assert policy.idle_reap_s == 0
    if timeline.state is State.SPAWNING:
        assert timeline.moments[-1].event is Event.PATTERN_OVER
    assert timeline.started + timeline.unused == len(lives)


@settings(max_examples=25)
@given(POLICIES, st.lists(FAILING, min_size=1, max_size=20), SECONDS)
def test_no_window_sees_more_starts_of_a_failing_plugin_than_failures_are_allowed(
    policy: RestartPolicy, lives: list[Life], ask_after: float
) -> None:
    lives = [life for life in lives if policy.exit_zero_is_crash or life.does is not Does.EXIT_ZERO]
    found = starts(simulate(policy, Pattern(tuple(lives)), ask_after_s=ask_after))
    for first in found:
        inside = [at for at in found if first <= at < first + policy.failure_window_s]
        assert len(inside) <= policy.failures_to_quarantine


@settings(max_examples=25)
@given(st.text("crashexit0-failsokidlereload@.19x \n", max_size=30))
def test_any_text_is_a_pattern_or_a_plain_refusal(text: str) -> None:
    try:
        pattern = parse([text])
    except ValueError:
        return
    assert 1 <= len(pattern.lives) <= MOST_PROCESSES
