"""A worker's stderr as log lines: parsed whatever it is, and shown as one line whatever is in it."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.record.log_lines import (
    CUT_AT,
    CUT_MARK,
    PARSE_LIMIT,
    RENDER_LIMIT,
    TRUNCATED,
    LogLine,
    LogSplitter,
    parse,
    render,
)

AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def shown(message="m", level="INFO", context=None, **tags):
    line = LogLine(level, message, context or {})
    return render(line, **{"at": AT, "host": "h", "plugin": "p", "pid": 7, **tags})


def said(message="m", context=None):
    return shown(message, context=context).partition("[worker:7] ")[2]


# Parsing


@pytest.mark.parametrize(
    ("level", "parsed"),
    [
        ("DEBUG", "DEBUG"),
        ("info", "INFO"),
        ("Warn", "WARNING"),
        ("WARNING", "WARNING"),
        ("error", "ERROR"),
        ("CRITICAL", "CRITICAL"),
        ("loud", "INFO"),
        ("", "INFO"),
        (30, "INFO"),
        (None, "INFO"),
        ([], "INFO"),
    ],
)
def test_a_level_is_one_of_five_and_info_when_it_is_none_of_them(level, parsed):
    assert parse(json.dumps({"level": level, "message": "m"}).encode()) == LogLine(parsed, "m")


def test_a_line_may_do_without_level_and_context_and_have_other_keys():
    assert parse(b' {"message": "m", "time": 1}\r') == LogLine("INFO", "m")


@pytest.mark.parametrize(
    ("message", "text"),
    [(1, "1"), (None, "null"), (True, "true"), ([1, "ä"], '[1,"ä"]'), ({"a": 1}, '{"a":1}')],
)
def test_a_message_that_is_no_text_becomes_one(message, text):
    assert parse(json.dumps({"message": message}).encode()) == LogLine("INFO", text)


@pytest.mark.parametrize("context", [1, "x", [1], None, True])
def test_a_context_that_is_no_object_is_ignored(context):
    assert parse(json.dumps({"message": "m", "context": context}).encode()) == LogLine("INFO", "m")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"plain",
        b"{",
        b"[]",
        b'"message"',
        b"{}",
        b'{"level": "INFO"}',
        b'{"message": "m"} x',
        b'{"message": "m"}{"message": "m"}',
        b'{"message": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"message": ' + b'{"a":' * 10_000,
        b'{"message": ' + b"9" * 20_000 + b"}",
        '{"message": "m"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"message": "m"}',
    ],
)
def test_every_other_line_is_no_log_line(line):
    assert parse(line) is None


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_line_is_parsed_up_to_its_limit(over):
    line = b'{"message": "m"}'.ljust(PARSE_LIMIT + over)
    assert (parse(line) is None) == (over > 0)


def test_odd_numbers_and_odd_text_do_not_cost_a_line():
    line = parse(b'{"message": "\xff\\ud800", "context": {"a": NaN, "b": 1e999, "c": -0.0}}')
    assert render(line, at=AT, host="h", plugin="p", pid=7).endswith(r"\udcff\ud800 a=NaN b=Infinity c=-0.0")


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps({"message": "m", "x": value}).encode()))
def test_no_line_at_all_makes_the_parser_fail(line):
    parse(line)


# Rendering


def test_a_line_begins_with_time_level_and_the_tags_that_have_a_value():
    head = "2026-01-02T03:04:05.678Z"
    assert shown() == f"{head} [INFO ] [host:h][plugin:p][worker:7] m"
    tags = {"equipment": "e", "project": "j", "run_kind": "k", "run": "r"}
    tagged = f"{head} [ERROR] [host:h][equip:e][proj:j][kind:k][run:r][plugin:p][worker:7] m"
    assert shown(level="CRITICAL", **tags) == tagged
    assert shown(level="WARNING") == f"{head} [WARN ] [host:h][plugin:p][worker:7] m"


def test_the_context_stands_behind_the_message_as_keys_and_values():
    context = {
        "n": 1,
        "path": "a/b.txt",
        "two words": "x y",
        "none": None,
        "empty": "",
        "list": [1, {"k": "v"}],
    }
    assert (
        said(context=context) == 'm n=1 path=a/b.txt "two words"="x y" none=null empty="" list=[1,{"k":"v"}]'
    )


@pytest.mark.parametrize(
    "char", "\n\r\t\0\x0b\x1b\x7f\x85\u2028\u2029\u202e\u2066\u200f\u200b\ufeff\ud800\udcff"
)
def test_no_character_ends_the_line_or_hides(char):
    for line in (said(f"a{char}b"), said(context={"k": f"a{char}b"}), said(context={f"a{char}b": 1})):
        assert char not in line
        assert "\\" in line
    for name in ("host", "plugin", "equipment", "project", "run_kind", "run"):
        assert char not in shown(**{name: f"a{char}b"})


@pytest.mark.parametrize("text", ["ä € 😀", "👩‍🔬", "[x] done", r"back\slash", "nbsp\u00a0"])
def test_ordinary_text_stays_as_it_is(text):
    assert said(text) == text


def test_a_tag_cannot_be_forged_from_inside():
    forged = "x][plugin:other] [host:evil]"
    lines = [
        shown(forged),
        shown(context={"k": forged}),
        shown(context={forged: 1}),
        shown(context={"k": {forged: [forged]}}),
        shown(host=forged),
        shown(run=forged),
    ]
    for line in lines:
        assert line.count("[plugin:") == line.count("[host:") == line.count("[worker:") == 1
        assert "[plugin:p][worker:7] " in line


def test_secrets_are_not_shown():
    line = said(
        "see https://u:hunter2@h and Bearer hunter2", {"Token": "hunter2", "a": {"password": "hunter2"}}
    )
    assert line == 'see https://u:***@h and Bearer *** Token=*** a={"password":"***"}'
    assert "hunter2" not in said(context={"url": "https://u:hunter2@h"})


@pytest.mark.parametrize("char", ["x", "ä", "€", "😀"])
@pytest.mark.parametrize("over", [-1, 0, 1, 5, 60_000])
def test_a_line_is_cut_at_its_limit_between_characters_and_says_so(char, over):
    room = RENDER_LIMIT - len(shown("").encode())
    message = char * (room // len(char.encode()) + over)
    line = shown(message)
    assert (line == shown("") + message) == (over <= 0)
    if over > 0:
        kept = line.removesuffix(TRUNCATED)
        assert kept != line
        assert RENDER_LIMIT - 4 < len(kept.encode()) <= RENDER_LIMIT
        assert (shown("") + message).startswith(kept)


@given(st.text(), st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.text(max_size=100))
def test_whatever_is_logged_is_one_bounded_line_of_utf8(message, context, tag):
    line = render(LogLine("INFO", message, context), at=AT, host=tag or "h", plugin="p", pid=7, run=tag)
    assert len(line.splitlines()) == 1
    assert len(line.encode()) <= RENDER_LIMIT + len(TRUNCATED)


# Splitting


def split(*pieces):
    splitter, items = LogSplitter(), []
    for piece in pieces:
        items += splitter.receive_data(piece)
    return splitter, [*items, *splitter.receive_eof()]


def test_lines_come_as_log_lines_or_as_the_bytes_they_are():
    data = b'plain\r\n{"message": "m"}\n\n{"x": 1}\n{"message": "last"}'
    _, items = split(data)
    assert items == [b"plain\r", LogLine("INFO", "m"), b"", b'{"x": 1}', LogLine("INFO", "last")]


def test_a_line_comes_when_it_is_whole_and_the_last_one_at_the_end():
    splitter = LogSplitter()
    assert splitter.receive_data(b"a\nb") == [b"a"]
    assert splitter.receive_data(b"c\n") == [b"bc"]
    assert splitter.receive_eof() == []
    assert splitter.receive_data(b"d") == []
    assert splitter.receive_eof() == [b"d"]
    assert splitter.receive_eof() == []


@given(st.lists(st.sampled_from([b"a", b"\n", b'{"message":', b' "m"}', b"\r", b"\xff"]), max_size=12))
def test_lines_do_not_depend_on_how_the_bytes_were_cut(pieces):
    assert split(*pieces)[1] == split(b"".join(pieces))[1]


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("over", [-1, 0, 1, 3 * CUT_AT])
def test_a_long_line_comes_in_marked_pieces_and_none_of_it_is_lost(over, pieces):
    line = bytes(ord("a") + at % 26 for at in range(CUT_AT + over))
    step = len(line) // pieces + 1
    splitter, items = split(*(line[at : at + step] for at in range(0, len(line), step)), b"\nnext\n")
    *long, after = items
    assert after == b"next"
    assert splitter.cut == len(long) - 1 == {-1: 0, 0: 0, 1: 1, 3 * CUT_AT: 3}[over]
    assert all(piece.endswith(CUT_MARK) for piece in long[:-1])
    assert b"".join(piece.removesuffix(CUT_MARK) for piece in long) == line


def test_the_rest_of_a_long_line_is_never_taken_for_a_log_line():
    _, items = split(b"x" * CUT_AT + b'{"message": "forged"}\n{"message": "real"}\n')
    assert items[1:] == [b'{"message": "forged"}', LogLine("INFO", "real")]


def test_an_endless_line_is_passed_on_and_not_held():
    splitter, passed = LogSplitter(), 0
    for _ in range(200):
        passed += sum(len(item) - len(CUT_MARK) for item in splitter.receive_data(b"x" * 65_536))
        assert splitter.cut * CUT_AT == passed
    assert passed >= 200 * 65_536 - CUT_AT
