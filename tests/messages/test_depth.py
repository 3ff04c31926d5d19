"""How deep JSON is nested, counted over flat bytes."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plughost.messages.depth import MAX_DEPTH, exceeds

MIB = 1_048_576
WINDOW = 65_536  # brackets that are summed at once


def deepest(text):
    """Count slowly, byte by byte: how deep does *text* get?"""
    depth = deepest = 0
    inside = escaped = False
    for byte in text:
        if escaped:
            escaped = False
        elif inside and byte == ord("\\"):
            escaped = True
        elif byte == ord('"'):
            inside = not inside
        elif not inside and byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif not inside and byte in b"]}":
            depth -= 1
    return deepest


@settings(max_examples=400)
@given(
    text=st.text('[]{}"\\a,\n', max_size=60).map(str.encode),
    limit=st.integers(0, 6),
)
@example(text=b'"\\"[[[', limit=1)
@example(text=b'"\\\\"[[[', limit=1)
@example(text=b'[["', limit=1)
@example(text=b'[["\\', limit=1)
@example(text=b'["\n[["]', limit=1)
@example(text=b'\\"[[', limit=1)
def test_it_agrees_with_a_slow_count_on_any_text(text, limit):
    assert exceeds(text, limit) == (deepest(text) > limit)


@given(
    value=st.recursive(
        st.text('[]{}"\\a', max_size=6),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.text("[}a", max_size=2), inner, max_size=2)
        ),
        max_leaves=12,
    ),
    limit=st.integers(0, 6),
)
def test_it_agrees_with_the_depth_of_any_json_value(value, limit):
    def depth(value):
        if isinstance(value, str):
            return 0
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth, inner), default=0)

    assert exceeds(json.dumps(value).encode(), limit) == (depth(value) > limit)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_the_limit_is_kept_to_the_bracket(opening):
    assert MAX_DEPTH == 256
    assert not exceeds(opening * (MAX_DEPTH - 1))
    assert not exceeds(opening * MAX_DEPTH)
    assert exceeds(opening * (MAX_DEPTH + 1))


def test_many_brackets_that_are_not_nested_are_not_deep():
    assert not exceeds(b"[" + b"[],{}," * 10_000 + b"[]]", 2)


def test_brackets_in_strings_do_not_count():
    assert not exceeds(b'["' + b"[{" * 1000 + b'"]')
    assert not exceeds(b'["' + b'\\"[' * 1000 + b'"]')


def test_brackets_after_an_escaped_backslash_and_the_end_of_its_string_count():
    assert exceeds(b'["\\\\",' + b"[" * 1000)


def test_brackets_in_a_string_that_never_ends_do_not_count():
    assert not exceeds(b'["' + b"[" * 1000)
    assert not exceeds(b'["' + b"[" * 1000 + b"\\")


def test_text_that_is_not_utf8_is_counted_all_the_same():
    assert exceeds(b"\xff\xfe" + b"[" * 300)


@pytest.mark.parametrize("before", range(WINDOW - 302, WINDOW + 4, 17))
def test_depth_is_carried_over_from_one_window_to_the_next(before):
    flat = b"[]" * (before // 2) + b"[" * 300
    assert exceeds(flat, 299)
    assert not exceeds(flat, 300)


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (b"[" * 4_000_000, True),
        (b"[" * 4_000_000 + b"]" * 4_000_000, True),
        (b"]" * 4_000_000, False),
        (b"[]" * 2_000_000, False),
        (b'{"a":[' * 200_000 + b"[" * 3_600_000, True),
    ],
    ids=["open", "closed", "only closing", "flat", "mixed"],
)
def test_four_million_brackets_are_counted(text, deep):
    assert exceeds(text) is deep


@pytest.mark.parametrize(
    "text",
    [
        b'\\"' * MIB,
        b'"' + b'\\"' * MIB,
        b'"' + b"\\" * MIB,
        b'"' * MIB,
        b'"a' * MIB,
        b'"' + b"a" * MIB,
    ],
    ids=[
        "escaped quotes",
        "escaped quotes in a string",
        "backslashes",
        "quotes",
        "open strings",
        "one long string",
    ],
)
def test_a_mebibyte_of_quotes_and_backslashes_is_no_trap(text):
    brackets = b"[" * (MAX_DEPTH + 1)
    assert exceeds(brackets + text)
    assert exceeds(text + brackets) is (deepest(text + brackets) > MAX_DEPTH)
