"""Bytes that are no frame end the conversation; frames are read however they are cut."""

import pytest

from plughost.contracts.base import EndWanted, FramePassed, Rung
from plughost.contracts.duplex.news import Told
from plughost.contracts.duplex.states import State
from plughost.failures import FailureCode, Stage
from tests.contracts.duplex.wire import NEW, frame, framed

LOG = b'{"jsonrpc":"2.0","method":"host/log"}'
N = len(LOG)


@pytest.mark.requirement("duplex:frame:refused")
@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 5\n\n",
        b"Content-Type: text\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length 5\r\n\r\n",
        b"\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +5\r\n\r\n",
        b"Content-Length: 5_0\r\n\r\n",
        b"Content-Length: abc\r\n\r\n",
        b"Content-Length:\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length: 16777217\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: \xff\r\n\r\n",
        b"x" * 8193,
        b"Content-Length:" + b" " * 8192 + b"5\r\n\r\n",
        b"Traceback (most recent call last):\n",
    ],
    ids=range(16),
)
def test_what_is_no_frame_ends_the_conversation(talk, data):
    talked = talk().run().hear(data + b"12345")
    assert talked.outcome == (FailureCode.MALFORMED_RESPONSE, Stage.IDLE)
    assert EndWanted(Rung.TERMINATE) in talked.events
    assert FramePassed("in", (data + b"12345")[:400]) in talked.events


@pytest.mark.requirement("duplex:frame:refused")
@pytest.mark.parametrize(
    "header",
    [
        b"content-length: %d\r\n\r\n",
        b"Content-Length : %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Length: 000%d \r\n\r\n",
        b"Content-Length: %d\r\r\n\r\n",
    ],
    ids=range(5),
)
def test_a_header_may_be_spelled_in_several_ways(talk, header):
    talked = talk().run().hear(header % N + LOG)
    assert [news.method for news in talked.told(Told)] == ["host/log"]
    assert talked.outcome is State.RUNNING


@pytest.mark.requirement("duplex:frame:refused")
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_the_limit_of_a_body_is_the_last_that_is_taken(talk, over):
    talked = talk(frame_bytes=300).run().hear(framed(LOG + b" " * (300 + over - N)))
    assert bool(talked.told(Told)) is (over <= 0)
    assert (talked.outcome is State.RUNNING) is (over <= 0)


def test_a_length_over_the_limit_is_refused_before_the_body_comes(talk):
    assert talk().run().hear(b"Content-Length: 16777217\r\n\r\n").session.fault is not None
    assert talk().run().hear(b"Content-Length: 16777216\r\n\r\n").session.fault is None


@pytest.mark.parametrize("size", [1, 2, 7])
def test_frames_are_read_in_pieces_of_any_size(talk, size):
    talked = talk().begin()
    data = frame(method="before") + frame(id=1, result=NEW) + framed(LOG) * 2
    for start in range(0, len(data), size):
        talked.hear(data[start : start + size])
    assert [news.method for news in talked.told(Told)] == ["before", "host/log", "host/log"]
    assert talked.outcome is State.RUNNING


def test_several_frames_may_come_at_once_and_what_came_before_garbage_is_heard(talk):
    talked = talk().begin().hear(frame(id=1, result=NEW) + framed(LOG) + b"garbage\n" + framed(LOG))
    assert len(talked.told(Told)) == 1
    assert talked.outcome == (FailureCode.MALFORMED_RESPONSE, Stage.IDLE)


@pytest.mark.requirement("duplex:frame:truncated")
def test_the_end_of_the_output_is_a_crash_at_every_position_of_a_frame(talk):
    whole = framed(LOG)
    for cut in range(len(whole) + 1):
        talked = talk().run().hear(whole[:cut]).end_output()
        assert talked.outcome == (FailureCode.CRASHED, Stage.IDLE)
        assert len(talked.told(Told)) == (cut == len(whole))
        assert EndWanted(Rung.CLOSE_STDIN) in talked.events


def test_text_on_stdout_is_shown_and_explained(talk):
    talked = talk().run().hear(b"Hello world\n")
    assert FramePassed("in", b"Hello world\n") in talked.events
    assert "stderr" in talked.session.fault.hint


@pytest.mark.parametrize(
    "data",
    [b"Content-Length: 65\n\n{}", b"Content-Type: x\r\nContent-Length: 2\r\n\r\n{}", b'{"jsonrpc":"2.0"}\n'],
    ids=["line feeds", "another header", "lines"],
)
def test_a_header_that_is_none_is_explained_and_breaks_no_limit(talk, data):
    fault = talk().run().hear(data).session.fault
    assert "CRLF" in fault.hint
    assert fault.limit is None


def test_a_frame_that_is_too_large_has_its_limit_and_the_usual_advice(talk):
    fault = talk().run().hear(b"Content-Length: 16777217\r\n\r\n").session.fault
    assert (fault.limit, fault.hint) == ("limits.frame_bytes", None)


def test_a_frame_that_is_handed_out_is_shown_without_its_header(talk):
    talked = talk().run()
    talked.call("plugin/render", params={})
    assert talked.events[-1] == FramePassed(
        "out", b'{"jsonrpc":"2.0","id":2,"method":"plugin/render","params":{}}'
    )
