"""A key as it travels: which one, what was held with it, what was done to it. Knows no terminal."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from .scalars import U8


class KeyCode(Struct, frozen=True, omit_defaults=True):
    """A key: `char` has its character in *ch*, `f` its number in *n*."""

    type: Literal[
        "char", "enter", "tab", "back_tab", "esc", "backspace", "delete", "up", "down", "left", "right",
        "home", "end", "page_up", "page_down", "f",
    ]  # fmt: skip
    ch: Annotated[str, Meta(min_length=1, max_length=1)] | UnsetType = UNSET
    n: U8 | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.type == "char" and self.ch is UNSET) or (self.type == "f" and self.n is UNSET):
            raise ValueError(f"a key {self.type!r} has to say which")


SHIFT, CTRL, ALT, SUPER = 1, 2, 4, 8  # bits of KeyEvent.mods


class KeyKind(StrEnum):
    """What was done to a key."""

    PRESS = "press"
    REPEAT = "repeat"
    RELEASE = "release"


class KeyEvent(Struct, frozen=True):
    """A key, what was held with it, and what was done to it."""

    code: KeyCode
    mods: U8 = 0
    kind: KeyKind = KeyKind.PRESS
