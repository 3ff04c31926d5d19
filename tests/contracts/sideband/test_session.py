"""Requests of a worker with ids and marks: nothing is guessed, nothing is lost, nothing is mixed."""

import pytest

from plughost.contracts.base import Channel, FramePassed, HandshakeDone
from plughost.contracts.sideband.input import PIECE_BYTES
from plughost.contracts.sideband.items import Image, Notice, Prompt, Stream, Text
from plughost.contracts.sideband.messages import LINE_BYTES, Reason
from plughost.contracts.sideband.news import (
    Completed,
    How,
    InterruptTold,
    Outcome,
    Ready,
    SignalWanted,
    Waiting,
)
from plughost.contracts.sideband.session import SidebandSession
from plughost.contracts.sideband.states import State
from plughost.contracts.sideband.terms import Terms
from plughost.errors import LocalProtocolError
from tests.contracts.sideband.wire import FOREIGN, MARK, PNG, TOKEN, hello, image, line

requirement = pytest.mark.requirement

OUT, ERR = Stream.STDOUT, Stream.STDERR


def end(request_id=1, **members):
    return line("request_end", request_id=request_id, **{"marked": True, **members})


def ask(prompt="name? ", request_id=1):
    return line("readline_start", prompt=prompt, request_id=request_id)


def read(prompt="name? ", text="Ada\n", request_id=1):
    return line("readline_result", prompt=prompt, line=text, request_id=request_id)


# Introduction


@requirement("sideband:hello:before-input")
def test_nothing_is_sent_before_the_worker_has_introduced_itself(talk):
    worker = talk()
    assert worker.state is State.STARTING
    for verb in (lambda: worker.run(), lambda: worker.answer("x"), lambda: worker.interrupt()):
        with pytest.raises(LocalProtocolError):
            verb()
    worker.show(b"warming up\n")
    assert (worker.told, worker.typed) == ([], b"")
    worker.tell(hello())
    assert worker.state is State.IDLE
    (ready,) = worker.heard(Ready)
    assert (ready.backend.language, ready.backend.plughost.pid) == ("python", 7)
    assert HandshakeDone("python", "1.0") in worker.events
    assert worker.session.take() == (Text(OUT, "warming up\n", None),)


@requirement("sideband:hello:before-input")
def test_a_second_introduction_changes_nothing(ours):
    ours.tell(FOREIGN)
    assert ours.ignored == [Reason.REPEATED]
    assert ours.session.backend.language == "python"
    assert ours.run().told[-1]["request_id"] == 1


# Requests


@requirement("sideband:request:announced", "sideband:transport:order")
@pytest.mark.parametrize("text", ["1 + 1", "1 + 1\n", "", "\n", "é€𝄞\x00\t", "a\r\n", "a\r", "x\n\n"])
def test_what_is_announced_is_exactly_what_is_written_and_ends_its_line(ours, text):
    ours.session.run(text)
    assert ours.step() == [Channel.CONTROL_OUT, Channel.STDIN]
    written = text if text.endswith("\n") else text + "\n"
    assert ours.typed == written.encode()
    assert ours.told == [{"type": "stdin_write", "text": written, "request_id": 1, "mark": TOKEN}]


@requirement("sideband:request:announced")
@pytest.mark.parametrize(
    ("plughost", "members"),
    [
        ({}, {"request_id": 1, "mark": TOKEN}),
        ({"marks": False}, {"request_id": 1}),
        ({"request_ids": False}, {}),
    ],
    ids=["ids and marks", "ids", "neither"],
)
def test_a_worker_is_told_ids_and_marks_only_if_it_knows_them(talk, plughost, members):
    worker = talk().tell(hello(**plughost)).tick(1.0).run("x\n")
    assert worker.told == [{"type": "stdin_write", "text": "x\n", **members}]


