"""Findings to an SVG: horizontal bars on a logarithmic scale, as ratios to `python -c pass`. Writes no file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

WIDTH = 980
LEFT = 330  # for the labels
RIGHT = 90  # for the numbers behind the bars
BAR = 16
STEP = 24
TITLE_STEP = 40
TOP = 104
LEGEND_STEP = 130
BOTTOM = 44
MARGIN = 1.3  # below the smallest ratio: on a logarithmic scale a bar at the very edge has no length

OURS = "#1f6feb"
OTHERS = "#8c959f"
TEXT = "#1f2328"
FAINT = "#d0d7de"
MARK = "#cf222e"  # the line of `python -c pass` itself


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: *ratio* is to `python -c pass`."""

    label: str
    ratio: float
    ours: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under a title."""

    title: str
    bars: tuple[Bar, ...]


class Scale:
    """From a ratio to a place, logarithmic, over whole powers of ten."""

    def __init__(self, lowest: float, highest: float) -> None:
        self.first = math.floor(math.log10(lowest / MARGIN))
        self.last = max(math.ceil(math.log10(highest)), self.first + 1)

    def at(self, ratio: float) -> float:
        share = (math.log10(ratio) - self.first) / (self.last - self.first)
        return LEFT + share * (WIDTH - LEFT - RIGHT)


def draw(groups: list[Group], caption: str) -> str:
    """Return the picture of *groups*; *caption* says where it was measured."""
    ratios = [bar.ratio for group in groups for bar in group.bars]
    scale = Scale(min(ratios, default=0.1), max(ratios, default=10))
    body: list[str] = []
    y = float(TOP)
    for group in groups:
        body.append(_text(16, y + 12, group.title, weight="600"))
        y += STEP
        for bar in group.bars:
            body += _bar(scale, y, bar)
            y += STEP
        y += TITLE_STEP - STEP
    height = y + BOTTOM
    title = "Time as a multiple of python -c pass (logarithmic; shorter is better)"
    size = f'width="{WIDTH}" height="{height:.0f}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif">',
        f'<rect {size} fill="#ffffff"/>',
        _text(16, 28, title, size=17, weight="600"),
        _text(16, 50, caption, size=12),
        *_legend(16, 64),
        *_grid(scale, height),
    ]
    return "\n".join([*head, *body, "</svg>"]) + "\n"


def _legend(x: float, y: float) -> list[str]:
    parts = []
    for colour, words in ((OURS, "plughost"), (OTHERS, "everybody else"), (MARK, "python -c pass")):
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" rx="2" fill="{colour}"/>')
        parts.append(_text(x + 18, y + 10, words, size=12))
        x += LEGEND_STEP
    return parts


def _grid(scale: Scale, height: float) -> list[str]:
    lines = []
    for power in range(scale.first, scale.last + 1):
        x = scale.at(10.0**power)
        colour = MARK if power == 0 else FAINT
        lines.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - BOTTOM + 8:.0f}" stroke="{colour}"/>'
        )
        lines.append(_text(x, height - BOTTOM + 26, f"{10.0**power:g} ×", anchor="middle", size=12))
    return lines


def _bar(scale: Scale, y: float, bar: Bar) -> list[str]:
    start, end = scale.at(10.0**scale.first), scale.at(bar.ratio)
    colour = OURS if bar.ours else OTHERS
    return [
        _text(LEFT - 10, y + 12, bar.label, anchor="end"),
        f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
        _text(end + 6, y + 12, f"{bar.ratio:.3g} ×", size=12),
    ]


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 13, weight: str = "400"
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    halo = 'stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'  # over the grid
    return f'<text {place} fill="{TEXT}" {halo}>{escape(words)}</text>'
