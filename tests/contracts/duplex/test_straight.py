"""Answers heard in one step are what the session would have heard; everything else is left to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.duplex import straight
from plughost.contracts.duplex.messages import ActionInvokeResult, CliDispatchResult, decode
from plughost.errors import RemoteProtocolError
from plughost.messages import depth, jsonrpc, strict_json

LIMIT = 1_000_000


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answer(result: Any = None, **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "result": result, **members}).encode()


def test_an_answer_is_heard_with_its_result() -> None:
    body = answer({"payload": "eHg="})
    data = b"before" + framed(body) + b"after"
    call_id, result, heard, end = straight.hear(data, 6, ActionInvokeResult, LIMIT) or (0, None, b"", 0)
    assert (call_id, heard, data[end:]) == (7, body, b"after")
    assert isinstance(result, straight.Returned)
    assert result.payload == b"xx"


def test_without_a_type_any_json_is_a_result() -> None:
    for result in (None, 5, 1.5, "é", [1, [2]], {"a": {"b": None}}, True):
        heard = straight.hear(framed(answer(result)), 0, None, LIMIT)
        assert heard is not None
        assert heard[1] == result


ODD = {
    "an error": answer(error={"code": 1, "message": "no"}),
    "an error beside a result": b'{"jsonrpc":"2.0","id":7,"result":{"payload":""},"error":{"code":1,"message":""}}',
    "an error of null": b'{"jsonrpc":"2.0","id":7,"result":{"payload":""},"error":null}',
    "a method": b'{"jsonrpc":"2.0","id":7,"method":"m","result":{"payload":""}}',
    "a method of null": b'{"jsonrpc":"2.0","id":7,"method":null,"result":{"payload":""}}',
    "no result": b'{"jsonrpc":"2.0","id":7}',
    "another result": answer({"stdout": ""}),
    "another version": answer({"payload": ""}, jsonrpc="1.0"),
    "no version": b'{"id":7,"result":{"payload":""}}',
    "an id in quotes": answer({"payload": ""}, id="7"),
    "an id of true": answer({"payload": ""}, id=True),
    "an id with a point": answer({"payload": ""}, id=7.0),
    "an id of null": answer({"payload": ""}, id=None),
    "an id that is a list": answer({"payload": ""}, id=[7]),
    "a number too large for bytes": answer({"payload": [256]}),
    "base64 that is none": answer({"payload": "!"}),
    "half a message": b'{"jsonrpc":"2.0","id":7,"result":{"payload":""}',
    "two messages": answer({"payload": ""}) * 2,
    "a list": b"[" + answer({"payload": ""}) + b"]",
    "nothing": b"",
    "a byte that is no UTF-8": b'{"jsonrpc":"2.0","id":7,"x":"\xff","result":{"payload":""}}',
    "a nest": b'{"jsonrpc":"2.0","id":7,"x":%b,"result":{"payload":""}}'
    % (b"[" * (depth.MAX_DEPTH + 1) + b"]" * (depth.MAX_DEPTH + 1)),
    "a large one": answer({"payload": "", "x": "x" * strict_json.LARGE_FRAME}),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_not_plainly_an_answer_is_left_to_the_session(what: str) -> None:
    assert straight.hear(framed(ODD[what]), 0, ActionInvokeResult, LIMIT) is None


@pytest.mark.parametrize(
    "data",
    [
        b"content-length: 2\r\n\r\n{}",
        b"Content-Length:2\r\n\r\n{}",
        b"Content-Length: +2\r\n\r\n{}",
        b"Content-Length: 2\n\n{}",
        b"Content-Length: 2\r\nX: 1\r\n\r\n{}",
        b"Content-Length: 99999999999999999999999\r\n\r\n{}",
        b"Content-Length: ",
        b"",
    ],
)
def test_a_frame_of_another_spelling_is_left_to_the_session(data: bytes) -> None:
    assert straight.hear(data, 0, None, LIMIT) is None


def test_every_beginning_of_a_frame_is_left_to_the_session() -> None:
    data = framed(answer({"payload": "eHg="}))
    assert [straight.hear(data[:cut], 0, ActionInvokeResult, LIMIT) for cut in range(len(data))] == [
        None
    ] * len(data)


@pytest.mark.parametrize(("limit", "heard"), [(-1, False), (0, True), (1, True)])
def test_a_frame_over_the_limit_is_left_to_the_session(limit: int, heard: bool) -> None:
    body = answer({"payload": "eHg="})
    assert (straight.hear(framed(body), 0, ActionInvokeResult, len(body) + limit) is not None) is heard


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "payload", "stdout", "x"]),
    ANY_JSON
    | st.sampled_from(
        ["2.0", 7, {"payload": "eHg="}, {"stdout": "", "stderr": "", "exit_code": 3}, {"code": 1}]
    ),
)


@given(MEMBERS, st.sampled_from([None, ActionInvokeResult, CliDispatchResult]))
def test_whatever_is_heard_is_what_the_long_way_would_have_found(
    members: dict[str, Any], result: Any
) -> None:
    body = json.dumps(members).encode()
    heard = straight.hear(framed(body), 0, result, LIMIT)
    message = jsonrpc.decode(body)
    if heard is None:
        return
    assert isinstance(message, jsonrpc.Response)
    assert heard[0] == message.id
    expected = json.loads(bytes(message.result)) if result is None else decode(result, message.result)
    assert heard[1] == expected


@given(st.binary(max_size=60), st.sampled_from([None, ActionInvokeResult]))
def test_no_bytes_make_it_raise(body: bytes, result: Any) -> None:
    heard = straight.hear(framed(body), 0, result, LIMIT)
    if heard is not None:
        assert isinstance(jsonrpc.decode(body), jsonrpc.Response)
        assert result is None or decode(result, jsonrpc.decode(body).result)  # type: ignore[union-attr]


def test_a_number_that_is_none_is_left_to_the_session() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"result":1e999}'
    assert straight.hear(framed(body), 0, None, LIMIT) is None
    with pytest.raises(RemoteProtocolError):
        strict_json.Decoder(object, "result").decode(b"1e999")
