"""Every state and everything that can happen in it: one outcome each, and the host's own mistakes are raised."""

import pytest

from plughost.contracts.base import Channel, EndWanted, FramePassed, HandshakeDone, Rung, StateChanged
from plughost.contracts.duplex.lanes import Lane
from plughost.contracts.duplex.messages import InitParams
from plughost.contracts.duplex.news import Called, InitDone, Told
from plughost.contracts.duplex.states import State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from tests.contracts.duplex.wire import INIT, NAME, NEW, OLD, VERSION, frame, framed

CRASHED, MALFORMED, TIMEOUT = FailureCode.CRASHED, FailureCode.MALFORMED_RESPONSE, FailureCode.TIMEOUT
HANDSHAKE = (FailureCode.HANDSHAKE_FAILED, Stage.HANDSHAKE)

ROADS = {
    State.STARTED: lambda talk: talk,
    State.INITIALISING: lambda talk: talk.begin(),
    State.RUNNING: lambda talk: talk.run(),
    State.SHUTTING_DOWN: lambda talk: talk.run().shutdown(),
    State.CLOSED: lambda talk: talk.run().shutdown().exit(),
    State.FAILED: lambda talk: talk.run().exit(7),
}
INPUTS = {
    "an answer to init": lambda talk: talk.hear(frame(id=1, result=NEW)),
    "an error to init": lambda talk: talk.hear(frame(id=1, error={"code": -32003, "message": "no"})),
    "a bad error to init": lambda talk: talk.hear(frame(id=1, error=5)),
    "an answer to nothing": lambda talk: talk.hear(frame(id=99, result={})),
    "a request": lambda talk: talk.hear(frame(id=1, method="host/log")),
    "a notification": lambda talk: talk.hear(frame(method="host/log")),
    "no message": lambda talk: talk.hear(framed(b"[]")),
    "an empty body": lambda talk: talk.hear(framed(b"")),
    "one byte": lambda talk: talk.hear(b"C"),
    "garbage": lambda talk: talk.hear(b"Hello world\n"),
    "text on stderr": lambda talk: talk.hear(b"Hello world\n", Channel.STDERR),
    "the end of stdout": lambda talk: talk.end_output(),
    "the end of stderr": lambda talk: talk.end_output(Channel.STDERR),
    "an exit": lambda talk: talk.exit(0),
    "a deadline": lambda talk: talk.tick(1e6),
    "a moment": lambda talk: talk.tick(0.001),
    "a broken pipe": lambda talk: talk.session.receive_broken_pipe(),
    "a written frame": lambda talk: talk.session.receive_sent(),
    "begin": lambda talk: talk.begin(),
    "a call": lambda talk: talk.call(),
    "a key": lambda talk: talk.session.notify("plugin/handle_key", {}),
    "shutdown": lambda talk: talk.shutdown(),
    "an answer of ours to nothing": lambda talk: talk.session.answer(9, {}),
}
OURS = "our fault"  # raised as LocalProtocolError, and nothing has changed
# What is not in here leaves the state as it is.
OUTCOMES = {
    (State.STARTED, "garbage"): (MALFORMED, Stage.LAUNCH),
    (State.STARTED, "the end of stdout"): (CRASHED, Stage.LAUNCH),
    (State.STARTED, "an exit"): (CRASHED, Stage.LAUNCH),
    (State.STARTED, "a broken pipe"): (CRASHED, Stage.LAUNCH),
    (State.STARTED, "begin"): State.INITIALISING,
    (State.STARTED, "shutdown"): OURS,
    (State.STARTED, "an answer of ours to nothing"): OURS,
    (State.INITIALISING, "an answer to init"): State.RUNNING,
    (State.INITIALISING, "an error to init"): HANDSHAKE,
    (State.INITIALISING, "a bad error to init"): HANDSHAKE,
    (State.INITIALISING, "garbage"): (MALFORMED, Stage.HANDSHAKE),
    (State.INITIALISING, "the end of stdout"): (CRASHED, Stage.HANDSHAKE),
    (State.INITIALISING, "an exit"): (CRASHED, Stage.HANDSHAKE),
    (State.INITIALISING, "a deadline"): (TIMEOUT, Stage.HANDSHAKE),
    (State.INITIALISING, "a broken pipe"): (CRASHED, Stage.HANDSHAKE),
    (State.INITIALISING, "begin"): OURS,
    (State.INITIALISING, "shutdown"): State.SHUTTING_DOWN,
    (State.INITIALISING, "an answer of ours to nothing"): OURS,
    (State.RUNNING, "garbage"): (MALFORMED, Stage.IDLE),
    (State.RUNNING, "the end of stdout"): (CRASHED, Stage.IDLE),
    (State.RUNNING, "an exit"): (CRASHED, Stage.IDLE),
    (State.RUNNING, "a broken pipe"): (CRASHED, Stage.IDLE),
    (State.RUNNING, "begin"): OURS,
    (State.RUNNING, "shutdown"): State.SHUTTING_DOWN,
    (State.RUNNING, "an answer of ours to nothing"): OURS,
    (State.SHUTTING_DOWN, "garbage"): (MALFORMED, Stage.TEARDOWN),
    (State.SHUTTING_DOWN, "an exit"): State.CLOSED,
    (State.SHUTTING_DOWN, "begin"): OURS,
    (State.SHUTTING_DOWN, "a call"): OURS,
    (State.SHUTTING_DOWN, "an answer of ours to nothing"): OURS,
    (State.CLOSED, "begin"): OURS,
    (State.CLOSED, "a call"): OURS,
    (State.FAILED, "begin"): OURS,
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
def test_in_each_state_each_input_has_one_outcome(talk, state, given):
    talked = ROADS[state](talk())
    assert talked.session.state is state
    before, expected = talked.outcome, OUTCOMES.get((state, given))
    if expected == OURS:
        with pytest.raises(LocalProtocolError):
            INPUTS[given](talked)
    else:
        INPUTS[given](talked)
    assert talked.outcome == (before if expected in (None, OURS) else expected)
    assert talked.session.settled == (talked.session.state in (State.CLOSED, State.FAILED))


# Init


@pytest.mark.requirement("duplex:init:first")
@pytest.mark.parametrize("answer", [OLD, NEW, {**OLD, **NEW}], ids=["old", "new", "both"])
def test_init_comes_first_and_either_dialect_answers_it(talk, answer):
    talked = talk(name=NAME, version=VERSION).run(answer)
    assert [message["method"] for message in talked.written] == ["plugin/init"]
    assert talked.written[0]["id"] == 1
    assert talked.written[0]["params"] == {
        "manifest_path": INIT.manifest_path,
        "granted_capabilities": ["event_bus"],
        "abi_version": 2,
    }
    assert [news.introduction.name for news in talked.told(InitDone)] == [NAME]
    assert HandshakeDone(NAME, VERSION) in talked.events
    assert talked.session.next_deadline() is None


@pytest.mark.requirement("duplex:init:mismatch")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"name": NAME},
        {**OLD, "name": "other"},
        {**OLD, "version": "2.0.1"},
        {**OLD, "abi_version": 3},
        {**OLD, "abi_version": "2"},
        {**NEW, "abi_version": 1},
    ],
)
def test_one_that_is_not_who_it_should_be_has_failed_the_handshake(talk, answer):
    talked = talk(name=NAME, version=VERSION).run(answer)
    assert talked.outcome == HANDSHAKE
    assert EndWanted(Rung.TERMINATE) in talked.events
    assert not talked.told(InitDone)


