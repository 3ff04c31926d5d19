"""The table of a plugin's life is sound, and the machine that walks it keeps every rule to the second."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plughost.autopsy import ExitStatus
from plughost.errors import LocalProtocolError
from plughost.supervision.lifecycle import Lifecycle
from plughost.supervision.restart import RestartPolicy, SpawnMode
from plughost.supervision.states import (
    INITIAL,
    TRANSITIONS,
    Actions,
    BeginShutdown,
    Happening,
    Refuse,
    RefuseReason,
    Spawn,
    State,
    StopReason,
)

CRASH, ZERO, KILLED = ExitStatus(code=1), ExitStatus(code=0), ExitStatus(signal=9)
LAZY, EAGER = RestartPolicy(), RestartPolicy(spawn=SpawnMode.EAGER)
QUARANTINED, CLOSED = Refuse(RefuseReason.QUARANTINED), Refuse(RefuseReason.CLOSED)
MOMENT = 0.001  # seconds: just before, just after


def spawning(policy: RestartPolicy = LAZY, now: float = 0.0) -> Lifecycle:
    life = Lifecycle(policy, now)
    assert life.wanted(now) == (Spawn(),)
    return life


def running(policy: RestartPolicy = LAZY, now: float = 0.0) -> Lifecycle:
    life = spawning(policy, now)
    assert life.spawned(now) == ()
    life.init_done(now)
    assert life.state is State.RUNNING
    return life


def backoff(policy: RestartPolicy = LAZY, now: float = 0.0) -> Lifecycle:
    life = running(policy, now)
    assert life.exited(now, CRASH) == ()
    assert life.state is State.BACKOFF
    return life


def quarantined(policy: RestartPolicy = LAZY) -> Lifecycle:
    life = Lifecycle(policy)
    actions: Actions = ()
    for now in (0.0, 10.0, 20.0):
        life.wanted(now)
        actions = life.exec_failed(now)
    assert life.state is State.QUARANTINED
    assert actions == (QUARANTINED,)
    return life


def crash(life: Lifecycle, now: float) -> Actions:
    """Bring up the process that was asked for at *now*, and let it crash at once."""
    life.spawned(now)
    life.init_done(now)
    return life.exited(now, CRASH)


# The table


def following(start: State) -> set[State]:
    reached, fresh = {start}, [start]
    while fresh:
        state = fresh.pop()
        after = {after for (before, _), after in TRANSITIONS.items() if before is state} - reached
        reached |= after
        fresh += after
    return reached


@pytest.mark.parametrize("state", State, ids=str)
def test_every_state_can_be_reached_from_every_other(state: State) -> None:
    assert following(state) == set(State)


def test_everything_that_can_happen_happens_somewhere() -> None:
    assert {happening for _, happening in TRANSITIONS} == set(Happening)


def test_quarantine_is_left_by_reload_alone() -> None:
    assert [key for key in TRANSITIONS if key[0] is State.QUARANTINED] == [
        (State.QUARANTINED, Happening.RELOAD)
    ]


def test_a_plugin_runs_only_after_its_init_is_answered() -> None:
    assert [key for key, after in TRANSITIONS.items() if after is State.RUNNING] == [
        (State.SPAWNING, Happening.INIT_DONE)
    ]


def test_only_a_failure_leads_to_backoff_and_one_too_many_to_quarantine() -> None:
    for (_, happening), after in TRANSITIONS.items():
        assert (after is State.BACKOFF) == (happening is Happening.FAILED)
        assert (after is State.QUARANTINED) == (happening is Happening.FAILED_ENOUGH)


# Starting


def test_a_lazy_plugin_waits_for_its_first_request() -> None:
    life = Lifecycle(LAZY)
    assert life.state is INITIAL is State.IDLE
    assert life.next_deadline() is None
    assert life.tick(1e6) == ()
    assert life.wanted(1e6) == (Spawn(),)
    assert life.state is State.SPAWNING


def test_an_eager_plugin_is_due_at_once() -> None:
    life = Lifecycle(EAGER, 5.0)
    assert life.next_deadline() == 5.0
    assert life.tick(5.0) == (Spawn(),)
    assert life.next_deadline() is None


def test_it_is_spawning_until_init_is_answered() -> None:
    life = spawning()
    life.spawned(0.1)
    assert life.state is State.SPAWNING
    life.init_done(0.2)
    assert life.state is State.RUNNING


@pytest.mark.parametrize("make", [spawning, running], ids=["spawning", "running"])
def test_a_request_starts_no_second_process(make: Callable[[], Lifecycle]) -> None:
    life = make()
    assert life.wanted(1.0) == ()
    assert life.tick(2.0) == ()


def test_a_request_during_a_start_that_fails_is_not_remembered() -> None:
    life = spawning()
    life.wanted(0.5)
    life.exec_failed(0.5)
    life.stop(0.6)
    assert life.tick(1.5) == ()
    assert life.state is State.IDLE


# Backoff


def test_the_waits_grow_as_the_policy_says_and_the_last_repeats() -> None:
    policy = RestartPolicy(spawn=SpawnMode.EAGER, failures_to_quarantine=100)
    life = Lifecycle(policy)
    now, waits = 0.0, []
    assert life.tick(now) == (Spawn(),)
    for attempt in range(1, 6):
        assert crash(life, now) == ()
        assert life.attempt == attempt
        deadline = life.next_deadline()
        assert deadline is not None
        waits.append(deadline - now)
        assert life.tick(deadline - MOMENT) == ()
        assert life.tick(deadline) == (Spawn(),)
        now = deadline
    assert waits == [1, 4, 16, 16, 16]


def test_a_lazy_plugin_is_started_again_after_its_backoff_though_nobody_asks() -> None:
    life = backoff()
    assert life.next_deadline() == 1.0
    assert life.tick(1.0 - MOMENT) == ()
    assert life.tick(1.0) == (Spawn(),)
    assert life.state is State.SPAWNING
    assert life.attempt == 1


def test_a_request_during_backoff_waits_and_starts_a_lazy_plugin_after_it() -> None:
    life = backoff()
    assert life.wanted(0.5) == ()
    assert life.state is State.BACKOFF
    assert life.tick(1.0) == (Spawn(),)


def test_a_request_that_comes_before_an_overdue_tick_is_not_kept_waiting() -> None:
    assert backoff().wanted(1.0) == (Spawn(),)


def test_a_wait_of_no_time_respawns_an_eager_plugin_in_the_same_breath() -> None:
    life = Lifecycle(RestartPolicy(spawn=SpawnMode.EAGER, backoff_s=(0,)))
    life.tick(0.0)
    assert life.exec_failed(0.0) == (Spawn(),)


@pytest.mark.parametrize(("ran", "attempt", "wait"), [(60 - MOMENT, 2, 4), (60, 1, 1), (60 + MOMENT, 1, 1)])
def test_a_stable_minute_and_not_less_forgives_the_series(ran: float, attempt: int, wait: float) -> None:
    life = backoff()
    life.wanted(100.0)
    life.spawned(100.0)
    life.init_done(105.0)  # the minute begins here
    life.exited(105.0 + ran, CRASH)
    assert life.attempt == attempt
    assert life.next_deadline() == 105.0 + ran + wait


def test_forgiveness_comes_by_itself_at_its_moment() -> None:
    life = backoff(RestartPolicy(idle_reap_s=0))
    life.wanted(1.0)
    life.spawned(1.0)
    life.init_done(1.0)
    assert life.next_deadline() == 61.0
    life.tick(61.0)
    assert life.attempt == 0
    assert life.next_deadline() is None


# Failures


FAILURES = {
    "exec fails": lambda life, now: life.exec_failed(now),
    "init fails": lambda life, now: (life.spawned(now), life.init_failed(now))[1],
    "dies before init": lambda life, now: (life.spawned(now), life.exited(now, KILLED))[1],
    "exits 0 before init": lambda life, now: (life.spawned(now), life.exited(now, ZERO))[1],
    "crashes": crash,
    "exits 0": lambda life, now: (life.spawned(now), life.init_done(now), life.exited(now, ZERO))[2],
}


@pytest.mark.parametrize("kind", FAILURES)
def test_every_kind_of_failure_counts_once(kind: str) -> None:
    life = spawning()
    FAILURES[kind](life, 1.0)
    assert life.state is State.BACKOFF
    assert (life.attempt, life.failures) == (1, (1.0,))


@pytest.mark.parametrize("kind", FAILURES)
def test_the_third_failure_of_any_kind_in_the_window_quarantines(kind: str) -> None:
    life = Lifecycle(LAZY)
    for now in (0.0, 10.0):
        life.wanted(now)
        assert QUARANTINED not in FAILURES[kind](life, now)
        assert life.state is State.BACKOFF
        if kind == "init fails":
            life.exited(now, KILLED)
    life.wanted(20.0)
    assert QUARANTINED in FAILURES[kind](life, 20.0)
    assert life.state is State.QUARANTINED
    assert life.next_deadline() is None


@pytest.mark.parametrize(
    ("third", "state"),
    [(60 - MOMENT, State.QUARANTINED), (60, State.BACKOFF), (60 + MOMENT, State.BACKOFF)],
)
def test_a_failure_counts_for_less_than_a_window(third: float, state: State) -> None:
    life = Lifecycle(LAZY)
    for now in (0.0, 30.0, third):
        life.wanted(now)
        life.exec_failed(now)
    assert life.state is state


def test_a_policy_may_take_exit_0_as_no_failure_once_init_is_answered() -> None:
    life = running(RestartPolicy(exit_zero_is_crash=False))
    assert life.exited(1.0, ZERO) == ()
    assert life.state is State.IDLE
    assert life.failures == ()
    life.wanted(2.0)
    life.spawned(2.0)
    life.exited(2.0, ZERO)
    assert life.state is State.BACKOFF


def test_an_eager_plugin_that_may_exit_is_not_started_again_without_demand() -> None:
    life = Lifecycle(RestartPolicy(spawn=SpawnMode.EAGER, exit_zero_is_crash=False))
    life.tick(0.0)
    life.spawned(0.0)
    life.init_done(0.0)
    assert life.exited(1.0, ZERO) == ()
    assert life.next_deadline() is None
    assert life.wanted(2.0) == (Spawn(),)


@pytest.mark.parametrize("status", [CRASH, ZERO, KILLED], ids=["1", "0", "killed"])
def test_a_process_that_the_host_let_go_has_not_failed(status: ExitStatus) -> None:
    life = running()
    assert life.exited(1.0, status, during_shutdown=True) == ()
    assert (life.state, life.failures) == (State.IDLE, ())


# At most one process


def test_a_process_that_failed_its_init_is_brought_down_and_waited_for() -> None:
    life = Lifecycle(EAGER)
    life.tick(0.0)
    life.spawned(0.0)
    assert life.init_failed(10.0) == (BeginShutdown(StopReason.INIT_FAILED),)
    assert life.next_deadline() is None
    assert life.tick(12.0) == ()
    assert life.wanted(12.0) == ()
    assert life.exited(17.0, KILLED) == (Spawn(),)
    assert life.failures == (10.0,)


def test_its_exit_before_the_backoff_is_over_starts_nothing_early() -> None:
    life = spawning(EAGER)
    life.spawned(0.0)
    life.init_failed(0.0)
    assert life.exited(0.5, KILLED) == ()
    assert life.next_deadline() == 1.0
    assert life.tick(1.0) == (Spawn(),)


def test_even_a_reload_waits_for_the_exit() -> None:
    life = spawning(EAGER)
    life.spawned(0.0)
    life.init_failed(0.0)
    assert life.reload(0.1) == ()
    assert life.state is State.IDLE
    assert life.next_deadline() is None
    assert life.exited(5.0, KILLED) == (Spawn(),)


def test_an_answer_to_init_that_comes_too_late_changes_nothing() -> None:
    life = spawning()
    life.spawned(0.0)
    life.init_failed(10.0)
    life.init_done(10.1)
    assert life.init_failed(10.2) == ()
    assert (life.state, life.failures) == (State.BACKOFF, (10.0,))


@pytest.mark.parametrize(
    "impossible",
    [
        lambda life: life.spawned(1.0),
        lambda life: life.exec_failed(1.0),
        lambda life: life.init_done(1.0),
        lambda life: life.init_failed(1.0),
        lambda life: life.exited(1.0, CRASH),
    ],
    ids=["spawned", "exec failed", "init done", "init failed", "exited"],
)
def test_nothing_happens_to_a_process_that_is_not_there(impossible: Callable[[Lifecycle], object]) -> None:
    life = Lifecycle(LAZY)
    with pytest.raises(LocalProtocolError):
        impossible(life)
    assert life.state is State.IDLE


# Quarantine and reload


def test_a_request_in_quarantine_is_refused_and_starts_nothing_however_late() -> None:
    life = quarantined()
    for now in (20.0, 80.0, 1e6):
        assert life.wanted(now) == (QUARANTINED,)
        assert life.tick(now) == ()
    assert life.state is State.QUARANTINED


def test_reload_forgets_the_failures_and_lets_a_lazy_plugin_wait_for_demand() -> None:
    life = quarantined()
    assert life.reload(21.0) == ()
    assert (life.state, life.attempt, life.failures) == (State.IDLE, 0, ())
    assert life.next_deadline() is None
    assert life.wanted(22.0) == (Spawn(),)
    life.exec_failed(22.0)
    assert life.next_deadline() == 23.0


def test_reload_starts_an_eager_plugin_at_once() -> None:
    life = Lifecycle(EAGER)
    life.tick(0.0)
    for failed, due in ((0.0, 1.0), (1.0, 5.0)):
        life.exec_failed(failed)
        assert life.tick(due) == (Spawn(),)
    life.exec_failed(5.0)
    assert life.state is State.QUARANTINED
    assert life.reload(6.0) == (Spawn(),)


def test_reload_ends_a_backoff_for_whoever_waits() -> None:
    life = backoff()
    life.wanted(0.2)
    assert life.reload(0.3) == (Spawn(),)
    assert backoff().reload(0.3) == ()


def test_reload_restarts_what_runs_whatever_its_policy() -> None:
    life = running()
    assert life.reload(1.0) == (BeginShutdown(StopReason.RELOAD),)
    assert life.state is State.SHUTTING_DOWN
    assert life.exited(2.0, ZERO, during_shutdown=True) == (Spawn(),)
    assert life.failures == ()


def test_reload_during_a_start_starts_anew_because_what_starts_is_the_old_one() -> None:
    life = backoff()
    life.wanted(5.0)
    assert life.reload(5.0) == ()  # nothing is there yet that could be brought down
    assert (life.state, life.attempt, life.failures) == (State.SHUTTING_DOWN, 0, ())
    life.spawned(5.1)
    assert life.exited(5.2, ZERO, during_shutdown=True) == (Spawn(),)


def test_reload_before_init_is_answered_brings_the_process_down_and_starts_another() -> None:
    life = spawning()
    life.spawned(0.1)
    assert life.reload(0.2) == (BeginShutdown(StopReason.RELOAD),)
    assert life.exited(0.3, ZERO, during_shutdown=True) == (Spawn(),)


def test_what_was_stopped_during_its_backoff_is_not_started_again() -> None:
    life = backoff()
    life.wanted(0.0)
    life.stop(0.5)
    assert life.tick(99.0) == ()
    assert life.state is State.IDLE


def test_an_eager_plugin_starts_again_whoever_gives_up() -> None:
    life = Lifecycle(RestartPolicy(spawn=SpawnMode.EAGER))
    assert life.tick(0.0) == (Spawn(),)
    life.exec_failed(0.0)
    life.unwanted()
    assert life.tick(1.0) == (Spawn(),)


@pytest.mark.parametrize(("most", "state"), [(2, State.QUARANTINED), (3, State.BACKOFF)])
def test_what_has_failed_counts_by_the_policy_that_is_followed_now(most: int, state: State) -> None:
    life = Lifecycle(RestartPolicy(failures_to_quarantine=5, backoff_s=(0.0,)))
    for follows in (RestartPolicy(failures_to_quarantine=5), RestartPolicy(failures_to_quarantine=most)):
        life.follow(follows)
        life.wanted(20.0)
        life.exec_failed(20.0)
        life.tick(30.0)
    assert (life.state, len(life.failures)) == (state, 2)


# Idle


def test_a_process_that_nobody_uses_is_let_go_after_its_time_and_not_before() -> None:
    life = running()
    assert life.next_deadline() == 600.0
    assert life.tick(600.0 - MOMENT) == ()
    assert life.tick(600.0) == (BeginShutdown(StopReason.IDLE),)
    assert life.state is State.SHUTTING_DOWN
    assert life.exited(601.0, CRASH, during_shutdown=True) == ()
    assert (life.state, life.failures) == (State.IDLE, ())


@pytest.mark.parametrize("use", [Lifecycle.used, Lifecycle.wanted], ids=["used", "wanted"])
def test_use_postpones_it(use: Callable[[Lifecycle, float], object]) -> None:
    life = running()
    use(life, 599.0)
    assert life.next_deadline() == 1199.0
    assert life.tick(600.0) == ()


def test_use_that_is_told_of_later_counts_from_when_it_was() -> None:
    life = running()
    life.used(300.0)
    assert life.tick(600.0) == ()
    life.used(300.0)
    assert life.next_deadline() == 900.0
    assert life.tick(900.0) == (BeginShutdown(StopReason.IDLE),)


def test_use_that_is_told_of_again_counts_from_when_it_was() -> None:
    life = running()
    life.used(300.0)
    assert life.tick(600.0) == ()
    life.used(300.0)
    assert life.next_deadline() == 900.0
    assert life.tick(900.0) == (BeginShutdown(StopReason.IDLE),)


def test_use_that_comes_before_an_overdue_tick_wins() -> None:
    life = running()
    life.used(700.0)
    assert life.tick(700.0) == ()


def test_a_call_keeps_it_in_use_until_it_must_have_ended() -> None:
    life = running()
    life.used(0.0, until=1000.0)
    life.used(10.0)
    assert life.next_deadline() == 1600.0


def test_idle_reap_0_keeps_it_for_ever() -> None:
    life = running(RestartPolicy(idle_reap_s=0))
    assert life.next_deadline() is None
    assert life.tick(1e9) == ()
    assert life.state is State.RUNNING


def test_a_small_idle_reap_is_honoured_and_an_eager_plugin_then_waits_for_demand() -> None:
    life = running(RestartPolicy(spawn=SpawnMode.EAGER, idle_reap_s=2))
    assert life.tick(2.0) == (BeginShutdown(StopReason.IDLE),)
    assert life.exited(2.0, ZERO) == ()
    assert life.next_deadline() is None


def test_a_request_during_the_goodbye_starts_the_next_process_after_it() -> None:
    life = running()
    life.tick(600.0)
    assert life.wanted(600.5) == ()
    assert life.exited(601.0, ZERO) == (Spawn(),)


# It is stopped


def test_a_stopped_plugin_is_brought_down_and_waits_for_demand_whatever_its_policy() -> None:
    life = running(EAGER)
    assert life.stop(1.0) == (BeginShutdown(StopReason.STOPPED),)
    assert life.state is State.SHUTTING_DOWN
    assert life.exited(2.0, KILLED, during_shutdown=True) == ()
    assert (life.state, life.failures, life.next_deadline()) == (State.IDLE, (), None)
    assert life.tick(1000.0) == ()
    assert life.wanted(1000.0) == (Spawn(),)


def test_an_eager_plugin_that_is_stopped_before_its_start_is_not_started() -> None:
    life = Lifecycle(EAGER)
    assert life.stop(0.0) == ()
    assert (life.next_deadline(), life.tick(1.0)) == (None, ())


def test_one_that_is_stopped_before_init_is_answered_has_not_failed() -> None:
    life = spawning()
    life.spawned(0.0)
    assert life.stop(0.1) == (BeginShutdown(StopReason.STOPPED),)
    life.init_done(0.2)
    assert life.state is State.SHUTTING_DOWN
    assert life.exited(0.3, KILLED, during_shutdown=True) == ()
    assert (life.state, life.failures) == (State.IDLE, ())


def test_one_that_is_stopped_while_it_is_launched_goes_as_soon_as_it_is_there() -> None:
    life = spawning()
    assert life.stop(0.1) == ()
    assert [type(action) for action in life.spawned(0.2)] == [BeginShutdown]
    life.exited(0.3, ZERO, during_shutdown=True)
    assert life.state is State.IDLE


def test_stopping_ends_a_backoff_and_forgets_whoever_waits_but_not_the_failures() -> None:
    life = backoff(EAGER)
    life.wanted(0.1)
    assert life.stop(0.2) == ()
    assert (life.state, life.attempt, len(life.failures)) == (State.IDLE, 1, 1)
    assert (life.next_deadline(), life.tick(100.0)) == (None, ())


def test_stopping_during_a_backoff_waits_for_a_process_on_its_way_out() -> None:
    life = spawning()
    life.spawned(0.0)
    life.init_failed(0.0)
    assert life.stop(0.5) == ()
    assert life.state is State.SHUTTING_DOWN
    assert life.exited(5.0, KILLED) == ()
    assert life.state is State.IDLE


@pytest.mark.parametrize("make", [Lifecycle, quarantined], ids=["idle", "quarantined"])
def test_stopping_what_does_not_run_changes_nothing(make: Callable[..., Lifecycle]) -> None:
    life = make(LAZY)
    before = life.state
    assert life.stop(100.0) == ()
    assert (life.state, life.next_deadline()) == (before, None)


def test_a_request_after_a_stop_waits_for_the_exit() -> None:
    life = running()
    life.stop(1.0)
    assert life.stop(1.1) == ()
    assert life.wanted(1.2) == ()
    assert life.exited(2.0, ZERO, during_shutdown=True) == (Spawn(),)


# The host closes


def test_closing_brings_down_what_runs_and_starts_nothing_more() -> None:
    life = running(EAGER)
    assert life.shutdown(1.0) == (CLOSED, BeginShutdown(StopReason.CLOSED))
    assert not life.ended
    assert life.wanted(1.1) == (CLOSED,)
    assert life.reload(1.2) == ()
    assert life.shutdown(1.3) == ()
    assert life.exited(2.0, KILLED) == ()
    assert (life.state, life.ended, life.next_deadline()) == (State.IDLE, True, None)


def test_closing_ends_a_backoff_and_answers_whoever_waits() -> None:
    life = backoff(EAGER)
    life.wanted(0.1)
    assert life.shutdown(0.2) == (CLOSED,)
    assert life.ended
    assert life.tick(1.0) == ()


def test_closing_leaves_a_quarantined_plugin_so() -> None:
    life = quarantined()
    assert life.shutdown(30.0) == (CLOSED,)
    assert (life.state, life.ended) == (State.QUARANTINED, True)


def test_closing_during_a_backoff_waits_for_a_process_on_its_way_out() -> None:
    life = spawning()
    life.spawned(0.0)
    life.init_failed(0.0)
    life.shutdown(0.5)
    assert (life.state, life.ended) == (State.SHUTTING_DOWN, False)
    life.exited(1.0, KILLED)
    assert (life.state, life.ended) == (State.IDLE, True)


def test_a_process_that_appears_after_the_host_has_closed_is_told_to_go() -> None:
    life = spawning()
    life.shutdown(0.1)
    assert life.spawned(0.2) == (BeginShutdown(StopReason.CLOSED),)
    life.init_done(0.3)
    assert life.state is State.SHUTTING_DOWN
    life.exited(0.4, ZERO)
    assert life.ended


def test_one_that_cannot_be_executed_any_more_is_no_failure_then() -> None:
    life = spawning()
    life.shutdown(0.1)
    assert life.exec_failed(0.2) == ()
    assert (life.ended, life.failures) == (True, ())


def test_a_clock_that_goes_back_changes_nothing() -> None:
    life = spawning(now=100.0)
    life.exec_failed(50.0)
    assert life.failures == (100.0,)
    assert life.tick(0.0) == ()
    assert life.next_deadline() == 101.0


# Any order


class AnyOrder(RuleBasedStateMachine):
    """A driver that does whatever a driver may do, at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.policy = RestartPolicy(spawn=SpawnMode.EAGER, idle_reap_s=90)
        self.life = Lifecycle(self.policy)
        self.process = "none"
        self.told_to_go = False
        self.waiting = False

    def obey(self, actions: Actions) -> None:
        for action in actions:
            match action:
                case Spawn():
                    assert self.process == "none"
                    assert not self.life.closed
                    self.process = "starting"
                    self.told_to_go = self.waiting = False
                case BeginShutdown():
                    assert self.process != "none"
                    self.told_to_go = True
                case Refuse():
                    assert self.life.closed or self.life.state is State.QUARANTINED
                    self.waiting = False

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 4.0, 16.0, 30.0, 60.0, 90.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.obey(self.life.tick(self.now))

    @rule()
    def wait_for_the_deadline(self) -> None:
        deadline = self.life.next_deadline()
        if deadline is not None:
            self.now = max(self.now, deadline)
            self.obey(self.life.tick(self.now))
            after = self.life.next_deadline()
            assert after is None or after > self.now, "a deadline that does not pass would be a busy loop"

    @rule()
    def request(self) -> None:
        self.waiting = self.life.state is not State.RUNNING
        self.obey(self.life.wanted(self.now))

    @rule()
    def use(self) -> None:
        self.life.used(self.now)

    @rule()
    def reload(self) -> None:
        self.obey(self.life.reload(self.now))
        assert self.life.attempt == 0
        assert self.life.failures == ()

    @rule()
    def stop(self) -> None:
        self.waiting = False  # whoever stops it has sent them away
        self.obey(self.life.stop(self.now))

    @precondition(lambda self: self.process == "starting")
    @rule(works=st.booleans())
    def launch(self, works: bool) -> None:
        self.process = "alive" if works else "none"
        self.obey(self.life.spawned(self.now) if works else self.life.exec_failed(self.now))
        if not works:
            self.waiting = self.waiting and self.process == "starting"

    @precondition(lambda self: self.process == "alive")
    @rule(works=st.booleans())
    def answer_init(self, works: bool) -> None:
        if works:
            self.waiting = self.waiting and self.life.state is not State.SPAWNING  # else they are served now
            self.life.init_done(self.now)
        elif self.life.state is State.SPAWNING:
            self.obey(self.life.init_failed(self.now))
            assert self.told_to_go
            self.waiting = False

    @precondition(lambda self: self.process == "alive")
    @rule(status=st.sampled_from([CRASH, ZERO, KILLED]))
    def die(self, status: ExitStatus) -> None:
        self.process = "none"
        if self.life.state in (State.SPAWNING, State.RUNNING):  # they are told of its death
            self.waiting = False
        self.obey(self.life.exited(self.now, status, during_shutdown=self.told_to_go))

    @precondition(lambda self: self.now > 100)  # the rest of its life is dull
    @rule()
    def close(self) -> None:
        self.obey(self.life.shutdown(self.now))

    @invariant()
    def whoever_waits_has_something_to_wait_for(self) -> None:
        if self.waiting and self.life.state is not State.RUNNING:
            assert self.process != "none" or self.life.next_deadline() is not None

    @invariant()
    def the_state_fits_the_process(self) -> None:
        if self.life.state in (State.RUNNING, State.SHUTTING_DOWN):
            assert self.process != "none"
        if self.life.state is State.SPAWNING:
            assert not self.told_to_go
        if self.life.ended:
            assert self.process == "none"

    @invariant()
    def too_many_failures_are_never_tolerated(self) -> None:
        if len(self.life.failures) >= self.policy.failures_to_quarantine:
            assert self.life.state is State.QUARANTINED


AnyOrder.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestInAnyOrderThereIsOneProcessAtMostAndNobodyWaitsForNothing = AnyOrder.TestCase
