"""The name of a key, as the SDK spells it, to the KeyEvent of the wire. Raises ValueError for a name of none."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from ..contracts.duplex.keys import ALT, CTRL, SHIFT, SUPER, KeyCode, KeyEvent

_HELD = {"ctrl": CTRL, "alt": ALT, "super": SUPER, "shift": SHIFT}
_NAMES = tuple(name for name in get_args(get_type_hints(KeyCode)["type"]) if name not in ("char", "f"))


def key_event(name: str) -> KeyEvent:
    """Return the press of the key *name*: `q`, `esc`, `page_up`, `f7`, or with what is held: `ctrl+c`, `shift+up`."""
    *held, last = name.split("+")
    if not last and held[-1:] == [""]:  # the key is `+` itself
        last = "+"
        held = held[:-1]
    unknown = [word for word in held if word not in _HELD]
    if unknown:
        raise ValueError(f"{name!r}: only {', '.join(_HELD)} can be held with a key, not {unknown[0]!r}")
    return KeyEvent(_code(name, last), sum(_HELD[word] for word in dict.fromkeys(held)))


def _code(name: str, last: str) -> KeyCode:
    if len(last) == 1:
        return KeyCode("char", ch=last)
    if last in _NAMES:
        named: Any = last
        return KeyCode(named)
    if last[:1] == "f" and last[1:].isascii() and last[1:].isdigit() and int(last[1:]) <= 255:
        return KeyCode("f", n=int(last[1:]))
    raise ValueError(f"{name!r} is no key: give one character, f1 to f12, or one of {', '.join(_NAMES)}")
