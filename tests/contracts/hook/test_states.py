"""What the table of states promises of this contract."""

from plughost.contracts.conversation import Speaker
from plughost.contracts.hook import states
from plughost.contracts.hook.states import TRANSITIONS, Said, State
from tests.contracts.tables import reachable


def test_a_process_is_asked_as_often_as_the_host_likes_and_closed_only_from_idleness():
    assert State.ASKED in reachable(states, State.READY)
    assert State.READY in reachable(states, State.ASKED)
    assert [key for key, after in TRANSITIONS.items() if after is State.CLOSED] == [
        (State.RETIRING, Speaker.PLUGIN, Said.EXIT)
    ]
    assert [key for key, after in TRANSITIONS.items() if after is State.RETIRING] == [
        (State.READY, Speaker.HOST, Said.GOODBYE)
    ]


def test_a_result_is_only_possible_after_a_request_and_a_request_only_while_none_is_under_way():
    assert [before for (before, _, said) in TRANSITIONS if said is Said.RESULT] == [State.ASKED]
    assert [before for (before, _, said) in TRANSITIONS if said is Said.REQUEST] == [State.READY]
