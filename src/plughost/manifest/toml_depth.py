"""TOML text to nothing, or to a ManifestError for keys and values too deep to be parsed cheaply. Parses nothing itself.

Python's parser takes a time and a memory that grow with the square of a key's parts: 40 KB of `a.a.a.a…` cost seconds
and gigabytes. So the text is looked through first, for brackets and for the dots of keys; what stands in texts and
comments is passed over. It stops where a text is not closed: the parser comes no further either.
"""

from __future__ import annotations

import re

from ..errors import ManifestError

MOST_PARTS = 16  # of one key, such as `limits.render_s`, which has two; the parser's cost is their square
MOST_DOTS = 20_000  # in all keys and numbers together: each one is a table, of half a kilobyte and more
DEEPEST = 32  # brackets within brackets; the parser calls itself for each

_TOKEN = re.compile(
    r'(?P<passed>"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}'
    r"|'''(?:[^']++|'(?!''))*+'{3,5}"
    r'|"(?!"")(?:[^"\\\n]++|\\.)*+"'
    r"|'(?!'')[^'\n]*+'"
    r"|\#[^\n]*+)"
    r"|(?P<unclosed>[\"'])"
    r"|(?P<dot>\.)"
    r"|(?P<opening>[\[{])"
    r"|(?P<closing>[\]}])"
    r"|(?P<ending>[\n=,])",
    re.DOTALL,
)


def check(text: str, source: str) -> None:
    """Raise a ManifestError that names the line if *text* is nested too deep; *source* names the file."""
    dots = all_dots = depth = 0
    for found in _TOKEN.finditer(text):
        match found.lastgroup:
            case "passed":  # as a part of a key, too
                continue
            case "unclosed":
                return
            case "dot":
                dots, all_dots = dots + 1, all_dots + 1
            case "opening":
                dots, depth = 0, depth + 1
            case "closing":
                dots, depth = 0, max(0, depth - 1)
            case _:
                dots = 0
        if dots >= MOST_PARTS:
            raise _refusal(text, found.start(), source, f"a key of more than {MOST_PARTS} parts")
        if all_dots > MOST_DOTS:
            raise _refusal(text, found.start(), source, f"more than {MOST_DOTS} dots in its keys")
        if depth > DEEPEST:
            raise _refusal(text, found.start(), source, f"nested more than {DEEPEST} deep")


def _refusal(text: str, at: int, source: str, problem: str) -> ManifestError:
    line = text.count("\n", 0, at) + 1
    return ManifestError(source, "", f"line {line}: {problem}", "Flatten it")
