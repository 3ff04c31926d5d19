"""What the table of states promises of this contract."""

from plughost.contracts.conversation import Speaker
from plughost.contracts.sideband import states
from plughost.contracts.sideband.states import FINAL, INITIAL, TRANSITIONS, Said, State
from tests.contracts.tables import reachable


def test_only_final_states_are_dead_ends():
    assert {before for before, _, _ in TRANSITIONS} == set(State) - FINAL


def test_every_state_can_be_reached_and_can_still_end():
    assert reachable(states, INITIAL) == set(State)
    assert all(reachable(states, state) & FINAL for state in State)


def test_every_state_but_the_final_ones_can_fail_and_nothing_but_a_fault_does():
    fault = {key: after for key, after in TRANSITIONS.items() if key[2] is Said.FAULT}
    assert {state for state, _, _ in fault} == set(State) - FINAL
    assert {key for key, after in TRANSITIONS.items() if after is State.FAILED} == set(fault)


def test_everything_that_can_be_said_is_said_somewhere():
    assert {said for _, _, said in TRANSITIONS} == set(Said)


def test_code_is_run_only_while_idle_and_an_answer_given_only_while_one_is_waited_for():
    assert [before for before, _, said in TRANSITIONS if said is Said.RUN] == [State.IDLE]
    assert [before for before, _, said in TRANSITIONS if said is Said.ANSWER] == [State.WAITING]


def test_it_is_idle_again_only_when_the_output_of_a_request_has_ended():
    to_idle = {key for key, after in TRANSITIONS.items() if after is State.IDLE and key[0] is not State.IDLE}
    assert to_idle == {
        (State.STARTING, Speaker.PLUGIN, Said.READY),
        (State.SETTLING, Speaker.PLUGIN, Said.SETTLED),
    }


def test_it_has_ended_only_when_it_has_exited():
    assert [key for key, after in TRANSITIONS.items() if after is State.ENDED] == [
        (State.ENDING, Speaker.PLUGIN, Said.EXIT)
    ]
