"""A frame to a message of the kind that is due: what is taken, what is refused, and how much that may cost."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import hook_messages as wire

from plughost.errors import RemoteProtocolError
from plughost.messages import protobuf
from plughost.messages.protobuf import ITEMS_LIMIT, decode, likely_kinds

LONG = 65_536  # bytes from which on parts are counted
KINDS = [wire.PluginInfo, wire.DetectResult, wire.PlanResult, wire.GenerateResult, wire.ValidateResult]


def block(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def varint(value: int) -> bytes:
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*low, value))


def refused(kind: type[Message], frame: bytes) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        decode(kind, frame, "the answer")
    assert str(caught.value).startswith("the answer: ")
    return str(caught.value)


# What is taken


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.DESCRIPTOR.name)
def test_no_bytes_are_a_message_with_nothing_set(kind: type[Message]) -> None:
    assert decode(kind, b"", "x") == kind()


def test_a_message_is_what_was_encoded() -> None:
    sent = wire.GenerateResult(fragments=[wire.Fragment(path="a", content="é\0\n", order=-1)])
    assert decode(wire.GenerateResult, sent.SerializeToString(), "x") == sent


@pytest.mark.parametrize(
    "extra",
    [b"\x98\x06\x01", block(99, b"\xff"), b"\x9d\x06\0\0\0\0", b"\x99\x06" + b"\0" * 8, b"\x9b\x06\x9c\x06"],
    ids=["number", "bytes", "four bytes", "eight bytes", "group"],
)
@pytest.mark.parametrize("nested", [False, True])
def test_unknown_numbers_are_kept(extra: bytes, nested: bool) -> None:
    body = block(1, b"\x0a\x01p" + extra) if nested else block(1, b"\x0a\x01p") + extra
    assert decode(wire.GenerateResult, body, "x").SerializeToString() == body


@pytest.mark.parametrize("value", [-1, 4, 2**31 - 1])
def test_unknown_values_of_an_enum_are_kept(value: int) -> None:
    sent = wire.Fragment(path="a", strategy=value)
    assert decode(wire.Fragment, sent.SerializeToString(), "x").strategy == value


def test_the_last_of_a_field_that_is_there_twice_counts() -> None:
    assert decode(wire.Fragment, block(1, b"a") + block(1, b"b"), "x").path == "b"


# What is refused


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff",
        b"\x0a",
        b"\x0a\x02a",
        b"\x07",
        b"\x06",
        b"\0\0",
        b"\x0c",
        b"\x0b",
        block(1, b"\xff"),
        block(1, b"\xed\xa0\x80"),
        block(2, b"\xc0\xaf"),
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x0a\xff\xff\xff\xff\x0f" + b"x" * 9,
        b"\x7b" * 150 + b"\x7c" * 150,
    ],
)
def test_bytes_that_are_no_message_are_refused(frame: bytes) -> None:
    assert "Fragment" in refused(wire.Fragment, frame)


@pytest.mark.parametrize(
    ("kind", "frame", "field"),
    [
        (wire.Fragment, b"\x08\x01", "path"),
        (wire.Fragment, b"\x0d\0\0\0\0", "path"),
        (wire.Fragment, b"\x09" + b"\0" * 8, "path"),
        (wire.Fragment, block(3, b"x"), "strategy"),
        (wire.PluginInfo, block(3, b"x"), "protocol"),
        (wire.DetectResult, b"\x18\x01", "confidence"),
        (wire.PreflightResult, block(1, b"x"), "should_run"),
        (wire.GenerateResult, block(1, b"\x08\x01"), "fragments.path"),
        (wire.GenerateResult, block(2, block(6, block(2, b"x"))), "diagnostics.loc.line"),
        (wire.PlanRequest, block(3, block(2, b"\x08\x01")), "schema.project.name"),
    ],
)
def test_a_known_number_with_another_kind_of_value_is_named(
    kind: type[Message], frame: bytes, field: str
) -> None:
    assert f"field {field} " in refused(kind, frame)


@given(st.binary(max_size=200))
def test_whatever_the_bytes_they_are_a_message_or_refused(data: bytes) -> None:
    for kind in KINDS:
        try:
            found = decode(kind, data, "x")
        except RemoteProtocolError:
            continue
        assert isinstance(found, kind)


@given(st.data())
def test_a_message_cut_anywhere_is_a_message_or_refused(data: st.DataObject) -> None:
    whole = wire.PlanResult(
        resources=[wire.Resource(id="a", attributes={"b": "c"})],
        diagnostics=[wire.Diagnostic(message="é", loc=wire.SourceLocation(file="f", line=300))],
    ).SerializeToString()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        decode(wire.PlanResult, cut, "x")
    except RemoteProtocolError:
        assert cut != whole


# How many parts

# Each takes that many parts, whatever they are, to a frame that is long enough to be counted.
MANY = {
    "texts": (wire.DetectResult, lambda count: block(1, b"") * count),
    "parts": (wire.GenerateResult, lambda count: block(1, b"") * count),
    "numbers": (wire.GenerateResult, lambda count: b"\xf8\x07\0" * count),
    "four bytes each": (wire.GenerateResult, lambda count: b"\xfd\x07" + b"\0" * 4 + b"\xf8\x07\0" * (count - 1)),
    "eight bytes each": (wire.GenerateResult, lambda count: (b"\xf9\x07" + b"\0" * 8) * count),
    "unknown numbers of one part": (wire.GenerateResult, lambda count: block(1, b"\x78\0" * (count - 1))),
    "entries of one part": (wire.PlanResult, lambda count: block(1, block(3, b"") * (count - 1))),
    "parts of parts": (wire.GenerateResult, lambda count: block(2, block(6, b"")) * (count // 2)),
}  # fmt: skip


@pytest.mark.parametrize("what", MANY)
@pytest.mark.parametrize("more", [0, 2])
def test_parts_are_counted_wherever_they_are(what: str, more: int) -> None:
    kind, make = MANY[what]
    frame = make(ITEMS_LIMIT + more)
    assert len(frame) > LONG
    if more:
        assert str(ITEMS_LIMIT) in refused(kind, frame)
    else:
        assert isinstance(decode(kind, frame, "x"), kind)


@pytest.mark.parametrize("size", [LONG - 1, LONG, LONG + 1])
def test_a_frame_of_few_parts_may_be_long(size: int) -> None:
    frame = wire.Fragment(content="x" * (size - 4)).SerializeToString()
    assert len(frame) == size
    assert len(decode(wire.Fragment, frame, "x").content) == size - 4


@pytest.mark.parametrize("tail", [b"\xff", b"\x0a\xff", b"\x0a\x7fx", b"\x0f", b"\x80" * 11, b"\x0c"])
def test_counting_leaves_bytes_that_are_no_message_to_the_decoder(tail: bytes) -> None:
    refused(wire.Fragment, block(2, b"x" * LONG) + tail)


def test_a_length_beyond_the_end_is_not_followed() -> None:
    refused(wire.GenerateResult, b"\x0a\xff\xff\xff\xff\x0f" + b"\x0a\0" * LONG)
    refused(wire.GenerateResult, block(1, b"\x12\xff\xff\xff\xff\x0f" + b"x" * LONG))


# What it may have been


def test_a_guess_names_the_kinds_that_fit() -> None:
    frame = wire.GenerateResult(
        fragments=[wire.Fragment(path="a", strategy=wire.MERGE_STRATEGY_APPEND)]
    ).SerializeToString()
    assert likely_kinds(frame, [wire.PlanResult, wire.GenerateResult, wire.ValidateResult]) == [
        "GenerateResult"
    ]


@pytest.mark.parametrize("frame", [b"", b"\xff", b"\x98\x06\x01", block(1, b"x" * LONG)])
def test_there_is_no_guess_without_a_reason(frame: bytes) -> None:
    assert likely_kinds(frame, [wire.GenerateResult, wire.PlanResult]) == []


def test_what_is_counted_is_counted_before_the_decoder_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Untouchable:
        DESCRIPTOR = wire.GenerateResult.DESCRIPTOR

        @staticmethod
        def FromString(frame: bytes) -> Message:
            raise AssertionError("the decoder was asked")

    with pytest.raises(RemoteProtocolError):
        protobuf.decode(Untouchable, b"\x0a\0" * (ITEMS_LIMIT + 1), "x")  # type: ignore[type-var]
