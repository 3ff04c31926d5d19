"""A key that was pressed, from the wire's KeyEvent. Raises ValueError for what is none."""

from __future__ import annotations

from . import duplex_fields as fields

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

SHIFT, CTRL, ALT, SUPER = 1, 2, 4, 8
KINDS = ("press", "repeat", "release")


class Key:
    """One key: `code` is its type (`char`, `enter`, `f`, …), `ch` the character of a `char`, `n` the number of an `f`.

    `str(key)` is a name to compare with: `q`, `esc`, `f7`, `ctrl+c`, `shift+tab`. A code that this SDK does not know
    is passed on: the contract may grow.
    """

    __slots__ = ("ch", "code", "kind", "mods", "n")

    def __init__(self, code: str, ch: str = "", n: int = 0, mods: int = 0, kind: str = "press") -> None:
        self.code, self.ch, self.n, self.mods, self.kind = code, ch, n, mods, kind

    @classmethod
    def from_wire(cls, value: Any) -> Key:
        event = fields.members(value, "key")
        code = fields.members(event.get("code"), "code")
        name = fields.text(code, "type")
        ch = fields.text(code, "ch") if name == "char" else ""
        if name == "char" and len(ch) != 1:
            raise ValueError("ch is not one character")
        number = fields.integer(code, "n", fields.U8) if name == "f" else 0
        kind = fields.text(event, "kind", "press")
        if kind not in KINDS:
            raise ValueError(f"kind is none of {', '.join(KINDS)}")
        return cls(name, ch, number, fields.integer(event, "mods", fields.U8, 0), kind)

    @property
    def shift(self) -> bool:
        return bool(self.mods & SHIFT)

    @property
    def ctrl(self) -> bool:
        return bool(self.mods & CTRL)

    @property
    def alt(self) -> bool:
        return bool(self.mods & ALT)

    @property
    def super(self) -> bool:
        return bool(self.mods & SUPER)

    def __str__(self) -> str:
        name = self.ch or (f"f{self.n}" if self.code == "f" else self.code)
        held = (("ctrl", self.ctrl), ("alt", self.alt), ("super", self.super))
        # A character is already what shift made of it.
        shifted = [("shift", self.shift and self.code != "char")]
        return "+".join([word for word, is_held in [*held, *shifted] if is_held] + [name])

    def __repr__(self) -> str:
        return f"Key({str(self)!r}, kind={self.kind!r})"