@requirement("sideband:request:marked", "sideband:request:once")
def test_a_request_is_over_when_its_end_and_both_marks_have_come_in_whatever_order(talk):
    out, err, told = (MARK, Channel.STDOUT), (MARK, Channel.STDERR), (end(), Channel.CONTROL_IN)
    for order in ([out, err, told], [out, told, err], [told, out, err], [told, err, out], [err, told, out]):
        worker = talk().begin().run()
        for data, channel in order:
            assert not worker.over
            assert worker.state in (State.RUNNING, State.SETTLING)
            worker.session.receive_data(data, channel)
            worker.collect()
        assert worker.over == {1: Completed(1, How.MARKED, finished=True, error=False, prompt="")}
        assert worker.state is State.IDLE
        assert worker.session.next_deadline() is None


@requirement("sideband:request:marked")
def test_time_alone_does_not_end_a_request(ours):
    ours.run().mark().tick(1e9)
    assert ours.state is State.RUNNING
    assert ours.session.next_deadline() is None


@requirement("sideband:request:marked")
def test_every_cut_of_everything_leads_to_the_same(talk):
    output = "tö".encode() + MARK + b"later"
    told = ask() + read() + end(error=True)
    for at in range(max(len(output), len(told)) + 1):
        worker = talk().begin().run("x")
        worker.show(output[:at]).tell(told[:at]).show(output[at:]).tell(told[at:]).show(MARK, Channel.STDERR)
        assert worker.over == {1: Completed(1, How.MARKED, finished=True, error=True, prompt="")}
        texts = [item for item in worker.session.take() if isinstance(item, Text)]
        assert texts == [Text(OUT, "tö", 1), Text(OUT, "later", None)]


@requirement("sideband:request:marked")
@pytest.mark.parametrize("channels", [(Channel.STDOUT,), (Channel.STDERR,), (Channel.STDOUT, Channel.STDERR)])
def test_the_end_of_a_stream_is_as_good_as_its_mark(ours, channels):
    ours.run().tell(end())
    for channel in (Channel.STDOUT, Channel.STDERR):
        assert not ours.over
        ours.close(channel) if channel in channels else ours.show(MARK, channel)
    assert ours.over[1].how is How.MARKED
    ours.run().tell(end(2))
    for channel in {Channel.STDOUT, Channel.STDERR} - set(channels):
        ours.show(MARK, channel)
    assert ours.over[2].how is How.MARKED


@requirement("sideband:request:unmarked")
def test_a_mark_that_was_promised_and_does_not_come_is_counted_and_not_waited_for_for_ever(ours):
    ours.run().show(b"a" + MARK).tell(end())
    assert ours.session.next_deadline() == 2.0
    ours.at(1.5).show(b"b", Channel.STDERR)
    assert ours.session.next_deadline() == 3.5
    ours.tick(3.4)
    assert not ours.over
    ours.tick(3.5)
    assert ours.over[1].how is How.SETTLED
    assert ours.ignored == [Reason.UNMARKED]


@requirement("sideband:request:unmarked")
def test_a_mark_that_comes_too_late_is_cut_out_and_ends_nothing():
    tokens = iter(["a" * 32, "b" * 32])
    session = SidebandSession(Terms(), 0.0, token=lambda: next(tokens))
    session.receive_data(hello(), Channel.CONTROL_IN)
    session.run("x")
    session.receive_data(end(1), Channel.CONTROL_IN)
    session.receive_tick(2.0)
    session.run("y")
    for channel in (Channel.STDOUT, Channel.STDERR):
        session.receive_data(b"old\x1e" + b"a" * 32 + b"\x1enew\x1e" + b"b" * 31, channel)
    session.receive_data(end(2), Channel.CONTROL_IN)
    assert session.state is State.SETTLING
    for channel in (Channel.STDOUT, Channel.STDERR):
        session.receive_data(b"b\x1e", channel)
    assert session.state is State.IDLE
    texts = [(item.text, item.request_id) for item in session.take()]
    assert texts == [("old", None), ("new", 2)] * 2


