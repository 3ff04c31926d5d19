"""Every call is over once: ours with an answer, a timeout or a fault, the plugin's with what the host says."""

import pytest

from plughost.contracts.base import Channel, Fault
from plughost.contracts.duplex.messages import HandleEventParams
from plughost.contracts.duplex.news import Answered, Called, Ignored, Told
from plughost.contracts.duplex.states import State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from plughost.messages.jsonrpc import ErrorResponse, Reason, Response
from tests.contracts.duplex.wire import NEW, frame, framed

ANSWER = frame(id=2, result={})


def reasons(talked):
    return [news.reason for news in talked.told(Ignored)]


# Ours


@pytest.mark.requirement("duplex:rpc:over-once")
def test_answers_are_told_apart_by_their_ids_whatever_their_order(talk):
    talked = talk().run()
    first, second, third = (talked.call(f"plugin/{number}") for number in range(3))
    talked.hear(frame(id=third, result=3) + frame(id=first, error={"code": -32001, "message": "no"}))
    assert len(talked.session.calls) == 1
    talked.hear(frame(id=second, result=None))
    answers = talked.answers()
    assert isinstance(answers[first], ErrorResponse)
    assert (answers[first].code, answers[first].message) == (-32001, "no")
    assert bytes(answers[third].result) == b"3"
    assert bytes(answers[second].result) == b"null"
    assert len(talked.session.calls) == 0
    assert {news.call_id: news.method for news in talked.told(Answered)}[second] == "plugin/1"


@pytest.mark.requirement("duplex:rpc:answers")
@pytest.mark.parametrize(
    ("id", "reason"),
    [(0, Reason.UNKNOWN_ID), (1, Reason.LATE), (3, Reason.UNKNOWN_ID), (2**64 - 1, Reason.UNKNOWN_ID)],
)
def test_an_answer_to_another_id_is_dropped_and_the_call_goes_on(talk, id, reason):
    talked = talk().run()
    call_id = talked.call()
    assert call_id == 2
    talked.hear(frame(id=id, result={}))
    assert reasons(talked) == [reason]
    assert talked.answers() == {}
    assert talked.outcome is State.RUNNING
    assert set(talked.hear(frame(id=call_id, result={})).answers()) == {call_id}


@pytest.mark.requirement("duplex:rpc:answers")
def test_a_second_answer_is_dropped(talk):
    talked = talk().run()
    call_id = talked.call()
    talked.hear(frame(id=call_id, result=1) + frame(id=call_id, result=2))
    assert bytes(talked.answers()[call_id].result) == b"1"
    assert reasons(talked) == [Reason.LATE]


@pytest.mark.requirement("duplex:rpc:answers")
def test_an_answer_to_a_call_that_was_not_sent_yet_is_dropped(talk):
    talked = talk().run()
    call_id = talked.call(collect=False)
    talked.session.receive_data(ANSWER, Channel.STDOUT)
    assert len(talked.session.calls) == 1
    talked.collect()
    assert reasons(talked) == [Reason.UNKNOWN_ID]
    assert set(talked.hear(ANSWER).answers()) == {call_id}


@pytest.mark.requirement("duplex:rpc:answers")
@pytest.mark.parametrize("error", [5, {}, {"code": "x", "message": "m"}, {"code": 2**31, "message": "m"}])
def test_an_error_that_is_none_fails_its_call_and_no_other(talk, error):
    talked = talk().run()
    first, second = talked.call(), talked.call()
    talked.hear(frame(id=first, error=error))
    assert talked.answers()[first].code is FailureCode.MALFORMED_RESPONSE
    assert reasons(talked) == [Reason.WRONG_ERROR]
    assert second not in talked.answers()
    assert talked.outcome is State.RUNNING


@pytest.mark.parametrize("written", [True, False])
def test_a_call_that_nobody_waits_for_is_not_told_of(talk, written):
    talked = talk().run()
    call_id = talked.call(timeout_s=1.0, collect=written)
    talked.session.forget(call_id)
    talked.session.forget(call_id)
    assert talked.session.next_deadline() is None
    assert ("plugin/render" in talked.collect().methods()) is written
    talked.hear(frame(id=call_id, result={})).exit(1)
    assert talked.answers() == {}


# Deadlines