@pytest.mark.requirement("duplex:init:deadline")
def test_the_time_for_init_is_up_when_it_is_up_and_not_before(talk):
    talked = talk(handshake_s=10.0).begin()
    assert talked.session.next_deadline() == 10.0
    assert talked.tick(9.999).outcome is State.INITIALISING
    assert talked.tick(10.0).outcome == (TIMEOUT, Stage.HANDSHAKE)
    assert talked.session.fault.limit == "limits.handshake_s"


@pytest.mark.requirement("duplex:init:served")
def test_what_it_asks_and_tells_before_it_has_answered_init_is_served(talk):
    talked = talk().begin()
    talked.hear(frame(method="host/snapshot/publish", params={}))
    talked.hear(frame(id=1, method="host/snapshot/subscribe", params={"topic": "t"}))
    assert [news.method for news in talked.told(Told)] == ["host/snapshot/publish"]
    assert [(news.id, bytes(news.params)) for news in talked.told(Called)] == [(1, b'{"topic": "t"}')]
    talked.session.answer(1, {})
    assert talked.collect().written[-1] == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert talked.hear(frame(id=1, result=NEW)).outcome is State.RUNNING


@pytest.mark.requirement("duplex:init:served")
def test_even_before_it_was_told_anything_it_is_served(talk):
    talked = talk().hear(frame(method="host/snapshot/publish", params={}))
    assert talked.told(Told)
    assert talked.run().outcome is State.RUNNING


