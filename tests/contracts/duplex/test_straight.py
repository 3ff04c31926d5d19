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


def hear(data: bytes, at: int, result: Any, limit: int) -> straight.Heard | None:
    """Return the first answer from *at* on."""
    return next(straight.answers(data, at, result, limit), None)


def test_an_answer_is_heard_with_its_result() -> None:
    body = answer({"payload": "eHg="})
    data = b"before" + framed(body) + b"after"
    heard = hear(data, 6, ActionInvokeResult, LIMIT)
    assert heard is not None
    found, shown, end = heard
    assert (found.id, shown, data[end:]) == (7, body, b"after")
    assert isinstance(found.result, straight.Returned)
    assert found.result.payload == b"xx"


def test_without_a_type_any_json_is_a_result() -> None:
    for result in (None, 5, 1.5, "é", [1, [2]], {"a": {"b": None}}, True):
        heard = hear(framed(answer(result)), 0, None, LIMIT)
        assert heard is not None
        assert heard[0].result == result


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
    assert hear(framed(ODD[what]), 0, ActionInvokeResult, LIMIT) is None


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
    assert hear(data, 0, None, LIMIT) is None


def test_every_beginning_of_a_frame_is_left_to_the_session() -> None:
    data = framed(answer({"payload": "eHg="}))
    assert [hear(data[:cut], 0, ActionInvokeResult, LIMIT) for cut in range(len(data))] == [None] * len(data)


@pytest.mark.parametrize(("limit", "heard"), [(-1, False), (0, True), (1, True)])
def test_a_frame_over_the_limit_is_left_to_the_session(limit: int, heard: bool) -> None:
    body = answer({"payload": "eHg="})
    assert (hear(framed(body), 0, ActionInvokeResult, len(body) + limit) is not None) is heard


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
    heard = hear(framed(body), 0, result, LIMIT)
    message = jsonrpc.decode(body)
    if heard is None:
        return
    assert isinstance(message, jsonrpc.Response)
    assert heard[0].id == message.id
    expected = json.loads(bytes(message.result)) if result is None else decode(result, message.result)
    assert heard[0].result == expected


@given(st.binary(max_size=60), st.sampled_from([None, ActionInvokeResult]))
def test_no_bytes_make_it_raise(body: bytes, result: Any) -> None:
    heard = hear(framed(body), 0, result, LIMIT)
    if heard is not None:
        assert isinstance(jsonrpc.decode(body), jsonrpc.Response)
        assert result is None or decode(result, jsonrpc.decode(body).result)  # type: ignore[union-attr]


def test_a_number_that_is_none_is_left_to_the_session() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"result":1e999}'
    assert hear(framed(body), 0, None, LIMIT) is None
    with pytest.raises(RemoteProtocolError):
        strict_json.Decoder(object, "result").decode(b"1e999")


SIZES = st.lists(st.integers(0, 400), max_size=20)


@given(SIZES, st.integers(0, 30))
def test_answers_of_any_length_are_heard_one_after_another(sizes: list[int], cut: int) -> None:
    bodies = [answer("é" * size if size % 7 == 0 else "x" * size) for size in sizes]
    data = b"".join(map(framed, bodies))
    whole = data[: len(data) - cut]
    heard = list(straight.answers(whole, 0, None, LIMIT))
    ends = [len(b"".join(map(framed, bodies[: at + 1]))) for at in range(len(bodies))]
    assert [(body, end) for _, body, end in heard] == [
        (body, end) for body, end in zip(bodies, ends, strict=True) if end <= len(whole)
    ]
    assert all(found.result == json.loads(body)["result"] for found, body, _ in heard)


@pytest.mark.parametrize("what", sorted(ODD))
def test_what_is_odd_ends_the_answers_before_it(what: str) -> None:
    usual = answer({"payload": "eHg="})
    data = framed(usual) + framed(usual) + framed(ODD[what]) + framed(usual)
    heard = list(straight.answers(data, 0, ActionInvokeResult, LIMIT))
    assert [end for _, _, end in heard] == [len(framed(usual)), 2 * len(framed(usual))]


def test_a_frame_as_long_as_the_one_before_may_be_odd_too() -> None:
    usual = answer({"payload": "eHg="})
    odd = usual.replace(b"result", b"resold")
    data = framed(usual) + framed(odd) + framed(usual)
    assert len(list(straight.answers(data, 0, ActionInvokeResult, LIMIT))) == 1
