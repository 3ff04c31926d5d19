"""The line that says which screens there are, and which of them is shown. Knows no plugin."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from ..cli.terminal import one_line

MORE = "…"  # there are others before


def names(screens: Sequence[tuple[str, str]]) -> list[str]:
    """Return what to call each of *screens*, of a plugin and an id: by its plugin, and where that has two, by both."""
    plugins = [plugin for plugin, _ in screens]
    return [plugin if plugins.count(plugin) == 1 else f"{plugin}: {screen}" for plugin, screen in screens]


def line(names: Sequence[str], current: int, width: int) -> Text:
    """Return *names* with their numbers, of which the *current* one is seen on *width* columns, if any is."""
    labels = [f" {number} {one_line(name)} " for number, name in enumerate(names, 1)]
    first = 0
    while first < current and sum(map(cell_len, (MORE * bool(first), *labels[first : current + 1]))) > width:
        first += 1
    text = Text(MORE * bool(first), no_wrap=True, overflow="ellipsis")
    for number, label in enumerate(labels[first:], first):
        text.append(label, "reverse" if number == current else "")
    return text
