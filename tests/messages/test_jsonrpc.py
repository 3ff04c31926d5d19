"""Every body is one of four messages or is dropped for a reason, and what is encoded is decoded the same."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from plughost.errors import LocalProtocolError
from plughost.messages import jsonrpc
from plughost.messages.depth import MAX_DEPTH
from plughost.messages.jsonrpc import (
    LARGEST_ID,
    ErrorResponse,
    Ignored,
    Notification,
    Reason,
    Request,
    Response,
    decode,
    encode_error,
    encode_notification,
    encode_request,
    encode_response,
)


def body(**members):
    """Return a message of *members* as bytes."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (body(id=1, method="m", params={"a": 1}), Request(1, "m", Raw(b'{"a": 1}'))),
        (body(id=0, method="m"), Request(0, "m", Raw(b"null"))),
        (body(id=LARGEST_ID, method=""), Request(LARGEST_ID, "")),
        (body(method="m", params=[1]), Notification("m", Raw(b"[1]"))),
        (body(id=None, method="m"), Notification("m")),
        (body(id=1, method="m", result=5, error={}), Request(1, "m")),
        (body(id="a", method="m"), Request("a", "m")),
        (body(id="", method="m"), Request("", "m")),
        (body(id=1, result={}), Response(1, Raw(b"{}"))),
        (body(id=1), Response(1)),
        (body(id=1, result=None), Response(1)),
        (body(id=1, result=3, error=None), Response(1, Raw(b"3"))),
        (body(id=1, error={"code": -32601, "message": "no"}), ErrorResponse(1, -32601, "no")),
        (body(id=1, result=3, error={"code": 1, "message": ""}), ErrorResponse(1, 1, "")),
        (
            body(id=1, error={"code": -(2**31), "message": "x", "data": [1], "more": 2}),
            ErrorResponse(1, -(2**31), "x", Raw(b"[1]")),
        ),
        (body(id=1, error={"code": 1, "message": "x", "data": None}), ErrorResponse(1, 1, "x")),
        (body(method="m", unknown={"deep": []}), Notification("m")),
        (b' \n{"jsonrpc":"2\\u002e0","method":"\\u006d"} ', Notification("m")),
    ],
)
def test_a_message_is_what_its_members_make_it(said, message):
    assert decode(said) == message


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", Reason.NOT_A_MESSAGE),
        (b"{", Reason.NOT_A_MESSAGE),
        (b"nonsense", Reason.NOT_A_MESSAGE),
        (b"null", Reason.NOT_A_MESSAGE),
        (b"5", Reason.NOT_A_MESSAGE),
        (b"[]", Reason.NOT_A_MESSAGE),
        (b"[" + body(method="m") + b"]", Reason.NOT_A_MESSAGE),
        (body(method="m") + body(method="m"), Reason.NOT_A_MESSAGE),
        (b'{"jsonrpc":"2.0","method":"m","params":NaN}', Reason.NOT_A_MESSAGE),
        (b'{"jsonrpc":"2.0","method":"\xff"}', Reason.NOT_A_MESSAGE),
        (b'{"jsonrpc":"2.0","method":"m","unknown":"\xff"}', Reason.NOT_A_MESSAGE),
        (b'{"jsonrpc":"2.0","method":"\\ud800"}', Reason.NOT_A_MESSAGE),
        (body(method="m").decode().encode("utf-16"), Reason.NOT_A_MESSAGE),
        (
            b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
            Reason.NOT_A_MESSAGE,
        ),
        (b'{"jsonrpc":"2.0","id":1' + b"0" * 5000 + b',"method":"m"}', Reason.NOT_A_MESSAGE),
        (b"{}", Reason.WRONG_VERSION),
        (b'{"id":1,"method":"m"}', Reason.WRONG_VERSION),
        (body(jsonrpc="1.0", method="m"), Reason.WRONG_VERSION),
        (body(jsonrpc=2.0, method="m"), Reason.WRONG_VERSION),
        (body(jsonrpc=["2.0"], method="m"), Reason.WRONG_VERSION),
        (body(id="x" * 1_025, method="m"), Reason.WRONG_ID),
        (body(id=-1, method="m"), Reason.WRONG_ID),
        (body(id=1.0, method="m"), Reason.WRONG_ID),
        (body(id=True, method="m"), Reason.WRONG_ID),
        (body(id=[], method="m"), Reason.WRONG_ID),
        (body(id=LARGEST_ID + 1, method="m"), Reason.WRONG_ID),
        (body(id="1", result={}), Reason.WRONG_ID),
        (body(id=None, result={}), Reason.WRONG_ID),
        (body(result={}), Reason.WRONG_ID),
        (body(), Reason.WRONG_ID),
        (body(id=1, method=None), Reason.WRONG_METHOD),
        (body(method=5), Reason.WRONG_METHOD),
        (body(id=1, error="no"), Reason.WRONG_ERROR),
        (body(id=1, error=False), Reason.WRONG_ERROR),
        (body(id=1, error={}), Reason.WRONG_ERROR),
        (body(id=1, error={"code": 1}), Reason.WRONG_ERROR),
        (body(id=1, error={"message": "x"}), Reason.WRONG_ERROR),
        (body(id=1, error={"code": "1", "message": "x"}), Reason.WRONG_ERROR),
        (body(id=1, error={"code": 1.5, "message": "x"}), Reason.WRONG_ERROR),
        (body(id=1, error={"code": True, "message": "x"}), Reason.WRONG_ERROR),
        (body(id=1, error={"code": 2**31, "message": "x"}), Reason.WRONG_ERROR),
        (body(id=1, error={"code": -(2**31) - 1, "message": "x"}), Reason.WRONG_ERROR),
        (body(id=1, error={"code": 1, "message": None}), Reason.WRONG_ERROR),
    ],
    ids=lambda value: str(value)[:60],  # one of them is long
)
def test_what_is_no_message_is_ignored_for_its_reason(said, reason):
    ignored = decode(said)
    assert isinstance(ignored, Ignored)
    assert ignored.reason is reason
    assert ignored.detail


