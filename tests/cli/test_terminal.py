"""What the terminal is given to print: nothing that a plugin wrote speaks to it."""

from __future__ import annotations

import pytest

from plughost.frontends.cli.terminal import one_line, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("\x85", r"\x85"),
        ("\u202e", r"\u202e"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("a\tb\nc é", "a\tb\nc é"),
    ],
    ids=range(6),
)
def test_what_cannot_be_printed_is_spelled_as_long_as_its_number_needs(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_line_feed_does_not_end_one_line() -> None:
    assert one_line("a\nb\u202e") == r"a\nb\u202e"
