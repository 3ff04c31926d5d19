"""The length of a large answer is known before it is encoded, and it is encoded when it is written."""

import json

import pytest

from plughost.contracts.duplex import bulk
from plughost.contracts.duplex.lanes import Bounds, Lanes
from plughost.contracts.duplex.messages import ActionInvokeResult, FsReadFileResult, SnapshotGetResult
from plughost.messages import jsonrpc
from tests.contracts.duplex.wire import frame, frames

LARGE = bytes(range(256)) * 4_096


@pytest.mark.parametrize("rest", range(4))
@pytest.mark.parametrize("id", [7, '"payload":""', "\\"])
@pytest.mark.parametrize(
    "kind", [lambda payload: SnapshotGetResult(payload, 2**64 - 1), FsReadFileResult, ActionInvokeResult]
)
def test_an_answer_that_is_encoded_later_is_the_same_and_as_long_as_was_said(kind, id, rest):
    result = kind(LARGE + bytes(rest))
    size, encode = bulk.prepared(id, result)
    framed, body = encode()
    assert body == jsonrpc.encode_response(id, result)
    assert (len(body), frames(framed)) == (size, [json.loads(body)])


@pytest.fixture
def encoded(monkeypatch):
    """Counts the payloads that were encoded."""
    sizes = []
    encode = bulk.b2a_base64
    monkeypatch.setattr(
        bulk, "b2a_base64", lambda data, **more: (sizes.append(len(data)), encode(data, **more))[1]
    )
    return sizes


@pytest.mark.requirement("duplex:rpc:flood")
def test_a_flood_of_calls_for_something_large_is_refused_by_length_and_costs_no_encoding(talk, encoded):
    talked = talk(bounds=Bounds(reply_bytes=4 * len(LARGE))).run()
    for number in range(400):
        talked.hear(frame(id=number, method="host/snapshot/get"))
    answered = [talked.session.answer(number, SnapshotGetResult(LARGE, 1)) for number in range(400)]
    assert (answered.count(True), encoded) == (2, [])
    assert [message["id"] for message in talked.step()] == [0]
    assert len(encoded) == 1  # the one that is being written, and none ahead


def test_what_waits_is_counted_once_and_let_go_with_its_process():
    lanes = Lanes(Bounds(reply_bytes=10_000))
    lanes.promise(6_000, lambda: (b"frame", b"body"))
    assert (lanes.has_room(5_000), lanes.has_room(4_096)) == (False, True)
    assert [waiting.frame for waiting in lanes.take(all_lanes=True)] == [b"frame"]
    lanes.promise(6_000, lambda: (b"frame", b"body"))
    lanes.clear()
    lanes.promise(1, lambda: (b"", b""))
    assert lanes.has_room(9_999)
