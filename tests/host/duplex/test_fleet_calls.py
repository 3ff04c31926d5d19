"""What the host asks of a running plugin, and every way in which the answer can be right or wrong."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from plughost.autopsy import CALLERS_LIMIT
from plughost.errors import LocalProtocolError, RemoteError
from plughost.failures import FailureCode, PluginFailure
from tests.host.duplex.fleet_lab import AT_ONCE, EVERY, QUICK, Lab, frame, framed, written

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

MIB16 = 16 * 1_048_576


@pytest.mark.requirement("duplex:cli:unchanged")
def test_a_command_gives_what_it_wrote_byte_for_byte_and_its_code(both: Lab) -> None:
    both.plugin(namespaces=("usage",))
    fleet = both.fleet()
    came = both.run(fleet.cli, "usage", ["3", "--today", "ü"])
    assert json.loads(bytes(came.stdout)) == {"namespace": "usage", "argv": ["3", "--today", "ü"]}
    assert bytes(came.stderr) == b"\xff\x00\r\n"
    assert came.exit_code == 3


def test_a_screen_comes_in_the_size_that_was_asked_for(both: Lab) -> None:
    both.plugin()
    fleet = both.fleet()
    came = both.run(fleet["puppet"].render, 80, 24)
    assert (came.buffer.width, came.buffer.height) == (80, 24)


def test_an_error_of_the_plugin_has_its_code_and_costs_nothing(both: Lab) -> None:
    both.plugin()
    fleet = both.fleet()
    with pytest.raises(RemoteError) as caught:
        both.run(fleet["puppet"].call, "no/such/method", {})
    assert (caught.value.plugin, caught.value.code) == ("puppet", "-32601")
    assert both.call("echo")
    assert both.status().failures == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda fleet: fleet["puppet"].cli("usage", "--today"),
        lambda fleet: fleet["puppet"].cli("usage", [1]),
        lambda fleet: fleet["puppet"].cli("usage", ["\ud800"]),
        lambda fleet: fleet["puppet"].cli("usage", [], timeout=0),
        lambda fleet: fleet["puppet"].cli("usage", [], timeout=float("nan")),
        lambda fleet: fleet["puppet"].cli("usage", [], timeout="5"),
        lambda fleet: fleet["puppet"].render(-1, 5),
        lambda fleet: fleet["puppet"].render(2**16, 5),
        lambda fleet: fleet["puppet"].render(True, 5),
        lambda fleet: fleet["puppet"].call("do/echo", object()),
        lambda fleet: fleet["puppet"].call("do/echo", {"x": float("nan")}),
        lambda fleet: fleet["puppet"].call(5),
        lambda fleet: fleet["puppet"].call("do/echo", "x" * MIB16),
        lambda fleet: fleet["puppet"].invoke("act", "text"),
        lambda fleet: fleet["puppet"].invoke("act", 5),
        lambda fleet: fleet["puppet"].invoke(5),
        lambda fleet: fleet["puppet"].key("main", "enter"),
        lambda fleet: fleet["puppet"].key(5, None),
        lambda fleet: fleet.publish("topic", "text"),
        lambda fleet: fleet.publish("topic", 5),
        lambda fleet: fleet.publish(5, b""),
        lambda fleet: fleet.publish("\ud800", b""),
        lambda fleet: fleet.publish("x" * 513, b""),
        lambda fleet: fleet.publish("topic", bytes(MIB16)),
        lambda fleet: fleet.cli("nobody's"),
        lambda fleet: fleet.invoke("nobody's"),
        lambda fleet: fleet["nobody"],
    ],
    ids=[
        "words in one text",
        "a word that is a number",
        "a word that is no text",
        "no time",
        "a time that is no number",
        "a time that is a text",
        "a screen below nothing",
        "a screen too wide",
        "a screen that is a boolean",
        "what JSON cannot say",
        "a number that is none",
        "a method that is a number",
        "more than a frame holds",
        "a payload that is a text",
        "a payload that is a number",
        "an action that is a number",
        "a key that is a text",
        "a screen that is a number",
        "a snapshot that is a text",
        "a snapshot that is a number",
        "a topic that is a number",
        "a topic that is no text",
        "a topic too long",
        "a snapshot too large",
        "an unknown namespace",
        "an unknown action",
        "an unknown plugin",
    ],
)
@pytest.mark.parametrize("running", [False, True], ids=["idle", "running"])
@pytest.mark.requirement("duplex:frame:sending")
def test_what_cannot_be_said_is_refused_here_and_costs_no_other_call_anything(
    both: Lab, call: Any, running: bool
) -> None:
    both.plugin()
    fleet = both.fleet()
    if running:
        both.call("echo")
    with pytest.raises(LocalProtocolError):
        both.run(call, fleet)
    assert both.call("echo", {"still": "there"}) == {"echo": {"still": "there"}}
    assert (both.status().starts, both.status().failures, both.status().pending) == (1, 0, 0)


# Frames

NO_FRAMES = {
    "another header": b"Content-Type: text/plain\r\n\r\n",
    "another header beside it": b"Content-Length: 2\r\nContent-Type: x\r\n\r\n{}",
    "no colon": b"Content-Length 5\r\n\r\n",
    "line feeds alone": b"Content-Length: 2\n\n{}",
    "a blank line first": b"\r\n\r\n",
    "twice": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a plus": b"Content-Length: +2\r\n\r\n{}",
    "a minus": b"Content-Length: -2\r\n\r\n{}",
    "an underscore": b"Content-Length: 1_0\r\n\r\n{}",
    "letters": b"Content-Length: two\r\n\r\n{}",
    "nothing": b"Content-Length: \r\n\r\n",
    "digits of another script": "Content-Length: ٢\r\n\r\n{}".encode(),
    "more than 64 bits": b"Content-Length: 99999999999999999999999\r\n\r\n",
    "one byte over the limit": b"Content-Length: 16777217\r\n\r\n",
    "a header block without an end": b"Content-Length: " + b" " * 8192,
    "bytes that are no text": b"\xff\xfe\xfd\r\n\r\n",
    "what was printed": b"Hello, I am a plugin!\n",
    "another framing": b"\x00\x00\x00\x02{}\r\n",
}


@pytest.mark.parametrize("data", NO_FRAMES.values(), ids=NO_FRAMES.keys())
def test_what_is_no_frame_ends_the_process_and_fails_every_call_once(both: Lab, data: bytes) -> None:
    both.plugin(**AT_ONCE)
    both.fleet()
    pid = both.pid()
    begun = both.begin(both.calling("hold"), both.calling("hold"))
    both.until(lambda: both.status().pending == 2)
    begun += both.begin(both.calling("write", written(data, answer=False)))
    came = both.wait_for(begun)
    assert [failure.code for failure in came] == [FailureCode.MALFORMED_RESPONSE] * 3
    assert all(failure.autopsy.exit is not None for failure in came)
    assert both.pid() != pid
    assert both.status().pending == 0


@pytest.mark.requirement("duplex:frame:refused")
def test_a_length_over_the_limit_is_refused_from_its_header_alone(both: Lab) -> None:
    both.plugin(frame_bytes=100_000, **AT_ONCE)
    both.fleet()
    large = {"topic": "t", "times": 1}
    assert both.call("publish-large", {**large, "size": 74_000}) == {}
    with pytest.raises(PluginFailure) as caught:
        both.call("publish-large", {**large, "size": 76_000})
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE


ODD_FRAMES = {
    "a name in capitals": b"CONTENT-LENGTH: 2\r\n\r\n{}",
    "a blank before the colon": b"Content-Length : 2\r\n\r\n{}",
    "zeros in front": b"Content-Length: 0000002\r\n\r\n{}",
    "an empty body": b"Content-Length: 0\r\n\r\n",
    "a body that is no text": framed(b"\xff\xff"),
    "a body that is no JSON": framed(b"{nonsense"),
    "an array": framed(b'[{"jsonrpc":"2.0","id":1,"method":"host/log"}]'),
    "a number": framed(b"5"),
    "null": framed(b"null"),
    "nested too deep": framed(b"[" * 100_000),
    "nested too deep inside": framed(b'{"jsonrpc":"2.0","method":"host/log","params":' + b"[" * 50_000),
    "another version": framed(b'{"jsonrpc":"1.0","id":1,"method":"host/log"}'),
    "no version": framed(b'{"id":1,"method":"host/log"}'),
    "UTF-16": framed('{"jsonrpc":"2.0","method":"host/log"}'.encode("utf-16")),
    "a method that is a number": frame(id=1, method=5),
    "an id that is a long text": frame(id="1" * 1_025, method="host/snapshot/get"),
    "an id that is a fraction": frame(id=1.5, method="host/snapshot/get"),
    "an id below 0": frame(id=-1, method="host/snapshot/get"),
    "an id over 64 bits": frame(id=2**64, method="host/snapshot/get"),
    "an id that is true": frame(id=True, method="host/snapshot/get"),
    "an id that is a list": frame(id=[1], method="host/snapshot/get"),
    "neither method nor id": frame(),
    "an answer without an id": frame(result={}),
    "an answer to nobody": frame(id=4711, result={}),
    "an answer to init again": frame(id=1, result={"name": "another", "version": "9.9.9"}),
    "an answer that is late by far": frame(id=2**64 - 1, error={"code": 1, "message": "?"}),
    "an error that is a text, for nobody": frame(id=4711, error="no"),
}


@pytest.mark.requirement("duplex:rpc:ignored", "duplex:rpc:answers")
@pytest.mark.parametrize("data", ODD_FRAMES.values(), ids=ODD_FRAMES.keys())
def test_a_frame_that_is_no_message_is_counted_and_the_conversation_goes_on(both: Lab, data: bytes) -> None:
    both.plugin()
    both.fleet()
    both.call("write", written(data))
    assert both.call("echo", {"x": 1}) == {"echo": {"x": 1}}
    assert (both.status().ignored, both.status().starts) == (1, 1)
    assert len(both.named("unheard")) == 1


def test_every_odd_frame_at_once_costs_no_call_its_answer(both: Lab) -> None:
    both.plugin()
    both.fleet()
    both.call("write", written(b"".join(ODD_FRAMES.values()) * 3))
    assert both.call("echo")
    assert both.status().ignored == 3 * len(ODD_FRAMES)
    assert len(both.named("unheard")) < 3 * len(ODD_FRAMES)  # told ever more rarely


@pytest.mark.requirement("duplex:frame:truncated")
@pytest.mark.parametrize(
    "data",
    [b"", b"Content-", b"Content-Length: 5\r\n", b"Content-Length: 5\r\n\r\n{}"],
    ids=["between frames", "in the name", "in the header", "in the body"],
)
def test_output_that_ends_is_a_crash_wherever_it_ends(both: Lab, data: bytes) -> None:
    both.plugin()
    both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.call("write-then-exit", written(data, code=0))
    assert caught.value.code is FailureCode.CRASHED
    assert caught.value.autopsy.exit is not None
    assert caught.value.autopsy.exit.code == 0


# Answers

WRONG_ANSWERS = {
    "an error that is a text": '{"jsonrpc":"2.0","id":$ID,"error":"no"}',
    "an error without a message": '{"jsonrpc":"2.0","id":$ID,"error":{"code":1}}',
    "an error whose code is a text": '{"jsonrpc":"2.0","id":$ID,"error":{"code":"1","message":"m"}}',
    "an error whose code has over 32 bits": '{"jsonrpc":"2.0","id":$ID,"error":{"code":2147483648,"message":"m"}}',
    "a result beside a wrong error": '{"jsonrpc":"2.0","id":$ID,"result":{},"error":true}',
}


@pytest.mark.parametrize("body", WRONG_ANSWERS.values(), ids=WRONG_ANSWERS.keys())
def test_an_error_that_is_none_fails_its_call_and_no_other(both: Lab, body: str) -> None:
    both.plugin()
    both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.call("answer", {"body": body})
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE
    assert both.call("echo")
    assert (both.status().starts, both.status().pending) == (1, 0)


def test_an_error_that_is_null_is_none(both: Lab) -> None:
    both.plugin()
    both.fleet()
    assert both.call("answer", {"body": '{"jsonrpc":"2.0","id":$ID,"result":5,"error":null}'}) == 5


def test_an_error_beside_a_result_is_an_error(both: Lab) -> None:
    both.plugin()
    both.fleet()
    with pytest.raises(RemoteError) as caught:
        both.call(
            "answer", {"body": '{"jsonrpc":"2.0","id":$ID,"result":5,"error":{"code":7,"message":"m"}}'}
        )
    assert caught.value.code == "7"


WRONG_RESULTS = {
    "null": "null",
    "a list": "[]",
    "a member missing": '{"stdout":"","stderr":""}',
    "a code that is a text": '{"stdout":"","stderr":"","exit_code":"0"}',
    "a code that is a fraction": '{"stdout":"","stderr":"","exit_code":0.5}',
    "a code over 32 bits": '{"stdout":"","stderr":"","exit_code":2147483648}',
    "bytes without padding": '{"stdout":"QQ","stderr":"","exit_code":0}',
    "bytes over 255": '{"stdout":[256],"stderr":"","exit_code":0}',
}


@pytest.mark.requirement("duplex:wire:strict")
@pytest.mark.parametrize("result", WRONG_RESULTS.values(), ids=WRONG_RESULTS.keys())
def test_a_result_that_is_not_the_methods_is_malformed_and_the_plugin_lives(both: Lab, result: str) -> None:
    both.plugin(namespaces=("usage",))
    fleet = both.fleet()
    body = json.dumps({"body": f'{{"jsonrpc":"2.0","id":$ID,"result":{result}}}'})
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet.cli, "usage", ["do", "answer", body])
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE
    assert both.call("echo")
    assert both.status().starts == 1


@pytest.mark.requirement("duplex:wire:bytes-read")
def test_bytes_may_come_as_an_array_of_integers(both: Lab) -> None:
    both.plugin(namespaces=("usage",))
    fleet = both.fleet()
    result = '{"stdout":[0,255],"stderr":"","exit_code":-1,"more":"of it"}'
    body = json.dumps({"body": f'{{"jsonrpc":"2.0","id":$ID,"result":{result}}}'})
    came = both.run(fleet.cli, "usage", ["do", "answer", body])
    assert (bytes(came.stdout), came.exit_code) == (b"\x00\xff", -1)


def test_a_second_answer_to_a_call_is_counted_and_ends_nobody_elses(both: Lab) -> None:
    both.plugin()
    both.fleet()
    body = '{"jsonrpc":"2.0","id":$ID,"result":"once"}'
    assert both.call("answer", {"body": body}) == "once"
    twice = frame(id=2, result="twice")  # init is 1
    both.call("write", written(twice * 3))
    assert both.status().ignored == 3


def test_a_second_answer_that_is_short_after_a_long_one_is_counted_too(both: Lab) -> None:
    both.plugin()
    both.fleet()
    long = "once" * 1_000
    body = f'{{"jsonrpc":"2.0","id":$ID,"result":"{long}"}}'
    assert both.call("answer", {"body": body}) == long
    both.call("write", written(frame(id=2, result="twice")))
    assert both.status().ignored == 1
    assert both.call("echo")


@pytest.mark.parametrize("params", [object(), "x" * 5_000], ids=["no JSON", "too long"])
def test_a_late_answer_after_a_call_that_could_not_be_made_is_dropped(both: Lab, params: Any) -> None:
    both.plugin(frame_bytes=4_096)
    fleet = both.fleet()
    both.pid()
    with pytest.raises(PluginFailure):
        both.call("hold", timeout=0.05)
    with pytest.raises(LocalProtocolError):
        both.run(fleet["puppet"].call, "do/echo", params)
    assert both.call("release") == {"released": 1}
    assert both.status().ignored == 1


@pytest.mark.parametrize("calls", [1, 2])
def test_an_answer_over_a_small_limit_is_refused_by_either_way(both: Lab, calls: int) -> None:
    both.plugin(frame_bytes=500, **QUICK)
    both.fleet()
    for _ in range(calls):
        both.call("echo")
    with pytest.raises(PluginFailure) as caught:
        both.call("long", {"size": 800})
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE


@pytest.mark.requirement("duplex:rpc:over-once")
def test_a_call_that_takes_too_long_is_over_and_its_late_answer_is_dropped(both: Lab) -> None:
    both.plugin()
    both.fleet()
    both.pid()
    with pytest.raises(PluginFailure) as caught:
        both.call("hold", timeout=0.05)
    assert (caught.value.code, caught.value.autopsy.limit) == (FailureCode.TIMEOUT, CALLERS_LIMIT)
    assert both.call("release") == {"released": 1}
    both.call("echo")
    assert (both.status().ignored, both.status().starts, both.status().pending) == (1, 1, 0)


@pytest.mark.parametrize(
    "faults", [("render-hangs",), ("init-never", "render-hangs")], ids=["asked", "not started"]
)
def test_a_caller_who_gave_too_little_time_is_not_sent_to_the_limits_of_the_plugin(
    both: Lab, faults: tuple[str, ...]
) -> None:
    both.plugin("puppet", *faults, **QUICK | {"handshake_s": 600.0})
    fleet = both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet["puppet"].render, 8, 2, timeout=0.05)
    assert (caught.value.code, caught.value.autopsy.limit) == (FailureCode.TIMEOUT, CALLERS_LIMIT)
    assert "limits." not in caught.value.hint


def test_a_render_that_takes_too_long_is_shown_as_wedged_until_the_next_answer(both: Lab) -> None:
    both.plugin("puppet", "render-hangs", render_s=0.05)
    fleet = both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet["puppet"].render, 8, 2)
    assert (caught.value.code, caught.value.autopsy.limit) == (FailureCode.TIMEOUT, "limits.render_s")
    assert both.status().wedged
    assert [each.what.method for each in both.named("wedged")] == ["plugin/render"]
    both.call("echo")
    assert not both.status().wedged
    assert len(both.named("recovered")) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"id": 3, "result": {}', "not_a_message"),
        (b'{"jsonrpc": "2.0", "result": [%b0]}' % (b"0," * 100_000), "too_many_values"),
    ],
    ids=["unfinished", "overfull"],
)
def test_who_waited_for_an_answer_is_told_that_something_came_and_was_dropped(
    both: Lab, body: bytes, reason: str
) -> None:
    both.plugin("puppet", "render-hangs", render_s=0.05, values=1_000)
    fleet = both.fleet()
    both.call("write", written(framed(body)))
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet["puppet"].render, 8, 2)
    assert caught.value.code is FailureCode.TIMEOUT
    assert f"{reason} 1" in caught.value.hint
    assert "plughost check" in caught.value.hint


def test_one_that_leaves_three_screens_unanswered_in_a_row_has_failed(both: Lab) -> None:
    both.plugin("puppet", "render-hangs", render_s=0.03, **QUICK, backoff_s=[0.001])
    fleet = both.fleet()
    for _ in range(3):
        with pytest.raises(PluginFailure):
            both.run(fleet["puppet"].render, 8, 2)
    both.until(lambda: both.status().failures == 1)
    assert both.status().last_failure.code is FailureCode.TIMEOUT


def test_three_slow_screens_do_not_end_one_that_is_busy_with_a_command(both: Lab) -> None:
    both.plugin("puppet", "render-hangs", render_s=0.03, **QUICK)
    fleet = both.fleet()
    pid = both.pid()
    pipe = both.pipe("holding")
    begun = both.begin(both.calling("hold", {"pipe": str(pipe)}))
    both.meet(pipe)
    for _ in range(5):
        with pytest.raises(PluginFailure):
            both.run(fleet["puppet"].render, 8, 2)
    both.call("release")
    assert both.wait_for(begun) == [{"late": True}]
    assert both.pid() == pid


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_one_that_does_not_read_is_a_timeout_for_every_call(both: Lab) -> None:
    both.plugin(write_s=0.1, **QUICK)
    both.fleet()
    both.call("block")
    big = both.calling("echo", {"x": "y" * 4_000_000})  # more than a pipe holds
    begun = both.begin(big, both.calling("echo"), both.calling("echo"))
    came = both.wait_for(begun)
    assert [failure.code for failure in came] == [FailureCode.TIMEOUT] * 3
    assert {failure.autopsy.limit for failure in came} == {"limits.write_s"}


def test_a_call_of_16_mib_and_its_answer_come_through(both: Lab) -> None:
    both.plugin()
    both.fleet()
    text = "x" * (MIB16 - 200)
    assert both.call("echo", {"x": text}) == {"echo": {"x": text}}


def test_one_that_closes_its_input_and_stays_fails_the_calls_that_wait_for_it(both: Lab) -> None:
    both.plugin(commands=("act",), **QUICK)
    fleet = both.fleet()
    begun = both.begin(lambda: fleet.invoke("act", b"hold"))  # which may take for ever
    both.until(lambda: both.status().pending == 1)
    both.call("close", {"fd": 0})
    (failure,) = both.wait_for(begun)
    assert isinstance(failure, PluginFailure)
    assert (failure.code, failure.autopsy.delivered) == (FailureCode.CRASHED, True)


def test_one_that_closes_its_input_and_stays_has_failed_when_it_is_next_called(both: Lab) -> None:
    both.plugin(**QUICK)
    both.fleet()
    both.call("close", {"fd": 0, "pipe": str(both.pipe("closed"))})
    both.meet(both.pipe("closed"))
    with contextlib.suppress(PluginFailure):  # unless that was noticed before: then there is another process
        both.call("echo")
    both.until(lambda: both.status().failures == 1)
    assert both.status().last_failure.code is FailureCode.CRASHED


def test_one_that_closes_its_output_and_stays_fails_its_calls(both: Lab) -> None:
    both.plugin(**QUICK)
    both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.call("close", {"fd": 1})
    assert caught.value.code is FailureCode.CRASHED
