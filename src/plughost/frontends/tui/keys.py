"""A key as the terminal library names it to the KeyEvent of the wire; None for one that the wire cannot name."""

from __future__ import annotations

from unicodedata import lookup

from ...contracts.duplex.keys import KeyEvent
from ...testkit.duplex_key import key_event

# Where its names are not the wire's. Control and a letter are the same byte as some keys: those it names itself.
_NAMES = {
    "escape": "esc",
    "return": "enter",
    "shift+tab": "back_tab",
    "pageup": "page_up",
    "pagedown": "page_down",
    "space": " ",
    "ctrl+at": "ctrl+ ",
    "ctrl+@": "ctrl+ ",
    "ctrl+backslash": "ctrl+\\",
    "ctrl+underscore": "ctrl+_",
    "minus": "-",
    "plus": "+",
    "slash": "/",
    "backslash": "\\",
    "at": "@",
    "underscore": "_",
    "less_than_sign": "<",
    "greater_than_sign": ">",
}
_HELD = {"ctrl", "alt", "super", "shift"}


def translate(name: str, character: str | None = None) -> KeyEvent | None:
    """Return the press of the key that the terminal library calls *name*, and that typed *character*."""
    held, _, last = name.rpartition("+") if len(name) > 1 else ("", "", name)
    if character is not None and len(character) == 1 and character.isprintable() and not held:
        return key_event(character)
    if name in _NAMES:
        return key_event(_NAMES[name])
    if not set(filter(None, held.split("+"))) <= _HELD:  # hyper and meta have no bit
        return None
    if len(last) == 1 and "shift" in held:  # the character is what shift made of it
        last = character if character is not None and character.isprintable() else last.upper()
    try:
        return key_event(f"{held}+{_last(last)}" if held else _last(last))
    except ValueError:
        return None


def _last(name: str) -> str:
    """Return the key itself: `left_square_bracket` is how the library spells `[`."""
    if len(name) == 1 or name in _NAMES:
        return _NAMES.get(name, name)
    try:
        found = lookup(name.replace("_", " "))
    except KeyError:
        return name
    return found if found.isprintable() else name  # `tab` and `delete` are also names of controls
