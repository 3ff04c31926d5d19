"""The border where a plugin's bytes become values: exactly one message, or exactly one kind of error."""

import gc
import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from plughost.errors import LocalProtocolError, RemoteProtocolError
from plughost.messages import strict_json
from plughost.messages.depth import MAX_DEPTH
from plughost.messages.strict_json import LARGE_FRAME, Decoder, encode


class Inner(Struct):
    count: int = 0


class Message(Struct):
    text: str = ""
    number: float = 0.0
    inner: Inner | None = None
    items: list[Inner] = []
    table: dict[str, int] = {}
    anything: Any = None


DECODER = Decoder(Message, "message")

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abä", max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(value=JSON, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_any_json_value_is_decoded_as_it_was_meant(value, indent, ascii_only):
    frame = json.dumps({"anything": value}, indent=indent, ensure_ascii=ascii_only).encode()
    assert DECODER.decode(frame).anything == value


@given(value=JSON)
def test_what_is_encoded_is_decoded_the_same(value):
    assert DECODER.decode(encode({"anything": value}, "message")).anything == value


@settings(max_examples=300)
@given(junk=st.binary(max_size=60) | st.text('{}[]":,\\ue0d81tfn-+ \n', max_size=40).map(str.encode))
def test_any_bytes_are_a_message_or_a_remote_protocol_error(junk):
    try:
        message = DECODER.decode(junk)
    except RemoteProtocolError:
        return
    assert isinstance(message, Message)
    assert isinstance(json.loads(junk.decode("utf-8")), dict)


@given(value=JSON, data=st.data())
def test_a_message_that_is_cut_off_anywhere_is_an_error(value, data):
    frame = encode({"anything": value}, "message")
    at = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(RemoteProtocolError):
        DECODER.decode(frame[:at])


FAULTS = {
    "nothing": b"",
    "blanks": b" \t\r\n",
    "null": b"null",
    "a number": b"5",
    "a string": b'"x"',
    "an array": b"[{}]",
    "text": b"Traceback (most recent call last):",
    "half an object": b'{"text":"a"',
    "a single quote": b"{'text':'a'}",
    "a trailing comma": b'{"text":"a",}',
    "a comment": b'{"text":"a"} // done',
    "trailing garbage": b'{"text":"a"}x',
    "a trailing NUL": b'{"text":"a"}\0',
    "two objects": b'{"text":"a"}{"text":"b"}',
    "two objects with a blank": b'{"text":"a"} {"text":"b"}',
    "a byte order mark": b'\xef\xbb\xbf{"text":"a"}',
    "UTF-16": '{"text":"a"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"text":"a"}'.encode("utf-16-le"),
    "UTF-32": '{"text":"a"}'.encode("utf-32"),
    "NaN": b'{"anything":NaN}',
    "NaN as a number": b'{"number":NaN}',
    "NaN in an unknown field": b'{"unknown":NaN}',
    "Infinity": b'{"anything":Infinity}',
    "-Infinity": b'{"anything":-Infinity}',
    "a leading zero": b'{"anything":01}',
    "a leading plus": b'{"anything":+1}',
    "a bare point": b'{"anything":1.}',
    "hexadecimal": b'{"anything":0x1}',
    "capital True": b'{"anything":True}',
    "a raw control character": b'{"text":"a\x01"}',
    "a raw tab": b'{"text":"a\tb"}',
    "a raw line feed in an unknown field": b'{"unknown":"a\nb"}',
    "an unknown escape": b'{"text":"\\q"}',
    "a lone high surrogate": b'{"text":"\\ud800"}',
    "a lone low surrogate": b'{"text":"\\udc00"}',
    "surrogates in the wrong order": b'{"text":"\\udc00\\ud800"}',
    "a lone surrogate before text": b'{"text":"\\ud800abcdefgh"}',
    "a lone surrogate in an unknown field": b'{"unknown":"\\ud800 and more text"}',
    "a lone surrogate in a key": b'{"\\ud800 and more text":1}',
    "raw surrogate bytes": b'{"text":"\xed\xa0\x80"}',
    "invalid UTF-8": b'{"text":"\xff"}',
    "overlong UTF-8": b'{"text":"\xc0\xaf"}',
    "truncated UTF-8": b'{"text":"\xe2\x82"}',
    "invalid UTF-8 in an unknown field": b'{"unknown":"\xff"}',
    "invalid UTF-8 in a key": b'{"\xff":1}',
    "invalid UTF-8 deep in an unknown field": b'{"unknown":[{"a":["\xff"]}]}',
    "invalid UTF-8 after the object": b"{}\xff",
}


