"""The handshake by hand against the real classes: the same bytes, the same values, the same refusals."""

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import hook_messages as m
from plughost_sdk.hook_handshake import LIMIT, PROTOCOL, Hello, encode_plugin_info

TEXT = st.text(max_size=20)
WORDS = st.lists(TEXT, max_size=4)
MAPS = st.dictionaries(TEXT, TEXT, max_size=4)
HELLOS = st.builds(m.Hello, core_protocol=st.integers(0, 2**32 - 1), core_version=TEXT, env=MAPS)
SAMPLE = m.Hello(core_protocol=1, core_version="0.2.0", env={"PATH": "/bin", "": "ä"}).SerializeToString()

# Fields that Hello does not have, one of each kind: a number, eight bytes, some bytes, four bytes.
UNKNOWN = {
    "varint": b"\x98\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    "fixed64": b"\x99\x06abcdefgh",
    "bytes": b"\x9a\x06\x03\xff\xfe\xfd",
    "fixed32": b"\x9d\x06abcd",
}


def ours(data):
    try:
        hello = Hello(data)
    except ValueError:
        return None
    return hello.core_protocol, hello.core_version, hello.env


def theirs(data):
    try:
        hello = m.Hello.FromString(data)
    except DecodeError:
        return None
    return hello.core_protocol, hello.core_version, dict(hello.env)


def test_the_numbers_are_those_of_the_schema():
    assert (PROTOCOL, LIMIT) == (m.PROTOCOL, m.LIMIT) == (1, 10_485_760)


@given(hello=HELLOS)
def test_any_hello_is_read_as_protobuf_reads_it(hello):
    assert ours(hello.SerializeToString()) == (hello.core_protocol, hello.core_version, dict(hello.env))


def test_no_bytes_are_a_hello_of_protocol_0():
    assert ours(b"") == (0, "", {})


@pytest.mark.parametrize("cut", range(len(SAMPLE)))
def test_a_hello_that_is_cut_is_refused_where_protobuf_refuses_it(cut):
    assert ours(SAMPLE[:cut]) == theirs(SAMPLE[:cut])


@pytest.mark.parametrize("unknown", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_fields_are_skipped_before_and_after_known_ones(unknown):
    assert ours(unknown + SAMPLE + unknown) == ours(SAMPLE) == theirs(unknown + SAMPLE + unknown)


@pytest.mark.parametrize("unknown", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_field_that_is_cut_is_refused(unknown):
    for cut in range(1, len(unknown)):
        assert ours(SAMPLE + unknown[:cut]) is None


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x01a",  # the protocol as text
        b"\x10\x05",  # the version as a number
        b"\x18\x05",  # the environment as a number
        b"\x11abcdefgh",  # the version as eight bytes
        b"\x1dabcd",  # the environment as four
        b"\x08\x01\x08\x02",  # the protocol twice
        b"\x12\x01a\x12\x01b",  # the version twice
        b"\x1a\x06\x0a\x01a\x12\x01b\x1a\x06\x0a\x01a\x12\x01c",  # one variable twice
        b"\x1a\x00",  # a variable without name and value
        b"\x1a\x03\x12\x01b",  # one without a name
        b"\x1a\x06\x12\x01b\x0a\x01a",  # the value first
        b"\x08\x81\x80\x80\x80\x10",  # more bits than a uint32 has
        b"\x08\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01",  # as many bytes as a number may have
        b"\x88\x00\x01",  # a field number with a byte too many
    ],
    ids=lambda data: data.hex(),
)
def test_an_odd_spelling_means_what_it_means_to_protobuf(data):
    assert ours(data) == theirs(data) is not None


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01",  # field number 0
        b"\x12\x01\xff",  # a version that is not UTF-8
        b"\x1a\x03\x0a\x01\xff",  # nor is this name
        b"\x1a\x03\x12\x01\xff",  # nor this value
        b"\x1a\x03\x0a\x05a",  # a name that is longer than its variable
        b"\x12\xff\xff\xff\xff\x0f",  # a length that no message has
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # one that is negative elsewhere
        b"\x08" + b"\x80" * 10 + b"\x01",  # a number of eleven bytes
        b"\x08" + b"\xff" * 1000,  # one without an end
        b"\x0e\x01",  # spellings 6 and 7 do not exist
        b"\x0f\x01",
        b"\x0c",  # the end of a group that has not begun
        b"\x80\x80\x80\x80\x80\x01\x01",  # a field number over 32 bits
    ],
    ids=lambda data: data.hex()[:24],
)
def test_what_is_no_message_is_refused_as_protobuf_refuses_it(data):
    assert ours(data) is None
    assert theirs(data) is None


@given(data=st.binary(max_size=64))
def test_of_any_bytes_either_a_hello_is_made_or_a_value_error(data):
    ours(data)


def test_many_variables_are_read():
    env = {f"NAME_{number}": "x" * 50 for number in range(5_000)}
    assert ours(m.Hello(core_protocol=1, env=env).SerializeToString()) == (1, "", env)


@given(name=TEXT, version=TEXT, capabilities=WORDS, requires=WORDS, conflicts=WORDS, metadata=MAPS)
def test_any_plugin_info_is_read_by_protobuf_as_it_was_meant(
    name, version, capabilities, requires, conflicts, metadata
):
    written = encode_plugin_info(name, version, capabilities, requires, conflicts, metadata)
    assert m.PluginInfo.FromString(written) == m.PluginInfo(
        name=name,
        version=version,
        protocol=1,
        capabilities=capabilities,
        requires=requires,
        conflicts_with=conflicts,
        metadata=metadata,
    )


@pytest.mark.parametrize("size", [127, 128, 16_383, 16_384])
def test_a_length_is_right_where_its_number_takes_a_byte_more(size):
    written = encode_plugin_info("x" * size, "1", ["y" * size], [], [], {"k": "z" * size})
    info = m.PluginInfo.FromString(written)
    assert [len(info.name), len(info.capabilities[0]), len(info.metadata["k"])] == [size] * 3


def test_text_that_utf_8_cannot_say_is_refused():
    with pytest.raises(ValueError):
        encode_plugin_info("\ud800", "1", [], [], [], {})
