"""What a meter counts is what a decoder would make, however the text is cut, and without decoding it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.messages.depth import MAX_DEPTH
from plughost.messages.meter import Meter

texts = st.text(st.sampled_from('ab"\\,:[]{}é😀\n'))
trees = st.recursive(
    st.none() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=30,
)


def measured(text, size):
    meter = Meter()
    for start in range(0, len(text), size):
        meter.feed(text[start : start + size])
    return meter


def tokens(value):
    """Return how many `[`, `{`, `,` and `:` the text of *value* has outside its strings."""
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(tokens, value))
    if isinstance(value, dict):
        return 1 + max(0, len(value) - 1) + len(value) + sum(map(tokens, value.values()))
    return 0


@given(trees, st.integers(1, 9), st.booleans())
def test_values_are_counted_outside_strings_however_the_text_is_cut(tree, size, ascii_only):
    text = json.dumps(tree, ensure_ascii=ascii_only).encode()
    meter = measured(text, size)
    assert (meter.values, meter.size, meter.end()) == (tokens(tree), len(text), None)


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize(("opener", "closer"), [(b"[", b"]"), (b'{"[":', b"}")])
def test_the_depth_that_is_allowed_is_exactly_that_of_a_decoder(opener, closer, size):
    deepest = opener * MAX_DEPTH + b"0" + closer * MAX_DEPTH
    assert measured(b"[" + b",".join([deepest[1:-1]] * 3) + b"]", size).end() is None
    assert measured(opener + deepest + closer, size).end() == f"nested more than {MAX_DEPTH} deep"


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
@pytest.mark.parametrize(
    ("text", "flaw"),
    [(b'"\xff"', 1), (b'"\xc3\xa9\xf0\x9f\x98"', 3), (b'"\xc3', 1), (b'"\xed\xa0\x80"', 1)],
)
def test_what_is_not_utf_8_is_found_at_its_byte_however_it_is_cut(text, flaw, size):
    assert measured(text, size).end() == f"not UTF-8 at byte {flaw}"


def test_a_string_of_any_length_is_not_searched_for_values():
    assert measured(b'["' + b'[{,:\\"' * 100_000 + b'",1]', 65_536).values == 2


@pytest.mark.parametrize("size", [100, 4_096, 65_536])
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(("character", "width"), [("a", 1), ("é", 1), ("中", 2), ("😀", 4)])
def test_a_long_string_takes_as_much_for_each_character_as_for_its_widest(
    character, width, ascii_only, is_first, size
):
    text = character + "a" * 200_000 if is_first else "a" * 200_000 + character
    held = measured(json.dumps([text, "b"], ensure_ascii=ascii_only).encode(), size).held
    if ascii_only and character == "é":  # written as an escape: how wide it is, is not looked at
        width = 2
    assert width * 200_000 <= held <= width * 200_020


@pytest.mark.parametrize(("ascii_only", "width"), [(False, 2), (True, 4)])
def test_a_long_string_of_wide_characters_is_not_counted_by_its_bytes(ascii_only, width):
    text = json.dumps("中" * 200_000, ensure_ascii=ascii_only).encode()
    assert measured(text, 65_536).held <= 1.1 * width * 200_000


@given(st.integers(1, 9))
def test_an_escape_is_seen_wherever_it_is_cut(size):
    text = b'"' + b"a" * 1_000 + rb"\ud83d\ude00" + b'"'
    assert measured(text, size).held >= 4 * 1_000