@pytest.mark.requirement("duplex:rpc:over-once")
def test_each_call_has_its_own_deadline_and_a_late_answer_is_dropped(talk):
    talked = talk().run().tick(100.0)
    slow, quick, endless = talked.call(timeout_s=60.0), talked.call(timeout_s=2.0), talked.call()
    assert talked.session.next_deadline() == 102.0
    assert talked.tick(101.999).answers() == {}
    timed_out = talked.tick(102.0).answers()
    assert set(timed_out) == {quick}
    assert (timed_out[quick].code, timed_out[quick].stage) == (FailureCode.TIMEOUT, Stage.EXECUTE)
    assert talked.session.next_deadline() == 160.0
    talked.hear(frame(id=quick, result={}))
    assert reasons(talked) == [Reason.LATE]
    assert set(talked.tick(1e9).answers()) == {slow, quick}
    assert talked.outcome is State.RUNNING
    assert set(talked.hear(frame(id=endless, result={})).answers()) == {slow, quick, endless}


def test_one_late_tick_finds_every_call_that_is_overdue(talk):
    talked = talk().run()
    calls = [talked.call(timeout_s=seconds) for seconds in (3.0, 1.0, 2.0)]
    assert list(talked.tick(2.5).answers()) == [calls[1], calls[2]]


def test_a_call_made_later_counts_from_then(talk):
    talked = talk().run()
    talked.session.call("plugin/render", {}, 2.0, now=50.0)
    assert talked.session.next_deadline() == 52.0


def test_a_call_that_was_never_sent_times_out_too_and_is_not_sent_any_more(talk):
    talked = talk(handshake_s=10.0).begin()
    call_id = talked.call(timeout_s=1.0)
    talked.tick(1.0)
    assert [(news.call_id, news.sent) for news in talked.told(Answered)] == [(call_id, False)]
    assert talked.hear(frame(id=1, result=NEW)).methods() == ["plugin/init"]


# Ends


@pytest.mark.requirement("duplex:rpc:over-once", "duplex:exit:crash")
@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda talked: talked.exit(0), FailureCode.CRASHED),
        (lambda talked: talked.end_output(), FailureCode.CRASHED),
        (lambda talked: talked.hear(b"Content-Length: 9\r\n\r\n{").end_output(), FailureCode.CRASHED),
        (lambda talked: talked.hear(b"oops\n"), FailureCode.MALFORMED_RESPONSE),
        (lambda talked: talked.shutdown().exit(0), FailureCode.CRASHED),
        (lambda talked: talked.shutdown().end_output(), FailureCode.CRASHED),
        (lambda talked: talked.session.receive_broken_pipe() or talked.collect(), FailureCode.CRASHED),
    ],
    ids=["exit", "eof", "cut", "garbage", "shutdown", "eof at shutdown", "broken pipe"],
)
def test_every_call_under_way_gets_the_fault_that_ended_the_process(talk, end, code):
    talked = talk().run()
    calls = [talked.call(timeout_s=seconds) for seconds in (5.0, None, 1.0)]
    answers = end(talked).answers()
    assert list(answers) == calls
    assert {outcome.code for outcome in answers.values()} == {code}
    assert len(talked.session.calls) == 0


def test_a_call_to_a_process_that_has_failed_fails_with_its_fault(talk):
    talked = talk().run().exit(3)
    call_id = talked.call()
    assert talked.answers() == {call_id: talked.session.fault}
    assert isinstance(talked.session.fault, Fault)


def test_it_is_told_whether_the_plugin_may_have_seen_a_call(talk):
    talked = talk().run()
    talked.call()
    talked.call(collect=False)
    talked.exit(1)
    assert [news.sent for news in talked.told(Answered)] == [True, False]


# Too long


@pytest.mark.requirement("duplex:frame:sending")
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_call_that_does_not_fit_a_frame_is_refused_and_costs_nothing_else(talk, over):
    talked = talk(frame_bytes=400).run()
    before = talked.call("plugin/before")
    empty = len(b'{"jsonrpc":"2.0","id":3,"method":"m","params":""}')
    params = "x" * (400 - empty + over)
    if over > 0:
        with pytest.raises(LocalProtocolError):
            talked.call("m", params=params)
        with pytest.raises(LocalProtocolError):
            talked.session.notify("m", params + "xxxxxxx")
        assert talked.call("plugin/after") == before + 1
    else:
        assert talked.call("m", params=params) == before + 1
    talked.hear(frame(id=before, result={}) + frame(id=before + 1, result={}))
    assert all(isinstance(outcome, Response) for outcome in talked.answers().values())
    assert len(talked.answers()) == 2


@pytest.mark.requirement("duplex:frame:sending")
def test_a_result_that_does_not_fit_is_answered_with_an_error(talk):
    talked = talk(frame_bytes=300).run().hear(frame(id=5, method="host/fs/read_file"))
    assert not talked.session.answer(5, {"bytes": b"x" * 300})
    assert talked.collect().written[-1]["error"]["code"] == -32603
    with pytest.raises(LocalProtocolError):
        talked.session.answer(5, {})


