"""The table of states is sound."""

from plughost.contracts.conversation import Speaker
from plughost.contracts.duplex.states import FINAL, INITIAL, TRANSITIONS, Said, State


def reachable(start):
    reached, fresh = {start}, [start]
    while fresh:
        state = fresh.pop()
        following = {after for (before, _, _), after in TRANSITIONS.items() if before is state} - reached
        reached |= following
        fresh += following
    return reached


def test_only_final_states_are_dead_ends():
    assert {before for before, _, _ in TRANSITIONS} == set(State) - FINAL


def test_every_state_can_be_reached():
    assert reachable(INITIAL) == set(State)


def test_every_state_that_is_not_final_can_fail():
    may_fail = {
        before for before, speaker, said in TRANSITIONS if (speaker, said) == (Speaker.PLUGIN, Said.FAULT)
    }
    assert may_fail == set(State) - FINAL


def test_a_fault_always_ends_in_failed_and_nothing_else_does():
    assert all((after is State.FAILED) == (said is Said.FAULT) for (_, _, said), after in TRANSITIONS.items())


def test_everything_that_can_be_said_is_said_somewhere():
    assert {said for _, _, said in TRANSITIONS} == set(Said)


def test_it_runs_only_once_init_is_answered():
    assert [key for key, after in TRANSITIONS.items() if after is State.RUNNING] == [
        (State.INITIALISING, Speaker.PLUGIN, Said.INIT)
    ]


def test_it_closes_only_after_it_was_told_to_end():
    assert [key for key, after in TRANSITIONS.items() if after is State.CLOSED] == [
        (State.SHUTTING_DOWN, Speaker.PLUGIN, Said.EXIT)
    ]
