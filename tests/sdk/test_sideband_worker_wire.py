"""The worker's lines and messages, in memory: it reads and writes what json does."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk.sideband_worker.link import Link, write_all
from plughost_sdk.sideband_worker.request import Request
from plughost_sdk.sideband_worker.wire import LINE_BYTES, decode, encode

texts = st.text(st.characters())  # surrogates too
members = st.recursive(
    texts | st.booleans() | st.integers(), lambda inner: st.dictionaries(texts, inner), max_leaves=10
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)


@given(st.dictionaries(texts, members))
def test_what_is_encoded_is_one_line_of_json(message):
    line = encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == message


@given(anything, st.booleans())
def test_what_is_decoded_is_what_json_reads_if_it_is_an_object(value, ascii_only):
    line = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")
    read = json.loads(line)
    assert decode(line) == (read if isinstance(read, dict) else None)


@pytest.mark.parametrize(
    "line", [b"", b"{", b'{"a":1}x', b'{"a":Infinity}', b"\xff", b"{'a':1}", b'{"a":1,}', b"\xef\xbb\xbf{}"]
)
def test_what_is_no_json_is_nothing(line):
    assert decode(line) is None


@pytest.fixture
def ends():
    """A link over pipes, and the host's ends: (link, control, answers, payload)."""
    pipes = [os.pipe() for _ in range(3)]
    yield Link(pipes[0][0], pipes[1][1], pipes[2][0]), pipes[0][1], pipes[1][0], pipes[2][1]
    for fd in [fd for pipe in pipes for fd in pipe]:
        try:
            os.close(fd)
        except OSError:
            pass


WIRE = b'{"a":1}\n\n  \r\n{"b":2}\r\n{"unfinished'


@pytest.mark.parametrize("cut", range(len(WIRE) + 1))
def test_lines_are_the_same_however_they_are_cut(ends, cut):
    link, control, _, _ = ends
    os.write(control, WIRE[:cut])
    lines = link.lines()
    found = [next(lines) for _ in range(WIRE[:cut].count(b"}\n") + WIRE[:cut].count(b"}\r\n"))]
    os.write(control, WIRE[cut:])
    os.close(control)
    assert [*found, *lines] == [b'{"a":1}', b'{"b":2}\r']
    assert link.ignored == 0


def test_a_payload_is_taken_exactly_and_its_end_is_seen(ends):
    link, _, _, payload = ends
    os.write(payload, b"abcdef")
    assert (link.payload.take(b""), link.payload.take(b"abcd")) == (b"", b"abcd")
    os.close(payload)
    assert link.payload.take(b"efgh") == b"ef"


def test_a_host_that_is_gone_is_told_nothing_more(ends):
    link, _, answers, _ = ends
    link.send({"type": "x"})
    assert os.read(answers, 100) == b'{"type":"x"}\n'
    os.close(answers)
    link.send({"type": "x"})
    assert not link.open
    link.send({"type": "x"})


def test_a_forked_child_has_no_descriptor_of_the_link(ends):
    link, control, _, _ = ends
    link.forget()
    assert link.forked
    assert not link.open
    with pytest.raises(BrokenPipeError):
        write_all(control, b"x")


def test_the_cap_of_a_line_is_the_contracts():
    assert LINE_BYTES == 33_554_432


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\n", [b"a\n"]),
        (b"a\nb", [b"a\n", b"b\n"]),
        (b"\n\n", [b"\n", b"\n"]),
        (b"a\rb\x0cc\r\n", [b"a\rb\x0cc\r\n"]),
        (b"", [b""]),
        (b"\x04\n", [b""]),
        (b"\x04a\n", [b"\x04a\n"]),
    ],
)
def test_an_answer_is_read_line_by_line_and_ctrl_d_is_its_end(data, lines):
    request = Request(1, None, "")
    request.answer(data)
    assert [request.lines.get_nowait() for _ in lines] == lines
    assert request.lines.empty()


def test_a_request_that_is_closed_is_at_its_end_for_every_reader():
    request = Request(None, None, "")
    request.answer(b"never read\n")
    request.close()
    assert request.lines.get_nowait() is None
    assert request.tagged(type="x") == {"type": "x"}
