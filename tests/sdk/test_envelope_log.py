"""A plugin's log: one line per call, whatever is said, and nothing that goes wrong with it reaches the plugin."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import envelope_log
from plughost_sdk.envelope_log import LINE_LIMIT, Log, line


class Unshowable:
    def __repr__(self):
        raise ValueError

    __str__ = __repr__


def record_of(message="m", **context):
    data = line("INFO", message, context)
    assert data.endswith(b"\n")
    assert len(data.decode().splitlines()) == 1
    return json.loads(data)


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_a_call_becomes_one_line_in_one_write_to_the_real_stderr(level, monkeypatch):
    written = []
    monkeypatch.setattr(os, "write", lambda fd, data: written.append((fd, bytes(data))) or len(data))
    getattr(Log(), level)("hello", path="a.txt", count=3)
    ((fd, data),) = written
    assert fd == 2
    assert data.endswith(b"\n")
    assert json.loads(data) == {
        "level": level.upper(),
        "message": "hello",
        "context": {"path": "a.txt", "count": 3},
    }


def test_the_context_is_empty_when_nothing_is_added():
    assert record_of() == {"level": "INFO", "message": "m", "context": {}}


def test_any_word_may_be_a_field(monkeypatch):
    lines = []
    monkeypatch.setattr(envelope_log.stdio, "write_all", lambda fd, data: lines.append(data))
    Log().info("m", message="a", level="b", context="c", self="d")
    assert json.loads(lines[0])["context"] == {"message": "a", "level": "b", "context": "c", "self": "d"}


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "\x85", "\u2028\u2029", "\0", '"\\', "ä€😀"])
def test_no_text_makes_a_second_line_and_none_is_changed(text):
    record = record_of(text, field=text)
    assert (record["message"], record["context"]["field"]) == (text, text)


@given(
    st.text(),
    st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)),
)
def test_whatever_is_said_is_one_line_that_says_it(message, context):
    record = json.loads(line("INFO", message, context))
    assert (record["message"], record["context"]) == (message, context)


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), {(1, 2): 3}, b"bytes", 1j])
def test_a_field_that_is_no_json_is_shown_and_the_others_stay_as_they_are(value):
    assert record_of(odd=value, even=2)["context"] == {"odd": repr(value), "even": 2}


def test_a_field_that_holds_itself_is_shown():
    endless = []
    endless.append(endless)
    assert record_of(endless=endless)["context"]["endless"] == "[[...]]"


def test_what_cannot_even_be_shown_is_said_so():
    record = record_of(Unshowable(), field=Unshowable())
    assert "Unshowable" in record["message"]
    assert "Unshowable" in record["context"]["field"]


def test_a_message_that_is_no_text_is_made_one():
    assert record_of(7)["message"] == "7"
    assert record_of(ValueError("x"))["message"] == "x"


def test_a_lone_surrogate_does_not_end_the_line():
    assert record_of("a\udc80b", field="\ud800") == {
        "level": "INFO",
        "message": "a?b",
        "context": {"field": "?"},
    }


@pytest.mark.parametrize("unit", ["x", "€", "\0", "x\n€"])
@pytest.mark.parametrize("size", [60_000, 70_000, 1_000_000])
def test_a_line_is_never_over_its_limit_and_a_cut_is_marked(unit, size):
    message = (unit * size)[:size]
    data = line("INFO", message, {"path": "a.txt"})
    record = json.loads(data)
    assert len(data) <= LINE_LIMIT
    assert record["context"] == {"path": "a.txt"}
    whole = unit == "x" and size < LINE_LIMIT
    assert (record["message"] == message) is whole
    if not whole:
        assert len(data) > LINE_LIMIT - 200
        assert record["message"].endswith(envelope_log.CUT)
        assert message.startswith(record["message"].removesuffix(envelope_log.CUT))


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_line_of_exactly_the_limit_is_whole(over):
    room = LINE_LIMIT - len(line("INFO", "", {}))
    data = line("INFO", "x" * (room + over), {})
    assert len(data) <= LINE_LIMIT
    assert (envelope_log.CUT.encode() not in data) is (over <= 0)


def test_a_context_that_is_too_long_is_left_out_and_that_is_said():
    record = record_of("m", path="a.txt", data="x" * 100_000)
    assert record["message"] == "m"
    assert "100" in record["context"]["left_out"]


@pytest.mark.parametrize("error", [OSError("closed"), MemoryError(), ValueError("odd")])
def test_a_log_never_raises(error, monkeypatch):
    def fail(fd, data):
        raise error

    monkeypatch.setattr(envelope_log.stdio, "write_all", fail)
    Log().error("nobody hears this")
