"""What a `duplex` plugin publishes is judged by its bytes: base64, size, and the order of chunks."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from plughost.conformance import duplex_payload as payloads
from plughost.conformance.duplex_bus import CHUNK_BYTES, CHUNKS, Publish, disordered, envelope

Encode = Callable[[Any], bytes]
codecs = pytest.mark.parametrize(
    "encode", [msgspec.json.encode, msgspec.msgpack.encode], ids=["json", "msgpack"]
)


def chunk(index: Any, is_final: Any = False, batch: Any = 7, data: Any = ()) -> dict[str, Any]:
    return {
        "version": 1,
        "published_ns": batch,
        "chunk_index": index,
        "is_final": is_final,
        "data": list(data),
    }


def published(encode: Encode, *chunks: dict[str, Any], topic: str = "t") -> list[Publish]:
    return [Publish("told", topic, encode(each)) for each in chunks]


@codecs
@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([], id="nothing"),
        pytest.param([chunk(0, True)], id="one"),
        pytest.param([chunk(0), chunk(1), chunk(2, True)], id="three"),
        pytest.param([chunk(0), chunk(1)], id="so-far"),
        pytest.param([chunk(0, True), chunk(0, True, 8)], id="two-publishes"),
        pytest.param(
            [chunk(0), chunk(1, True), chunk(0, False, 8), chunk(1, True, 8)], id="one-after-the-other"
        ),
        pytest.param([{"published_ns": 7, "is_final": True}], id="index-0-is-understood"),
        pytest.param([{"published_ns": 7, "chunk_index": 0}], id="final-is-understood"),
    ],
)
def test_chunks_that_follow_on_one_another_are_in_order(chunks: list[dict[str, Any]], encode: Encode) -> None:
    assert disordered(published(encode, *chunks)) is None


@codecs
@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([chunk(1, True)], id="no-beginning"),
        pytest.param([chunk(0), chunk(2, True)], id="a-gap"),
        pytest.param([chunk(0), chunk(0, True, 8)], id="no-end"),
        pytest.param([chunk(0), chunk(1), chunk(1, True)], id="twice"),
        pytest.param([chunk(0), chunk(1, True, 8)], id="another-publish"),
        pytest.param([chunk(0, True), chunk(1, True)], id="two-ends"),
        pytest.param([chunk(-1, True)], id="negative"),
        pytest.param([chunk("0", True)], id="index-is-a-text"),
        pytest.param([chunk(False, True)], id="index-is-a-flag"),
        pytest.param([chunk(0, 1)], id="end-is-a-number"),
        pytest.param([chunk(0, True, "now")], id="time-is-a-text"),
        pytest.param([chunk(0, True, None)], id="time-is-null"),
    ],
)
def test_chunks_that_do_not_follow_are_a_flaw(chunks: list[dict[str, Any]], encode: Encode) -> None:
    found = disordered(published(encode, *chunks))
    assert found is not None
    assert found.clause == CHUNKS


def test_the_chunks_of_two_topics_are_two_sequences() -> None:
    one = published(msgspec.json.encode, chunk(0), chunk(1, True), topic="one")
    other = published(msgspec.json.encode, chunk(0, batch=9), chunk(1, True, 9), topic="other")
    assert disordered([one[0], other[0], one[1], other[1]]) is None


@pytest.mark.parametrize(
    ("size", "is_flaw"), [(CHUNK_BYTES - 1, False), (CHUNK_BYTES, False), (CHUNK_BYTES + 1, True)]
)
def test_a_publish_of_more_than_a_chunk_has_to_be_cut(size: int, is_flaw: bool) -> None:
    assert (disordered([Publish("told", "t", b"x" * size)]) is not None) == is_flaw


@pytest.mark.parametrize(("items", "is_flaw"), [(1, False), (2, True)], ids=["one-item", "two-items"])
def test_an_item_that_is_too_large_goes_alone(items: int, is_flaw: bool) -> None:
    large = published(msgspec.json.encode, chunk(0, True, data=["x" * CHUNK_BYTES] * items))
    assert (disordered(large) is not None) == is_flaw


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"null",
        b"[]",
        b"5",
        b"{",
        b"{}",
        b'{"published_ns":1}',
        b"[" * 100_000,
        b"\x81" * 100_000,
    ],
    ids=[
        "empty",
        "no-msgpack",
        "null",
        "array",
        "number",
        "half",
        "object",
        "time-alone",
        "deep-json",
        "deep-msgpack",
    ],
)
def test_what_is_no_chunk_is_taken_for_none(payload: bytes) -> None:
    assert envelope(payload) is None
    assert disordered([Publish("told", "t", payload)]) is None


@pytest.mark.parametrize(
    "data", [b"", b"a", b"ab", b"abc", bytes(range(256))], ids=["0", "1", "2", "3", "all"]
)
def test_padded_base64_is_read(data: bytes) -> None:
    assert payloads.read(base64.b64encode(data).decode()) == data


@pytest.mark.parametrize(
    "value",
    ["QQ", "QQ=", "QQ===", "QR==", "Q Q=", "QQ==\n", "_-8=", "é", "=", "Q", None, 5, True, [81], {}, b"QQ=="],
    ids=[
        "unpadded", "half-padded", "padded-twice", "bits-left-over", "a-blank", "a-line-feed", "url-alphabet",
        "no-ascii", "padding-alone", "one-character", "null", "number", "flag", "array", "object", "bytes",
    ],
)  # fmt: skip
def test_anything_else_is_said_to_be_none(value: Any) -> None:
    assert isinstance(payloads.read(value), str)


@pytest.mark.parametrize(
    "raw",
    [b"null", b"[]", b"5", b"{", b"", b"\xff"],
    ids=["null", "array", "number", "half", "empty", "no-utf-8"],
)
def test_what_is_no_object_has_no_members(raw: bytes) -> None:
    assert payloads.members(msgspec.Raw(raw)) == {}
