"""The host of a check answers every call, with the least that is allowed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from plughost.conformance import duplex_stub as stub
from plughost.contracts.duplex.messages import HOST_METHODS, decode
from plughost.messages import jsonrpc

PARAMS: dict[str, Any] = {
    "host/snapshot/get": {"topic": "t"},
    "host/snapshot/publish": {"topic": "t", "payload": ""},
    "host/snapshot/subscribe": {"topic": "t"},
    "host/action/invoke": {"action": "a", "payload": ""},
    "host/log": {"level": "info", "message": "m"},
    "host/fs/read_dir": {"path": "/p"},
    "host/fs/read_file": {"path": "/p"},
    "host/network/fetch": {"url": "http://example.org"},
}
REQUESTS = [method for method, known in HOST_METHODS.items() if known.result is not None]
each_request = pytest.mark.parametrize("method", REQUESTS)


def answered(method: str, params: Any, serve: stub.Serve) -> jsonrpc.Response | jsonrpc.ErrorResponse:
    request = jsonrpc.Request(7, method, Raw(msgspec.json.encode(params)))
    found = jsonrpc.decode(stub.answer(request, serve))
    assert isinstance(found, jsonrpc.Response | jsonrpc.ErrorResponse)
    assert found.id == 7
    return found


def test_every_method_of_the_contract_is_known_here() -> None:
    assert PARAMS.keys() == HOST_METHODS.keys()
    assert stub.GATES.keys() <= HOST_METHODS.keys()


@each_request
@pytest.mark.parametrize("serve", [stub.usual, stub.sealing, stub.vanishing, stub.denying])
def test_every_request_is_answered_with_a_result_of_its_type_or_an_error(
    method: str, serve: stub.Serve
) -> None:
    found = answered(method, PARAMS[method], serve)
    if isinstance(found, jsonrpc.Response):
        result = HOST_METHODS[method].result
        assert result is not None
        decode(result, found.result)


@each_request
def test_one_that_denies_denies_all_that_needs_a_capability(method: str) -> None:
    found = answered(method, PARAMS[method], stub.denying)
    assert isinstance(found, jsonrpc.ErrorResponse)
    is_action = method == stub.ACTION
    assert found.code == (jsonrpc.ACTION_TIMEOUT if is_action else jsonrpc.CAPABILITY_DENIED)


@pytest.mark.parametrize("method", ["host/log", "host/snapshot/publish", "host/nothing", "plugin/init", ""])
def test_what_is_no_request_of_a_host_is_not_found(method: str) -> None:
    found = answered(method, {}, stub.usual)
    assert isinstance(found, jsonrpc.ErrorResponse)
    assert found.code == jsonrpc.METHOD_NOT_FOUND


@each_request
@pytest.mark.parametrize(
    "params",
    [None, [], {}, {"topic": 5, "action": 5, "path": 5, "url": 5}],
    ids=["null", "array", "empty", "numbers"],
)
def test_wrong_parameters_are_said_to_be_wrong(method: str, params: Any) -> None:
    found = answered(method, params, stub.usual)
    assert isinstance(found, jsonrpc.ErrorResponse)
    assert found.code == jsonrpc.INVALID_PARAMS
    assert stub.flaw_of(method, Raw(msgspec.json.encode(params))) is not None


@pytest.mark.parametrize("method", sorted(PARAMS))
def test_right_parameters_have_no_flaw(method: str) -> None:
    assert stub.flaw_of(method, Raw(msgspec.json.encode(PARAMS[method]))) is None


def test_a_method_that_no_host_has_is_a_flaw() -> None:
    assert stub.flaw_of("host/nothing", Raw(b"{}")) is not None


def test_files_that_are_listed_cannot_be_read_and_their_directories_are_denied() -> None:
    listed = answered("host/fs/read_dir", {"path": "/p"}, stub.vanishing)
    assert isinstance(listed, jsonrpc.Response)
    names = [each["name"] for each in msgspec.json.decode(bytes(listed.result))["entries"]]
    assert len(names) == 2
    codes = {
        getattr(answered(method, {"path": f"/p/{name}"}, stub.vanishing), "code", None)
        for method, name in zip(("host/fs/read_file", "host/fs/read_dir"), names, strict=True)
    }
    assert codes == {jsonrpc.INVALID_PARAMS, jsonrpc.CAPABILITY_DENIED}