# The plugin's


@pytest.mark.requirement("duplex:rpc:never-both")
def test_its_calls_are_told_and_answered_by_id_in_any_order(talk):
    talked = talk().run().hear(frame(id=1, method="a", params=[1]) + frame(id=0, method="b"))
    assert [(news.id, news.method) for news in talked.told(Called)] == [(1, "a"), (0, "b")]
    talked.session.refuse(0, -32001, "capability denied: network", {"host": "h"})
    talked.session.answer(1, None)
    assert talked.collect().written[-2:] == [
        {
            "jsonrpc": "2.0",
            "id": 0,
            "error": {"code": -32001, "message": "capability denied: network", "data": {"host": "h"}},
        },
        {"jsonrpc": "2.0", "id": 1, "result": None},
    ]


def test_the_same_number_may_be_under_way_both_ways(talk):
    talked = talk().run()
    call_id = talked.call()
    talked.hear(frame(id=call_id, method="host/snapshot/get"))
    assert len(talked.session.calls) == 1
    talked.session.answer(call_id, {})
    talked.collect().hear(frame(id=call_id, result={}))
    assert set(talked.answers()) == {call_id}


def test_a_call_is_answered_once_and_its_id_may_then_come_again(talk):
    talked = talk().run().hear(frame(id=7, method="a"))
    talked.session.answer(7, 1)
    for again in (talked.session.answer, lambda call, text: talked.session.refuse(call, 1, text)):
        with pytest.raises(LocalProtocolError):
            again(7, "x")
    assert len(talked.hear(frame(id=7, method="b")).told(Called)) == 2


@pytest.mark.requirement("duplex:rpc:ignored")
def test_a_call_under_the_id_of_one_under_way_is_dropped(talk):
    talked = talk().run().hear(frame(id=7, method="a") + frame(id=7, method="b"))
    assert [news.method for news in talked.told(Called)] == ["a"]
    assert reasons(talked) == [Reason.REPEATED_ID]


@pytest.mark.requirement("duplex:rpc:flood")
def test_one_who_makes_too_many_calls_is_refused_and_then_ignored(talk):
    talked = talk(reverse_calls=2).run()
    talked.session.call("plugin/render", {})
    assert talked.step()  # it does not read: nothing more is written
    talked.session.receive_data(b"".join(frame(id=number, method="a") for number in range(9)), Channel.STDOUT)
    talked.listen()
    assert [news.id for news in talked.told(Called)] == [0, 1]
    assert talked.session.ignored == {Reason.TOO_MANY: 5}
    talked.session.receive_sent()
    talked.collect()
    assert [(message["id"], message["error"]["code"]) for message in talked.written[2:]] == [
        (2, -32603),
        (3, -32603),
    ]
    talked.session.answer(0, {})
    talked.collect().hear(frame(id=20, method="a"))
    assert [news.id for news in talked.told(Called)] == [0, 1, 20]


# What is no message


@pytest.mark.requirement("duplex:rpc:ignored")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b'[{"jsonrpc":"2.0","id":2,"result":{}}]',
        b'{"id":2,"result":{}}',
        b'{"jsonrpc":"2.0","id":"2","result":{}}',
        b'{"jsonrpc":"2.0","id":2.0,"result":{}}',
        b'{"jsonrpc":"2.0","id":-2,"method":"a"}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_message_is_dropped_unanswered_and_the_conversation_goes_on(talk, body):
    talked = talk().run()
    call_id = talked.call()
    written = len(talked.written)
    talked.hear(framed(body))
    assert len(talked.told(Ignored)) == 1
    assert talked.answers() == {}
    assert len(talked.written) == written
    assert set(talked.hear(frame(id=call_id, result={})).answers()) == {call_id}


@pytest.mark.requirement("duplex:rpc:ignored")
def test_a_flood_of_nonsense_is_counted_and_told_rarely(talk):
    talked = talk().run().hear(framed(b"[]") * 1000)
    assert talked.session.ignored == {Reason.NOT_A_MESSAGE: 1000}
    assert [news.count for news in talked.told(Ignored)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def test_a_flood_of_logs_is_told_whole_and_in_order(talk):
    said = b"".join(frame(method="host/log", params=number) for number in range(500))
    talked = talk().run().hear(said)
    assert [int(bytes(news.params)) for news in talked.told(Told)] == list(range(500))


def test_parameters_may_be_typed_messages_with_bytes(talk):
    talked = talk().run()
    talked.session.notify("plugin/handle_event", HandleEventParams("t", b"\0\1"))
    assert talked.collect().written[-1]["params"] == {"topic": "t", "payload": "AAE="}
