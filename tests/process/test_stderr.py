"""A plugin's stderr: its last bytes kept, its lines passed on printable, cut and bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.process.stderr import FORWARD_LIMIT, LINE_COST, LINE_LIMIT, StderrLog, printable

HOSTILE = [
    b"\x1b[31mred\x1b[0m",
    b"\x1b]52;c;ZXZpbA==\x07",
    b"\x9b31m",
    "\x9b31m".encode(),
    b"over\rwritten",
    b"back\x08space",
    b"nul\0",
    b"\x0b\x0c\x1c\x1d\x1e\x85",
    "\x85next line".encode(),
    "\u2028line\u2029paragraph".encode(),
    "\u202ehtap\u2066".encode(),
    b"\xff\xfe invalid",
    b"\xed\xa0\x80 surrogate",
    b"\x7f",
]


def log_of(*pieces, keep=65_536):
    log, lines = StderrLog(keep), []
    for piece in pieces:
        lines += log.receive_data(piece)
    return log, [*lines, *log.receive_eof()]


def is_harmless(text):
    return all(char.isprintable() or char in " \t\n" for char in text)


@pytest.mark.parametrize("data", HOSTILE)
def test_no_control_character_stays_one_and_none_is_lost(data):
    text = printable(data)
    assert is_harmless(text)
    assert "\\" in text
    assert text.encode()


@pytest.mark.parametrize("data", [b"", b"plain", b"a\tb\nc", "ä € 😀 \u00a0".encode(), rb"back\slash"])
def test_ordinary_text_tabs_and_line_feeds_stay_as_they_are(data):
    assert printable(data) == data.decode()


@given(st.binary(max_size=80))
def test_no_bytes_at_all_can_forge_a_line_or_reach_a_terminal(data):
    text = printable(data)
    assert not any(ord(char) < 32 and char not in "\t\n" for char in text)
    assert not any(127 <= ord(char) < 160 for char in text)
    assert len(text.splitlines()) == len(text.split("\n")) - (text.endswith("\n") or not text)
    assert text.encode() is not None
    log, lines = log_of(data)
    assert len(lines) == len(data.split(b"\n")) - (data.endswith(b"\n") or not data)
    assert not any("\n" in line for line in lines)
    assert log.received == len(data)


@given(st.lists(st.binary(max_size=12), max_size=8))
def test_lines_and_tail_do_not_depend_on_how_the_bytes_were_cut(pieces):
    whole, lines = log_of(b"".join(pieces))
    cut, cut_lines = log_of(*pieces)
    assert cut_lines == lines
    assert cut.tail() == whole.tail()


def test_a_line_is_passed_on_when_its_line_feed_has_come():
    log = StderrLog(100)
    assert log.receive_data(b"one\ntw") == ["one"]
    assert log.receive_data(b"o") == []
    assert log.receive_data(b"\n\n") == ["two", ""]
    assert log.receive_eof() == []


def test_the_last_line_is_passed_on_at_the_end_even_without_its_line_feed():
    log = StderrLog(100)
    log.receive_data(b"last words")
    assert log.receive_eof() == ["last words"]
    assert log.receive_eof() == []


def test_a_carriage_return_before_the_line_feed_is_dropped_and_any_other_spelled_out():
    assert log_of(b"one\r\ntwo\rthree\n")[1] == ["one", "two\\x0dthree"]


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("over", [-1, 0, 1, 100_000])
def test_a_line_is_passed_on_up_to_its_limit_and_the_rest_of_it_is_dropped(over, pieces):
    line = b"x" * (LINE_LIMIT + over)
    step = len(line) // pieces + 1
    _, (first, second) = log_of(*(line[at : at + step] for at in range(0, len(line), step)), b"\nnext\n")
    assert second == "next"
    if over <= 0:
        assert first == line.decode()
    else:
        assert first.startswith("x" * LINE_LIMIT)
        assert len(first) < LINE_LIMIT + 20
        assert first != "x" * LINE_LIMIT


def test_an_endless_line_is_not_kept():
    log = StderrLog(100)
    for _ in range(1000):
        assert log.receive_data(b"x" * 65_536) == []
    assert log.received == 65_536_000
    assert len(log.tail()) == 100
    (line,) = log.receive_eof()
    assert len(line) < LINE_LIMIT + 20


def test_a_flood_of_lines_is_passed_on_only_so_far_and_then_counted():
    log, piece, passed = StderrLog(100), b"0123456789abcde\n" * 64, []
    for _ in range(1000):
        passed += log.receive_data(piece)
    cost = 15 + LINE_COST
    assert FORWARD_LIMIT <= cost * len(passed) <= FORWARD_LIMIT + 64 * cost
    (note,) = log.receive_eof()
    assert str(1000 * len(piece)) in note
    assert log.tail().endswith("0123456789abcde\n")


def test_a_stream_within_the_bound_ends_without_a_note():
    line = b"x" * 1023 + b"\n"
    log = StderrLog(100)
    lines = FORWARD_LIMIT // (1023 + LINE_COST)
    passed = sum(len(log.receive_data(line)) for _ in range(lines))
    assert passed == lines
    assert log.receive_eof() == []


@pytest.mark.parametrize("size", [9, 10, 11, 19, 20, 21, 1000])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_the_tail_is_the_last_bytes_to_the_byte(size, step):
    data = bytes(ord("a") + at % 26 for at in range(size))
    log, _ = log_of(*(data[at : at + step] for at in range(0, size, step)), keep=10)
    assert log.tail() == data[-10:].decode()


def test_a_tail_that_begins_inside_a_character_is_printable():
    log, _ = log_of("ä€".encode(), keep=4)
    assert is_harmless(log.tail())
    assert log.tail().endswith("€")
