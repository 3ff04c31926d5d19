"""What the table of states promises of this contract, and that a session holds to it in every state."""

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel
from plughost.contracts.conversation import Speaker
from plughost.contracts.envelope import states
from plughost.contracts.envelope.states import TRANSITIONS, Said, State
from plughost.errors import LocalProtocolError
from tests.contracts.envelope.wire import REQUEST, SUCCESS
from tests.contracts.tables import reachable

ROADS = {
    State.STARTED: lambda talk: talk,
    State.WORKING: lambda talk: talk.tell(),
    State.ANSWERED: lambda talk: talk.tell().hear(SUCCESS),
    State.RETIRING: lambda talk: talk.retire(),
    State.CLOSED: lambda talk: talk.tell().hear(SUCCESS).exit(),
    State.FAILED: lambda talk: talk.exit(1),
}
HAPPENINGS = {
    "retire": lambda session: session.retire(),
    "a reply": lambda session: session.receive_data(SUCCESS, Channel.STDOUT),
    "garbage": lambda session: session.receive_data(b"garbage\n", Channel.STDOUT),
    "a blank line": lambda session: session.receive_data(b"\n", Channel.STDOUT),
    "stderr": lambda session: session.receive_data(b"log\n", Channel.STDERR),
    "the end of output": lambda session: session.receive_eof(Channel.STDOUT),
    "exit 0": lambda session: session.receive_exit(ExitStatus(0)),
    "exit 1": lambda session: session.receive_exit(ExitStatus(1)),
    "a signal": lambda session: session.receive_exit(ExitStatus(None, 9)),
    "a tick": lambda session: session.receive_tick(1.0),
    "a late tick": lambda session: session.receive_tick(1e6),
    "a broken pipe": lambda session: session.receive_broken_pipe(),
    "all was sent": lambda session: session.receive_sent(),
}


def test_a_worker_is_told_once_answers_once_and_only_after_it_was_told():
    assert [key for key, after in TRANSITIONS.items() if after is State.WORKING] == [
        (State.STARTED, Speaker.HOST, Said.REQUEST)
    ]
    assert [before for before, _, said in TRANSITIONS if said is Said.REPLY] == [State.WORKING]
    assert State.WORKING not in reachable(states, State.ANSWERED)
    assert State.STARTED not in reachable(states, State.WORKING)


def test_a_conversation_closes_only_by_an_exit():
    assert {said for (_, _, said), after in TRANSITIONS.items() if after is State.CLOSED} == {Said.EXIT}


@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
def test_every_state_has_a_road_to_it(state, talk):
    assert ROADS[state](talk()).session.state is state


@pytest.mark.parametrize("happening", HAPPENINGS)
@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
def test_whatever_happens_in_a_state_is_in_the_table_or_changes_nothing(state, happening, talk):
    session = ROADS[state](talk()).session
    HAPPENINGS[happening](session)
    followers = {after for (before, _, _), after in TRANSITIONS.items() if before is state}
    assert session.state in followers | {state}


@pytest.mark.parametrize(
    "state",
    [each for each in State if each not in (State.STARTED, State.FAILED)],
    ids=lambda state: state.value,
)
def test_a_request_is_our_own_fault_in_every_state_but_the_first(state, talk):
    session = ROADS[state](talk()).session
    with pytest.raises(LocalProtocolError):
        session.tell(REQUEST, 0.0)
    assert session.state is state
    assert session.data_to_send() == []
    assert session.next_event() is None
