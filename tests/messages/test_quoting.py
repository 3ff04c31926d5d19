"""Text from a plugin in a sentence of ours: one line, and nothing in it that cannot be seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.messages.quoting import one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", r"a\x0ab"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x85", r"\x85"),
        ("\u2028", r"\u2028"),
        ("\u202e", r"\u202e"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text, shown):
    assert one_line(text) == shown


@pytest.mark.parametrize("text", ["", "a b", "ä € 😀", "👩‍🔬", r"\x0a"])
def test_what_can_be_seen_stays_as_it_is(text):
    assert one_line(text) == text


@given(st.text(st.characters()))
def test_every_text_becomes_one_line_of_utf8(text):
    assert len(one_line(text).splitlines()) <= 1
    one_line(text).encode()
