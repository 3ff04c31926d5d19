"""A message that would take many times its bytes is passed over while it arrives, and whoever waits for it is told."""

import tracemalloc

import pytest

from plughost.contracts.base import Channel
from plughost.contracts.duplex.inbox import ANYTHING
from plughost.contracts.duplex.messages import FRAME_BYTES, VALUES
from plughost.contracts.duplex.news import Called
from plughost.contracts.duplex.states import State
from plughost.failures import FailureCode, Stage
from plughost.messages.jsonrpc import Reason, Response
from tests.contracts.duplex.wire import frame, framed

MALFORMED = FailureCode.MALFORMED_RESPONSE
PIECE = 65_536


def filled(head, unit, tail, size):
    return head + b",".join([unit] * ((size - len(head) - len(tail) + 1) // (len(unit) + 1))) + tail


def hear(talked, data):
    """Hear *data* as a pipe gives it."""
    for start in range(0, len(data), PIECE):
        talked.session.receive_data(data[start : start + PIECE], Channel.STDOUT)
    talked.listen()
    return talked


def call(talked, method="do"):
    call_id = talked.session.call(method, {})
    talked.step()
    talked.session.receive_sent()
    return b"%d" % call_id


SHAPES = {
    "lists": b"[]",
    "objects": b"{}",
    "members": b'{"":0}',
    "numbers": b"1",
    "texts": b'""',
    "towers": b"[" * 200 + b"]" * 200,
}
ENDS = {
    "result": (b'{"jsonrpc":"2.0","id":%b,"result":[', b"]}"),
    "result, sorted": (b'{"id":%b,"jsonrpc":"2.0","result":[', b"]}"),
    "error": (b'{"jsonrpc":"2.0","id":%b,"error":{"code":1,"message":"m","data":[', b"]}}"),
    "error, sorted": (b'{"error":{"code":1,"data":[', b'],"message":"m"},"id":%b,"jsonrpc":"2.0"}'),
}


@pytest.mark.requirement("duplex:frame:values")
@pytest.mark.parametrize(
    ("ends", "shape"), [("result", shape) for shape in SHAPES] + [(ends, "numbers") for ends in ENDS]
)
def test_an_answer_of_too_many_values_fails_its_call_and_costs_a_fraction_of_its_bytes(talk, ends, shape):
    talked = talk().run()
    head, tail = (each % (call(talked),) if b"%b" in each else each for each in ENDS[ends])
    data = framed(filled(head, SHAPES[shape], tail, FRAME_BYTES))
    tracemalloc.start()
    try:
        hear(talked, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (fault,) = talked.answers().values()
    assert (fault.code, fault.stage, fault.limit) == (MALFORMED, Stage.EXECUTE, "limits.values")
    assert peak < FRAME_BYTES
    assert talked.outcome is State.RUNNING
    another = call(talked)
    hear(talked, frame(id=int(another), result={}))
    assert isinstance(talked.answers()[int(another)], Response)


@pytest.mark.requirement("duplex:frame:values")
def test_an_answer_that_may_be_anything_has_a_fraction_of_the_values_of_one_with_a_type(talk):
    talked = talk(values=40_000).run()
    for method, count, passes in (
        ("do", 10_000, True), ("do", 10_100, False), ("plugin/render", 39_900, True), ("plugin/render", 40_100, False),
    ):  # fmt: skip
        call_id = call(talked, method)
        blank = b" " * PIECE  # or it is not large
        hear(
            talked,
            framed(
                b'{"jsonrpc":"2.0","id":%b,"result":[%b]%b}'
                % (call_id, b",".join([b"1"] * (count - 10)), blank)
            ),
        )
        came = talked.answers()[int(call_id)]
        assert isinstance(came, Response) is passes
    assert VALUES // ANYTHING == 262_144


@pytest.mark.requirement("duplex:frame:values")
def test_a_request_of_too_many_values_is_refused_and_a_notification_is_dropped(talk):
    talked = talk().run()
    hear(
        talked, framed(filled(b'{"jsonrpc":"2.0","id":1,"method":"m","params":[', b"[]", b"]}", FRAME_BYTES))
    )
    assert [(reply["id"], reply["error"]["code"]) for reply in talked.step()] == [(1, -32602)]
    hear(talked, framed(filled(b'{"jsonrpc":"2.0","method":"m","params":[', b"[]", b"]}", FRAME_BYTES)))
    assert talked.told(Called) == []
    assert talked.session.ignored == {Reason.TOO_MANY_VALUES: 1}


@pytest.mark.requirement("duplex:frame:values")
def test_a_large_text_is_one_value_whatever_stands_in_it(talk):
    talked = talk().run()
    call_id = call(talked)
    text = b'\\",[{:' * 1_000_000
    hear(talked, framed(b'{"jsonrpc":"2.0","id":%b,"result":"%b"}' % (call_id, text)))
    assert isinstance(talked.answers()[int(call_id)], Response)


@pytest.mark.requirement("duplex:frame:values")
@pytest.mark.parametrize("wide", ["😀".encode(), rb"\ud83d\ude00"], ids=["utf-8", "escaped"])
@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize(
    "around",
    [
        b'{"jsonrpc":"2.0","id":%b,"error":{"code":1,"message":"%b"}}',
        b'{"error":{"code":1,"message":"%b"},"id":%b,"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":%b,"result":"%b"}',
    ],
    ids=["error", "error, sorted", "text"],
)
def test_an_answer_whose_text_takes_far_more_memory_than_its_bytes_fails_its_call(
    talk, around, is_last, wide
):
    talked = talk().run()
    call_id, letters = call(talked), b"[" * (FRAME_BYTES - 200)
    given = (call_id, letters + wide if is_last else wide + letters)
    data = framed(around % (given if around.startswith(b'{"jsonrpc"') else given[::-1]))
    tracemalloc.start()
    try:
        hear(talked, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (fault,) = talked.answers().values()
    assert fault.code is MALFORMED
    assert peak < 2.5 * FRAME_BYTES
    assert talked.outcome is State.RUNNING


@pytest.mark.requirement("duplex:frame:values")
@pytest.mark.parametrize("cut", range(1, 12))
def test_a_large_message_is_counted_from_its_first_byte_though_that_came_with_the_end_of_another(talk, cut):
    talked = talk(values=1_000).run()
    large = framed(b'{"jsonrpc":"2.0","method":"m","params":"%b"}' % (b"," * PIECE))
    body = filled(b'{"jsonrpc":"2.0","id":%b,"result":[' % call(talked), b"0", b"]}", 2 * PIECE)
    together = large + framed(body)
    begun = len(together) - len(body) + cut
    for data in (together[:PIECE], together[PIECE:begun], together[begun:-PIECE], together[-PIECE:]):
        talked.session.receive_data(data, Channel.STDOUT)
    talked.listen()
    (fault,) = talked.answers().values()
    assert fault.limit == "limits.values"
    hear(talked, large + large)
    assert talked.session.ignored == {Reason.TOO_MANY_VALUES: 1}


@pytest.mark.parametrize(
    "body",
    [
        filled(b'{"jsonrpc":"2.0","id":[', b"0", b'],"result":1}', 4 * PIECE),
        filled(b'{"jsonrpc":[', b"0", b'],"id":1,"result":1}', 4 * PIECE),
        filled(b'{"jsonrpc":"2.0","id":1,"method":[', b"0", b"]}", 4 * PIECE),
        filled(b"[", b"0", b"]", 4 * PIECE),
        b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * PIECE + b'\xff"}',
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 300 + b" " * PIECE + b"]" * 300 + b"}",
    ],
    ids=["id", "version", "method", "list", "utf-8", "depth"],
)
def test_a_large_body_that_is_no_message_is_dropped_as_a_short_one_is(talk, body):
    talked = talk().run()
    hear(talked, framed(body) + frame(method="host/log"))
    assert talked.session.ignored.total() == 1
    assert talked.outcome is State.RUNNING
    assert talked.methods() == ["plugin/init"]


def test_the_end_of_the_output_inside_a_message_that_is_passed_over_is_a_crash(talk):
    talked = talk(values=1_000).run()
    data = framed(filled(b'{"jsonrpc":"2.0","method":"m","params":[', b"0", b"]}", 4 * PIECE))
    hear(talked, data[:-1]).end_output()
    assert talked.outcome == (FailureCode.CRASHED, Stage.IDLE)


def test_an_answer_to_init_of_too_many_values_fails_the_handshake(talk):
    talked = talk(values=1_000).begin()
    hear(talked, framed(filled(b'{"jsonrpc":"2.0","id":1,"result":[', b"0", b"]}", 4 * PIECE)))
    assert talked.outcome == (FailureCode.HANDSHAKE_FAILED, Stage.HANDSHAKE)