@requirement("sideband:request:settled")
@pytest.mark.parametrize("members", [{"marked": False}, {}], ids=["said", "not said"])
def test_a_request_that_was_not_marked_after_all_settles(ours, members):
    ours.run().tell(line("request_end", request_id=1, **members)).show(b"late")
    ours.tick(0.014)
    assert not ours.over
    ours.tick(0.015)
    assert ours.over[1].how is How.SETTLED
    assert ours.text(of=1) == "late"


@requirement("sideband:output:background")
def test_what_comes_behind_a_mark_or_while_nothing_runs_belongs_to_no_request(ours):
    ours.show(b"1").run().show(b"2" + MARK + b"3").show(b"4", Channel.STDERR)
    ours.show(b"5").show(MARK + b"6", Channel.STDERR).tell(end()).show(b"7")
    assert [(item.text, item.request_id) for item in ours.session.take()] == [
        ("1", None),
        ("2", 1),
        ("3", None),
        ("4", 1),
        ("5", None),
        ("6", None),
        ("7", None),
    ]


@requirement("sideband:output:cut")
def test_a_mark_that_is_seen_a_second_time_is_text(ours):
    ours.run().mark().tell(end())
    ours.show(MARK)
    assert ours.text() == MARK.decode()


@requirement("sideband:request:late")
def test_what_is_said_of_another_request_is_counted_and_moves_nothing(ours):
    ours.run().mark().tell(end(1)).run()
    news = len(ours.news)
    ours.tell(end(1)).tell(ask(request_id=1)).tell(read(request_id=1)).tell(end(3)).tell(line("request_end"))
    assert ours.state is State.RUNNING
    assert ours.session.ignored == {Reason.LATE: 3, Reason.UNKNOWN_ID: 2}
    assert not any(isinstance(each, Completed | Waiting) for each in ours.news[news:])
    ours.mark().tell(end(2) + end(2)).tell(end(2))
    assert list(ours.over) == [1, 2]


@requirement("sideband:request:late")
def test_a_second_end_of_the_same_request_is_counted(ours):
    ours.run().tell(end(error=True)).tell(end()).mark()
    assert ours.ignored == [Reason.REPEATED]
    assert ours.over[1].error


def test_ids_rise_and_are_the_callers_if_he_likes(ours):
    assert ours.session.run("x", 5) == 5
    ours.collect().mark().tell(end(5))
    for wrong in (5, 4, 0, -1, True, 1.5, "6"):
        with pytest.raises(LocalProtocolError):
            ours.session.run("x", wrong)
    assert ours.session.run("x") == 6
    assert [told["request_id"] for told in ours.collect().told] == [5, 6]


@requirement("sideband:request:busy")
def test_input_while_a_request_runs_is_refused_and_nothing_of_it_is_sent(ours):
    ours.run("first")
    told, typed = list(ours.told), ours.typed
    stages = [
        lambda: ours,
        lambda: ours.interrupt(),
        lambda: ours.tell(line("interrupted", outcome="delivered", request_id=1)),
        lambda: ours.tell(ask()),
        lambda: ours.tell(end()),
    ]
    for stage in stages:
        stage()
        with pytest.raises(LocalProtocolError):
            ours.session.run("second")
        ours.collect()
    assert [message for message in ours.told if message["type"] == "stdin_write"] == told
    assert ours.typed == typed
    ours.mark().run("third")
    assert ours.typed == b"first\nthird\n"


