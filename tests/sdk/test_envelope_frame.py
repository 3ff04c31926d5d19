"""The request's bytes to a value, bounded while they are read, and a reply to one line."""

import json
import os
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk.envelope_frame import FRAME_LIMIT, FrameRefused, read_frame, to_json
from plughost_sdk.small_json import from_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read(data):
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return read_frame(file.fileno())


@pytest.mark.parametrize("data", [b'{"a":1}', b'{"a":1}\n', b'{\n  "a": 1\n}\n', b' {"a":1}\r\n\n'])
def test_one_value_is_read_however_it_is_laid_out(data):
    assert read(data) == {"a": 1}


def test_a_frame_that_comes_in_pieces_is_read_to_its_end():
    theirs, ours = os.pipe()
    try:
        os.write(ours, b'{"a":')
        os.write(ours, b"[1]}\n")
        os.close(ours)
        assert read_frame(theirs) == {"a": [1]}
    finally:
        os.close(theirs)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b" \n\n", b"{", b"{}{}", b"{}\n{}\n", b"\xff", b"{'a':1}", b"[" * 100_000]
)
def test_anything_but_one_value_is_refused(data):
    with pytest.raises(FrameRefused):
        read(data)


@pytest.mark.parametrize("ending", [b"", b"\n"])
@pytest.mark.parametrize(("over", "passes"), [(-1, True), (0, True), (1, False), (100_000, False)])
def test_a_frame_is_read_up_to_its_limit_and_the_line_feed_does_not_count(over, passes, ending):
    data = b'"' + b"x" * (FRAME_LIMIT + over - 2) + b'"' + ending
    if passes:
        assert len(read(data)) == FRAME_LIMIT + over - 2
    else:
        with pytest.raises(FrameRefused, match=str(FRAME_LIMIT)):
            read(data)


def test_a_request_without_end_is_refused_before_its_end():
    with open("/dev/zero", "rb") as endless, pytest.raises(FrameRefused):
        read_frame(endless.fileno())


@given(JSON)
def test_a_value_comes_back_from_one_line(value):
    body = to_json(value)
    assert b"\n" not in body
    assert from_json(body) == value == json.loads(body)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"x", {(1,): 2}])
def test_what_is_no_json_is_an_error(value):
    with pytest.raises((ValueError, TypeError)):
        to_json({"a": value})


def test_a_lone_surrogate_becomes_a_question_mark():
    assert to_json({"a\ud800": "b\udc80"}) == b'{"a?":"b?"}'


IDLE = """
import os, select
from plughost_sdk.envelope_frame import read_frame

class Poll:
    def register(self, fd, events): pass
    def poll(self, timeout): return {ready}

select.poll = Poll
read_frame(0, ahead={ahead})
print(*(name in sys.modules for name in ("json", "pathlib")))
"""


@pytest.mark.parametrize(
    ("ahead", "ready", "imported"),
    [
        ("True", "[]", "True True"),
        ("True", "[(0, 1)]", "False False"),
        ("False", "[]", "False False"),
    ],
)
def test_what_files_need_is_imported_ahead_of_the_request_and_only_then(run_child, ahead, ready, imported):
    child = run_child(IDLE.format(ahead=ahead, ready=ready), b'{"files":[]}\n')
    assert child.stdout.decode().strip() == imported, child.stderr


@pytest.mark.parametrize("value", ["1.5", r'"\n"', '"' + "x" * 5_000 + '"'])
def test_what_is_not_small_and_plain_is_read_and_written_by_json(run_child, value):
    source = (
        "from plughost_sdk.envelope_frame import to_json\n"
        "from plughost_sdk.small_json import from_json\n"
        "value = from_json(os.read(0, 9999)) if 'json' not in sys.modules else None\n"
        "os.write(1, to_json(value)); os.write(2, str('json' in sys.modules).encode())"
    )
    child = run_child("import os\n" + source, value.encode())
    assert json.loads(child.stdout) == json.loads(value)
    assert child.stderr == b"True"
