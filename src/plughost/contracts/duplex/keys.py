"""A key as it travels: which one, what was held with it, what was done to it. Knows no terminal."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert, to_builtins

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


KNOWN_KEYS = (
    512  # a keyboard, with what is usually held; checking one takes as long as all else that is done to it
)


@lru_cache(maxsize=KNOWN_KEYS)
def checked(event: KeyEvent) -> KeyEvent:
    """Return *event* as a reader would have it: what is made, not read, may hold anything.

    Raises ValidationError if it would be refused, and TypeError if it cannot even be written or compared.
    """
    return convert(to_builtins(event), KeyEvent)
