"""What the table of states promises of this contract."""

from plughost.contracts.conversation import Speaker
from plughost.contracts.execute import states
from plughost.contracts.execute.states import TRANSITIONS, Said, State
from tests.contracts.tables import reachable


def test_no_conversation_executes_twice():
    assert State.EXECUTING not in reachable(states, State.EXECUTING) - {State.EXECUTING}
    assert State.READY not in reachable(states, State.EXECUTING)
    assert [key for key, after in TRANSITIONS.items() if after is State.EXECUTING] == [
        (State.READY, Speaker.HOST, Said.REQUEST)
    ]


def test_an_answer_is_only_possible_after_a_request():
    assert [before for (before, _, said) in TRANSITIONS if said is Said.RESPONSE] == [State.EXECUTING]