@requirement("sideband:line:sending")
@pytest.mark.parametrize(
    "text", ["x" * LINE_BYTES, "\x01" * (LINE_BYTES // 6), "\ud800"], ids=["long", "escaped", "odd"]
)
def test_input_that_does_not_fit_a_line_is_refused_and_costs_nothing(ours, text):
    with pytest.raises(LocalProtocolError):
        ours.session.run(text)
    assert ours.collect().told == []
    assert ours.state is State.IDLE
    assert ours.run("x").told[0]["request_id"] == 1


def test_large_input_is_handed_out_in_pieces_and_a_message_never_waits_behind_it(ours):
    ours.session.run("x" * (3 * PIECE_BYTES))
    assert ours.step() == [Channel.CONTROL_OUT, Channel.STDIN]
    assert ours.step() == []
    ours.session.interrupt()
    assert ours.step() == [Channel.CONTROL_OUT]
    assert len(ours.typed) == PIECE_BYTES
    ours.session.receive_sent()
    ours.collect()
    assert ours.typed == b"x" * (3 * PIECE_BYTES) + b"\n"


@requirement("sideband:request:pending")
def test_what_is_taken_while_a_request_runs_is_not_shown_again_and_its_end_is_told_all_the_same(ours):
    ours.run().show(b"one")
    assert ours.text() == "one"
    assert ours.text() == ""
    ours.show(b"two").mark().tell(end())
    assert ours.text() == "two"
    assert list(ours.over) == [1]


# Input


@requirement("sideband:input:waiting")
def test_a_request_that_reads_waits_for_input_and_that_is_told_with_its_prompt(ours):
    ours.run().show(b"hi").tell(ask())
    assert ours.state is State.WAITING
    assert ours.heard(Waiting) == [Waiting(1, "name? ")]
    assert ours.session.take() == (Text(OUT, "hi", 1), Prompt("name? ", 1))
    assert ours.session.reading.prompt == "name? "
    assert ours.session.next_deadline() is None


def test_a_secret_is_told_as_one_and_the_next_question_is_none(ours):
    ours.run().tell(line("readline_start", prompt="pin: ", request_id=1, secret=True))
    assert ours.session.take() == (Prompt("pin: ", 1, secret=True),)
    ours.session.answer("x")
    ours.tell(read("pin: ", "x\n")).tell(ask())
    assert ours.session.take() == (Prompt("name? ", 1),)


@requirement("sideband:input:answered")
def test_an_answer_is_announced_under_the_same_id_without_a_mark(ours):
    ours.run("code").tell(ask()).answer("Ada")
    assert ours.state is State.RUNNING
    assert ours.told[1:] == [{"type": "stdin_write", "text": "Ada\n", "request_id": 1}]
    assert ours.typed == b"code\nAda\n"
    ours.tell(read()).mark().tell(end())
    assert ours.over[1].prompt == ""


@requirement("sideband:input:answered")
def test_an_answer_is_refused_while_nothing_waits_for_one(ours):
    for stage in (lambda: ours, lambda: ours.run(), lambda: ours.tell(end())):
        stage()
        with pytest.raises(LocalProtocolError):
            ours.session.answer("Ada")
    assert [message["text"] for message in ours.collect().told] == ["1 + 1\n"]


def test_an_answer_may_follow_code_that_is_not_all_written(ours):
    ours.session.run("x" * PIECE_BYTES)
    ours.step()
    ours.session.receive_data(ask(), Channel.CONTROL_IN)
    ours.session.answer("Ada")
    ours.session.receive_sent()
    ours.collect()
    assert ours.typed == b"x" * PIECE_BYTES + b"\nAda\n"


@requirement("sideband:input:waiting")
def test_a_read_that_is_over_when_it_is_heard_of_is_not_waited_for(ours):
    ours.run().tell(ask() + read() + ask("") + read(""))
    assert ours.state is State.RUNNING
    assert ours.heard(Waiting) == []


def test_a_line_that_comes_by_itself_ends_the_wait(ours):
    ours.run().tell(ask()).tell(read())
    assert ours.state is State.RUNNING
    ours.tell(ask("again? "))
    assert [news.prompt for news in ours.heard(Waiting)] == ["name? ", "again? "]


def test_a_request_may_end_while_it_waits(ours):
    ours.run().tell(ask()).tell(end()).mark()
    assert list(ours.over) == [1]


# Interrupts


@requirement("sideband:interrupt:sent", "sideband:interrupt:told", "sideband:interrupt:withdrawn")
def test_an_interrupt_names_the_request_and_its_outcome_is_told(ours):
    ours.run().interrupt()
    assert ours.told[1:] == [{"type": "interrupt", "request_id": 1}]
    assert ours.state is State.INTERRUPTING
    assert ours.heard(InterruptTold) == []
    ours.tell(line("interrupted", request_id=1, outcome="delivered"))
    assert ours.heard(InterruptTold) == [InterruptTold(1, Outcome.DELIVERED)]
    assert ours.heard(SignalWanted) == []
    assert ours.state is State.RUNNING
    ours.show(b"KeyboardInterrupt\n", Channel.STDERR).mark().tell(end(error=True))
    assert ours.over[1] == Completed(1, How.MARKED, finished=True, error=True, prompt="")


@requirement("sideband:interrupt:told")
def test_an_interrupt_of_nothing_is_told_too_and_moves_nothing(ours):
    ours.interrupt()
    assert ours.told == [{"type": "interrupt"}]
    ours.tell(line("interrupted", outcome="idle"))
    assert ours.heard(InterruptTold) == [InterruptTold(None, Outcome.IDLE)]
    assert ours.state is State.IDLE


def test_an_interrupt_that_comes_after_the_end_does_not_touch_the_next_request(ours):
    ours.run().interrupt().mark().tell(end()).run()
    ours.tell(line("interrupted", request_id=1, outcome="idle"))
    assert ours.state is State.RUNNING
    assert ours.heard(InterruptTold) == [InterruptTold(1, Outcome.IDLE)]


def test_a_request_that_waits_can_be_interrupted_and_asks_no_more(ours):
    ours.run().tell(ask()).interrupt()
    assert ours.session.reading.prompt == ""
    ours.tell(line("interrupted", request_id=1, outcome="delivered"))
    assert ours.state is State.RUNNING
    with pytest.raises(LocalProtocolError):
        ours.answer("Ada")
    ours.mark().tell(end())
    assert ours.over[1].prompt == ""


def test_a_read_that_crossed_the_interrupt_is_not_waited_for_but_a_new_one_is(ours):
    ours.run().interrupt().tell(ask("old? "))
    assert ours.state is State.INTERRUPTING
    ours.tell(line("interrupted", request_id=1, outcome="delivered"))
    assert ours.state is State.RUNNING
    ours.tell(ask("really? "))
    assert ours.heard(Waiting) == [Waiting(1, "really? ")]
    ours.tell(line("interrupted", request_id=1, outcome="delivered"))  # the answer to a second one
    assert ours.state is State.RUNNING


def test_an_interrupt_may_be_repeated_and_may_come_while_output_settles(ours):
    ours.run().interrupt().interrupt().tell(end()).interrupt()
    assert [message["type"] for message in ours.told] == ["stdin_write", *["interrupt"] * 3]
    ours.mark()
    assert ours.state is State.IDLE


# Pictures and notices


@requirement("sideband:output:order")
def test_pictures_and_notices_stand_where_they_came(ours):
    ours.run().show(b"a").tell(image(request_id=1)).show(b"b")
    ours.session.note("still running")
    assert ours.session.take() == (
        Text(OUT, "a", 1),
        Image("plot-1", "image/png", PNG, True, 1),
        Text(OUT, "b", 1),
        Notice("still running", 1),
    )


@requirement("sideband:image:late")
@pytest.mark.parametrize(
    ("members", "owner"),
    [({"request_id": 1}, 1), ({}, None), ({"request_id": 9}, None)],
    ids=["late", "none", "odd"],
)
def test_a_picture_of_another_request_or_of_none_is_shown(ours, members, owner):
    ours.run().mark().tell(end()).tell(image(**members))
    assert [item.request_id for item in ours.session.take()] == [owner]


def test_whoever_watches_sees_every_message_both_ways(ours):
    ours.run().tell(end())
    frames = [event.frame for event in ours.events if isinstance(event, FramePassed)]
    assert [frame[:26] for frame in frames] == [
        b'{"type": "backend_info", "',
        b'{"type":"stdin_write","tex',
        b'{"type": "request_end", "r',
    ]
