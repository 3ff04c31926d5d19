"""Keys of the terminal library, and what the plugin is told."""

from __future__ import annotations

import string

import pytest
from textual.keys import Keys, _character_to_key

from plughost.contracts.duplex.keys import ALT, CTRL, SHIFT, SUPER, KeyCode, KeyEvent
from plughost.frontends.tui.keys import translate


def char(ch: str, mods: int = 0) -> KeyEvent:
    return KeyEvent(KeyCode("char", ch=ch), mods)


@pytest.mark.parametrize(
    "ch", [*string.digits, *string.ascii_letters, *string.punctuation, " ", "é", "日", "😀"]
)
def test_what_was_typed_is_told_as_it_is(ch: str) -> None:
    assert translate(_character_to_key(ch), ch) == char(ch)


@pytest.mark.thin(7)
@pytest.mark.parametrize("ch", [*string.digits, *string.ascii_lowercase, *string.punctuation])
@pytest.mark.parametrize(("held", "bit"), [("ctrl", CTRL), ("alt", ALT), ("super", SUPER)])
def test_what_is_held_is_told_beside_the_character(held: str, bit: int, ch: str) -> None:
    expected = (
        " " if (held, ch) == ("ctrl", "@") else ch
    )  # the same byte, and the space bar is the larger key
    assert translate(f"{held}+{_character_to_key(ch)}") == char(expected, bit)


NAMED = {
    "escape": "esc",
    "enter": "enter",
    "tab": "tab",
    "shift+tab": "back_tab",
    "backspace": "backspace",
    "delete": "delete",
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    "home": "home",
    "end": "end",
    "pageup": "page_up",
    "pagedown": "page_down",
}


@pytest.mark.parametrize("name", NAMED)
def test_every_key_of_the_wire_can_be_pressed(name: str) -> None:
    for character in (None, "\t", "\r", "\x7f", "\x1b"):  # the library gives the byte along with some
        assert translate(name, character) == KeyEvent(KeyCode(NAMED[name]))  # type: ignore[arg-type]


@pytest.mark.parametrize("number", range(1, 13))
def test_function_keys_have_their_number(number: int) -> None:
    assert translate(f"f{number}") == KeyEvent(KeyCode("f", n=number))
    assert translate(f"shift+f{number}") == KeyEvent(KeyCode("f", n=number), SHIFT)


@pytest.mark.parametrize(
    ("name", "character", "expected"),
    [
        ("ctrl+a", "\x01", char("a", CTRL)),
        ("ctrl+at", "\x00", char(" ", CTRL)),
        ("alt+x", "x", char("x", ALT)),
        ("alt+shift+x", "X", char("X", ALT | SHIFT)),
        ("ctrl+shift+a", None, char("A", CTRL | SHIFT)),
        ("ctrl+left", None, KeyEvent(KeyCode("left"), CTRL)),
        ("alt+ctrl+shift+up", None, KeyEvent(KeyCode("up"), CTRL | ALT | SHIFT)),
        ("ctrl+pageup", None, KeyEvent(KeyCode("page_up"), CTRL)),
        ("shift+escape", None, KeyEvent(KeyCode("esc"), SHIFT)),
    ],
)
def test_several_can_be_held_at_once(name: str, character: str | None, expected: KeyEvent) -> None:
    assert translate(name, character) == expected


@pytest.mark.parametrize(
    "name", ["", "insert", "caps_lock", "hyper+a", "meta+x", "<ignore>", "f256", "ctrl+", "+a+b"]
)
def test_what_the_wire_cannot_name_is_not_told(name: str) -> None:
    assert translate(name) is None


@pytest.mark.thin(7)
@pytest.mark.parametrize("key", list(Keys), ids=lambda key: key.name)
def test_no_key_that_the_library_knows_is_an_error(key: Keys) -> None:
    found = translate(key.value, None)
    assert found is None or not found.code.ch or found.code.ch.isprintable()
