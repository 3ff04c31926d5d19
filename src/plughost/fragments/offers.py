"""What a plugin offers for one path, and the file that comes of all offers. Values alone; nothing is judged here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plughost_sdk.hook_messages import Fragment


class Strategy(StrEnum):
    """What a fragment does to the others of its path: be the file, be part of its text, or of its structure."""

    REPLACE = "replace"
    MERGE = "merge"
    APPEND = "append"


# By number on the wire. A plugin that says nothing (0) means to be the file, as upstream's own providers do.
STRATEGIES = {0: Strategy.REPLACE, 1: Strategy.REPLACE, 2: Strategy.MERGE, 3: Strategy.APPEND}


@dataclass(frozen=True, slots=True)
class Offer:
    """One *fragment*, and the *plugin* that generated it."""

    plugin: str
    fragment: Fragment


@dataclass(frozen=True, slots=True)
class Output:
    """One file to be: its *path* beneath the output directory, with `/`, and its whole *content*.

    *plugins* are those that contributed and *strategies* how, each named once, in the order of their contribution.
    """

    path: str
    content: bytes
    plugins: tuple[str, ...]
    strategies: tuple[str, ...]