@pytest.mark.requirement("duplex:init:first")
def test_calls_keys_and_events_wait_until_init_is_answered(talk):
    talked = talk()
    talked.session.notify("plugin/handle_event", {})
    talked.begin()
    talked.call()
    talked.session.notify("plugin/handle_key", {}, Lane.KEY)
    assert talked.collect().methods() == ["plugin/init"]
    talked.hear(frame(id=1, result=NEW))
    assert talked.methods() == ["plugin/init", "plugin/handle_key", "plugin/handle_event", "plugin/render"]


@pytest.mark.requirement("duplex:init:secrets")
def test_the_configuration_is_sent_and_not_shown(talk):
    talked = talk().begin(InitParams("/m", (), 2, {"token": "s3cret"}))
    assert talked.written[0]["params"]["config"] == {"token": "s3cret"}
    shown = [event.frame for event in talked.events if isinstance(event, FramePassed)]
    assert len(shown) == 1
    assert b"s3cret" not in shown[0]
    assert b"plugin/init" in shown[0]


@pytest.mark.requirement("duplex:frame:sending")
def test_an_init_that_does_not_fit_a_frame_is_our_own_fault_and_nothing_has_happened(talk):
    talked = talk(frame_bytes=300)
    with pytest.raises(LocalProtocolError):
        talked.begin(InitParams("/m", (), 2, "x" * 300))
    assert talked.run().outcome is State.RUNNING


# Shutdown


def ends(talked):
    return [event.rung for event in talked.events if isinstance(event, EndWanted)]


@pytest.mark.requirement("duplex:exit:ladder")
def test_shutdown_is_a_request_and_its_answer_closes_the_input(talk):
    talked = talk().run().shutdown()
    assert talked.written[-1] == {"jsonrpc": "2.0", "id": 2, "method": "plugin/shutdown", "params": {}}
    assert ends(talked) == []
    talked.hear(frame(id=2, result={}))
    assert ends(talked) == [Rung.CLOSE_STDIN]
    assert talked.session.next_deadline() is None
    assert talked.end_output().exit(0).outcome is State.CLOSED
    assert ends(talked) == [Rung.CLOSE_STDIN]


@pytest.mark.requirement("duplex:exit:ladder")
@pytest.mark.parametrize("error", [{"code": -32601, "message": "no"}, {"code": -32602, "message": "params"}])
def test_an_error_is_an_answer_to_shutdown_too(talk, error):
    assert ends(talk().run().shutdown().hear(frame(id=2, error=error))) == [Rung.CLOSE_STDIN]


@pytest.mark.requirement("duplex:exit:ladder")
def test_silence_after_shutdown_closes_the_input_when_its_time_is_up(talk):
    talked = talk(ack_s=1.0).run().tick(5.0).shutdown()
    assert talked.session.next_deadline() == 6.0
    assert ends(talked.tick(5.9)) == []
    assert ends(talked.tick(6.0)) == [Rung.CLOSE_STDIN]
    assert talked.outcome is State.SHUTTING_DOWN
    assert talked.session.next_deadline() is None