@pytest.mark.parametrize("frame", FAULTS.values(), ids=FAULTS.keys())
def test_what_is_not_exactly_one_strict_object_is_a_remote_protocol_error(frame):
    with pytest.raises(RemoteProtocolError) as caught:
        DECODER.decode(frame)
    assert str(caught.value).startswith("message: ")
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("frame", "path"),
    [
        (b'{"text":5}', "$.text"),
        (b'{"text":null}', "$.text"),
        (b'{"inner":{"count":"5"}}', "$.inner.count"),
        (b'{"inner":{"count":true}}', "$.inner.count"),
        (b'{"inner":{"count":1.5}}', "$.inner.count"),
        (b'{"inner":[]}', "$.inner"),
        (b'{"items":[{},{"count":[]}]}', "$.items[1].count"),
        (b'{"table":{"a":1,"b":"2"}}', "$.table[...]"),
        (b'{"text":"a","text":5}', "$.text"),
        (b'{"number":1e999}', "$.number"),
        (b'{"anything":1e999}', "$.anything"),
        (b'{"anything":-1e999}', "$.anything"),
        (b'{"anything":' + b"1" * 5000 + b"}", "$.anything"),
        (b'{"inner":{"count":' + b"1" * 5000 + b"}}", "$.inner.count"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_by_its_path(frame, path):
    with pytest.raises(RemoteProtocolError) as caught:
        DECODER.decode(frame)
    assert f"`{path}`" in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (b'{"unknown":{"text":"x"},"text":"a"}', "a"),
        (b' {"text" : "a"} \r\n', "a"),
        (b'{"text":"a","text":"b"}', "b"),
        (b'{"text":"a","te\\u0078t":"b"}', "b"),
        (b'{"text":"\\ud83d\\ude00"}', "\U0001f600"),
        ('{"text":"\U0001f600ä"}'.encode(), "\U0001f600ä"),
        (b'{"text":"\\u0000"}', "\0"),
    ],
)
def test_unknown_fields_blanks_repeated_keys_and_escapes_are_no_faults(frame, text):
    assert DECODER.decode(frame).text == text


def test_the_error_of_a_hostile_frame_can_be_printed_and_encoded():
    for frame in (*FAULTS.values(), b'{"text":"\\ud800"}', b"\x1b]52;c;" + b"x" * 1000):
        with pytest.raises(RemoteProtocolError) as caught:
            DECODER.decode(frame)
        assert str(caught.value).encode()


@pytest.mark.parametrize("field", [b"anything", b"unknown", b"text"])
def test_nesting_over_the_limit_is_refused_in_every_field(field):
    depth = MAX_DEPTH  # and one more for the object around it
    with pytest.raises(RemoteProtocolError):
        DECODER.decode(b'{"' + field + b'":' + b"[" * depth + b"]" * depth + b"}")


def test_nesting_up_to_the_limit_is_decoded():
    depth = MAX_DEPTH - 1
    message = DECODER.decode(b'{"anything":' + b"[" * depth + b"]" * depth + b"}")
    for _ in range(depth - 1):
        (message.anything,) = message.anything
    assert message.anything == []


@pytest.mark.parametrize("error", [RecursionError, MemoryError, OverflowError, ValueError, TypeError])
def test_whatever_goes_wrong_inside_the_decoder_is_a_remote_protocol_error(error):
    class Trap(Struct):
        def __post_init__(self):
            raise error("inside")

    with pytest.raises(RemoteProtocolError):
        Decoder(Trap, "message").decode(b"{}")