def test_only_an_answer_with_a_bad_error_still_tells_whose_it_is():
    assert decode(body(id=7, error=1)).id == 7
    assert decode(body(id="7", result=1)).id is None
    assert decode(body(id=7, method=1)).id is None


@settings(max_examples=100)
@given(data=st.binary(max_size=40))
def test_no_bytes_raise(data):
    for said in (data, b'{"jsonrpc":"2.0",' + data + b"}", body(id=1, method="m")[: len(data)] + data):
        assert isinstance(decode(said), Request | Notification | Response | ErrorResponse | Ignored)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text('aä\n"\\', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=50)
@given(id=st.integers(0, LARGEST_ID), method=st.text("a/ä", max_size=5), value=VALUES)
def test_what_is_encoded_is_decoded_the_same(id, method, value):
    request, told = decode(encode_request(id, method, value)), decode(encode_notification(method, value))
    result = decode(encode_response(id, value))
    assert (request.id, request.method, json.loads(bytes(request.params))) == (id, method, value)
    assert (told.method, json.loads(bytes(told.params))) == (method, value)
    assert (result.id, json.loads(bytes(result.result))) == (id, value)


def test_a_result_has_no_error_beside_it_and_an_error_no_result():
    assert json.loads(encode_response(1, None)) == {"jsonrpc": "2.0", "id": 1, "result": None}
    assert json.loads(encode_error(1, jsonrpc.INVALID_PARAMS, "no")) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32602, "message": "no"},
    }
    assert decode(encode_error(1, 5, "x", {"path": "p"})) == ErrorResponse(1, 5, "x", Raw(b'{"path":"p"}'))


def test_what_one_said_is_passed_on_to_another_as_it_was_said():
    said = Raw(b'{"a": null, "b": [1e5]}')
    assert decode(encode_request(1, "m", said)) == Request(1, "m", said)
    assert decode(encode_notification("m", said)) == Notification("m", said)
    assert decode(encode_response(1, said)) == Response(1, said)
    assert decode(encode_error(1, 5, "x", said)) == ErrorResponse(1, 5, "x", said)
    assert b"data" not in encode_error(1, 5, "x", Raw(b"null"))


@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("-inf")], {"a": object()}, "\ud800"],
    ids=["nan", "infinity", "object", "surrogate"],
)
def test_what_cannot_be_said_in_json_is_our_own_fault(value):
    for encode in (lambda: encode_request(1, "m", value), lambda: encode_response(1, value)):
        with pytest.raises(LocalProtocolError):
            encode()


def test_the_codes_are_those_of_the_contract():
    assert (jsonrpc.METHOD_NOT_FOUND, jsonrpc.INVALID_PARAMS, jsonrpc.INTERNAL_ERROR) == (
        -32601,
        -32602,
        -32603,
    )
    assert (jsonrpc.CAPABILITY_DENIED, jsonrpc.ACTION_TIMEOUT, jsonrpc.MANIFEST_VALIDATION) == (
        -32001,
        -32002,
        -32003,
    )