@pytest.mark.requirement("duplex:exit:ladder")
@pytest.mark.parametrize("code", [0, 1])
def test_an_exit_after_shutdown_is_a_close_whatever_its_status(talk, code):
    assert talk().run().shutdown().exit(code).outcome is State.CLOSED


def test_a_plugin_that_never_answered_init_can_be_shut_down(talk):
    talked = talk().begin()
    call_id = talked.call()
    talked.shutdown()
    assert talked.methods() == ["plugin/init", "plugin/shutdown"]
    assert talked.answers()[call_id].code is CRASHED
    talked.hear(frame(id=1, result=NEW))
    assert talked.outcome is State.SHUTTING_DOWN
    assert not talked.told(InitDone)
    assert talked.tick(1e6).outcome is State.SHUTTING_DOWN
    assert talked.exit(0).outcome is State.CLOSED


def test_calls_that_wait_are_written_before_shutdown_and_what_else_waits_is_not(talk):
    talked = talk().run()
    talked.session.notify("plugin/handle_event", {})
    talked.call("plugin/render", collect=False)
    talked.session.notify("plugin/handle_event", {})
    talked.shutdown()
    assert talked.methods() == ["plugin/init", "plugin/render", "plugin/shutdown"]
    assert not talked.session.notify("plugin/handle_event", {})


def test_one_that_is_shut_down_may_still_answer_and_ask(talk):
    talked = talk().run()
    call_id = talked.call()
    talked.shutdown().hear(frame(id=call_id, result=5) + frame(id=8, method="host/snapshot/get"))
    assert bytes(talked.answers()[call_id].result) == b"5"
    talked.session.answer(8, {})
    assert talked.collect().written[-1]["id"] == 8


def test_nothing_is_written_once_the_input_is_to_be_closed(talk):
    talked = talk().run()
    talked.shutdown().hear(frame(id=2, result={}) + frame(id=8, method="host/snapshot/get"))
    before = len(talked.written)
    talked.session.answer(8, {})
    assert len(talked.collect().written) == before


def test_output_that_is_cut_off_while_it_is_shut_down_is_no_fault(talk):
    talked = talk().run().shutdown().hear(b"Content-Length: 50\r\n\r\n{").end_output()
    assert talked.outcome is State.SHUTTING_DOWN
    assert ends(talked) == [Rung.CLOSE_STDIN]
    assert talked.exit(0).outcome is State.CLOSED


def test_garbage_while_the_input_is_closed_ends_it_at_once(talk):
    talked = talk().run().shutdown().hear(frame(id=2, result={})).hear(b"garbage\n")
    assert talked.outcome == (MALFORMED, Stage.TEARDOWN)
    assert ends(talked) == [Rung.CLOSE_STDIN, Rung.TERMINATE]


# Ends


@pytest.mark.requirement("duplex:exit:crash")
@pytest.mark.parametrize("code", [0, 1])
def test_an_exit_that_nobody_asked_for_is_a_crash_whatever_its_status(talk, code):
    talked = talk().run().exit(code)
    assert talked.outcome == (CRASHED, Stage.IDLE)
    assert ends(talked) == [Rung.CLOSE_STDIN]


def test_what_a_process_says_after_it_failed_is_not_heard(talk):
    talked = talk().run().exit(1).hear(frame(method="host/log")).end_output().exit(0).tick(1e6)
    assert talked.told(Told) == []
    assert talked.session.next_deadline() is None
    assert talked.session.data_to_send() == []


def test_an_answer_to_one_that_is_gone_is_dropped(talk):
    talked = talk().run().hear(frame(id=3, method="host/fs/read_file")).exit(1)
    assert talked.session.answer(3, {"bytes": ""})
    talked.session.refuse(3, -32602, "no")
    assert talked.collect().methods() == ["plugin/init"]


def test_every_move_is_told(talk):
    talked = talk().run().shutdown().exit(0)
    moves = [event.after for event in talked.events if isinstance(event, StateChanged)]
    assert moves == ["initialising", "running", "shutting down", "closed"]