# A decoder that recurses too deep in C does not raise: the process dies. So these run in a process of their own.
DEEP = """
import sys, threading
from typing import Any
from msgspec import Raw, Struct
from plughost.errors import RemoteProtocolError
from plughost.messages.strict_json import Decoder

class Message(Struct):
    anything: Any = None
    raw: Raw = Raw(b"null")

def check():
    decoder = Decoder(Message, "message")
    for field in ("anything", "raw", "unknown"):
        for depth in (300, 600, 5_000, 100_000, 4_000_000):
            for closed in (b"", b"]" * depth):
                try:
                    decoder.decode(b'{"%b":%b%b}' % (field.encode(), b"[" * depth, closed))
                except RemoteProtocolError:
                    refused.append(depth)
        decoder.decode(b'{"%b":%b%b}' % (field.encode(), b"[" * 255, b"]" * 255))
    finished.append(True)

refused, finished = [], []
"""
IN_A_THREAD = (
    "threading.stack_size({}); thread = threading.Thread(target=check); thread.start(); thread.join()\n"
)


@pytest.mark.parametrize(
    "how",
    [
        IN_A_THREAD.format(256 * 1024),
        IN_A_THREAD.format(128 * 1024),
        "sys.setrecursionlimit(10**6); check()\n",
        "sys.setrecursionlimit(10**6); " + IN_A_THREAD.format(256 * 1024),
    ],
    ids=["256 KiB stack", "128 KiB stack", "recursion limit raised", "both"],
)
def test_no_depth_kills_the_process_whatever_its_stack_and_recursion_limit(how):
    program = DEEP + how + "sys.exit(0 if finished and len(refused) == 30 else 1)"
    child = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, timeout=250, check=False
    )
    assert (child.returncode, child.stderr) == (0, b"")


@pytest.fixture
def collector():
    """Leave the garbage collector as it was found."""
    was_on = gc.isenabled()
    yield gc
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_is_left_as_it_was(collector, on, good):
    (gc.enable if on else gc.disable)()
    body = b'"x"' if good else b"NaN"
    frame = b'{"anything":[' + b"[]," * LARGE_FRAME + body + b"]}"
    if good:
        assert len(DECODER.decode(frame).anything) == LARGE_FRAME + 1
    else:
        with pytest.raises(RemoteProtocolError):
            DECODER.decode(frame)
    assert gc.isenabled() is on


def test_a_large_frame_is_decoded_without_the_garbage_collector_walking_it_again_and_again(collector):
    gc.enable()
    runs = []

    def note(phase, info):
        runs.append(phase)

    frame = b'{"anything":[' + b"[]," * LARGE_FRAME + b"[]]}"
    gc.collect()
    gc.callbacks.append(note)
    try:
        message = DECODER.decode(frame)
    finally:
        gc.callbacks.remove(note)
    assert len(message.anything) == LARGE_FRAME + 1
    assert runs.count("start") <= 1  # the one that was due when it was let go again


class Unspeakable:
    pass


def cycle():
    value: list = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [Unspeakable(), "\ud800", {"\ud800": 1}, {(1, 2): 3}, [Unspeakable], cycle()],
    ids=[
        "an object",
        "a lone surrogate",
        "one in a key",
        "a tuple as key",
        "a class",
        "a cycle",
    ],
)
def test_what_json_cannot_say_is_a_local_protocol_error(value):
    with pytest.raises(LocalProtocolError) as caught:
        encode({"input": value}, "request")
    assert str(caught.value).startswith("request: ")
    assert caught.value.__cause__ is not None


def test_what_is_encoded_is_one_line_of_utf8():
    frame = encode({"text": "line\nfeed \u2028 ä"}, "message")
    assert b"\n" not in frame
    assert json.loads(frame.decode()) == {"text": "line\nfeed \u2028 ä"}


def test_integers_of_any_usual_size_are_exact_both_ways():
    for number in (2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1):
        assert DECODER.decode(encode({"anything": number}, "message")).anything == number


def test_a_float_keeps_its_value():
    assert math.isclose(DECODER.decode(b'{"number":1e308}').number, 1e308, rel_tol=0)
    assert strict_json.encode(0.1, "x") == b"0.1"
