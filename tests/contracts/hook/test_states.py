"""The table of states is sound."""

from plughost.contracts.conversation import Speaker
from plughost.contracts.hook.states import FINAL, INITIAL, TRANSITIONS, Said, State


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


def test_every_state_can_still_end():
    for state in State:
        assert reachable(state) & FINAL


def test_every_state_that_is_not_final_can_fail():
    may_fail = {
        before for before, speaker, said in TRANSITIONS if (speaker, said) == (Speaker.PLUGIN, Said.FAULT)
    }
    assert may_fail == set(State) - FINAL


def test_a_fault_always_ends_in_failed_and_nothing_else_does():
    assert all((after is State.FAILED) == (said is Said.FAULT) for (_, _, said), after in TRANSITIONS.items())


def test_everything_that_can_be_said_is_said_somewhere():
    assert {said for _, _, said in TRANSITIONS} == set(Said)


def test_a_process_is_asked_as_often_as_the_host_likes_and_closed_only_from_idleness():
    assert State.ASKED in reachable(State.READY)
    assert State.READY in reachable(State.ASKED)
    assert [key for key, after in TRANSITIONS.items() if after is State.CLOSED] == [
        (State.RETIRING, Speaker.PLUGIN, Said.EXIT)
    ]
    assert [key for key, after in TRANSITIONS.items() if after is State.RETIRING] == [
        (State.READY, Speaker.HOST, Said.GOODBYE)
    ]


def test_a_result_is_only_possible_after_a_request_and_a_request_only_while_none_is_under_way():
    assert [before for (before, _, said) in TRANSITIONS if said is Said.RESULT] == [State.ASKED]
    assert [before for (before, _, said) in TRANSITIONS if said is Said.REQUEST] == [State.READY]
