"""MessagePack of the SDK: written values are read again, by others too; hostile bytes are errors."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import msgpack

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_again_by_itself_and_by_another_library(value):
    written = msgpack.pack(value)
    assert msgpack.unpack(written) == value
    assert msgspec.msgpack.decode(written) == value


@given(VALUES)
def test_what_another_library_writes_is_read(value):
    assert msgpack.unpack(msgspec.msgpack.encode(value)) == value


@pytest.mark.parametrize("length", [15, 16, 31, 32, 255, 256, 65_535, 65_536])
def test_every_width_of_a_length_is_written_and_read(length):
    for value in ("x" * length, b"x" * length, [0] * length, {str(n): n for n in range(length)}):
        assert msgspec.msgpack.decode(msgpack.pack(value)) == msgpack.unpack(msgpack.pack(value)) == value


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, {1: 2}, object(), {1}, "\ud800", math.pi * 1j])
def test_what_has_no_form_is_refused(value):
    with pytest.raises((ValueError, TypeError)):
        msgpack.pack(value)


def test_a_circle_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(ValueError, match="nesting"):
        msgpack.pack(circle)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x00",
        b"\xc1",
        b"\xc7\x00\x01",
        b"\xd4\x00\x00",
        b"\xa5abc",
        b"\xa1\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xffx",
        b"\xc6\x7f\xff\xff\xffx",
        b"\x81\x01\x01",
        b"\x81\x90\x01",
        b"\x91" * 100_000,
        b"\x81\xa0" * 100_000,
        b"\xdd\x00\x2d\xc6\xc0" + b"\xc0" * 3_000_000,
    ],
    ids=lambda data: repr(data[:8]),
)
def test_hostile_bytes_are_a_value_error(data):
    with pytest.raises(ValueError):
        msgpack.unpack(data)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_value_or_a_value_error(data):
    try:
        msgpack.unpack(data)
    except ValueError:
        pass
