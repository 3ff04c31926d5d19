"""The wire types agree with the author's side, and leave to later checks what those judge."""

import msgspec
import pytest
from plughost_sdk import execute as sdk
from plughost_sdk import small_json

from plughost.contracts.execute.messages import (
    PROTOCOL_VERSION,
    HandshakeRequest,
    HandshakeResponse,
    Manifest,
    Request,
    Response,
)


def test_both_sides_speak_the_same_version():
    assert PROTOCOL_VERSION == sdk.PROTOCOL_VERSION == "rterm.plugin.v1"


def test_the_handshake_request_is_plain_enough_for_the_author_side_to_read_without_json():
    line = msgspec.json.encode(HandshakeRequest()).decode()
    assert small_json.loads(line) == {"type": "handshake", "protocol_version": sdk.PROTOCOL_VERSION}


def test_a_request_says_what_it_is():
    request = msgspec.json.decode(msgspec.json.encode(Request("r1", "echo", {}, {})))
    assert request == {"type": "request", "request_id": "r1", "tool_name": "echo", "context": {}, "input": {}}


@pytest.mark.parametrize("type", [HandshakeResponse, Manifest, Response])
def test_a_field_that_a_later_check_judges_may_be_missing(type):
    assert msgspec.json.decode(b"{}", type=type) == type()


def test_an_error_that_is_null_is_told_from_one_that_is_missing():
    assert msgspec.json.decode(b'{"error":null}', type=Response).error is None
    assert msgspec.json.decode(b"{}", type=Response).error is msgspec.UNSET
