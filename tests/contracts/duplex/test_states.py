"""What the table of states promises of this contract."""

from plughost.contracts.conversation import Speaker
from plughost.contracts.duplex.states import TRANSITIONS, Said, State


def test_it_runs_only_once_init_is_answered():
    assert [key for key, after in TRANSITIONS.items() if after is State.RUNNING] == [
        (State.INITIALISING, Speaker.PLUGIN, Said.INIT)
    ]


def test_it_closes_only_after_it_was_told_to_end():
    assert [key for key, after in TRANSITIONS.items() if after is State.CLOSED] == [
        (State.SHUTTING_DOWN, Speaker.PLUGIN, Said.EXIT)
    ]
