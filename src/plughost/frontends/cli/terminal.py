"""The one object that prints: text for people, one JSON object for programs, errors with a next step.

What comes from a plugin is made printable before it gets here or by `plain`: no escape sequence of a
plugin's ever reaches the terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

EXIT_OK = 0
EXIT_REMOTE_ERROR = 1  # the plugin answered, with an error of its own; or a check found something
EXIT_USAGE = 2  # click's own
EXIT_BINDING = 3  # a binding, manifest or argument file is wrong
EXIT_INTERNAL = 70  # a bug in plughost


class Terminal:
    """Standard output and standard error of one command."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.colour = sys.stdout.isatty() and not as_json

    def text(self, line: str = "") -> None:
        """Print a line for people; nothing when a program is reading."""
        if not self.as_json:
            print(plain(line))

    def note(self, line: str) -> None:
        """Print a line beside the output, such as a plugin's log."""
        print(plain(line), file=sys.stderr)

    def data(self, value: Any) -> None:
        """Print the one JSON object of a command that was asked for JSON."""
        if self.as_json:
            print(json.dumps(value, ensure_ascii=False, default=str))

    def value(self, value: Any) -> None:
        """Print a plugin's output for people: indented JSON."""
        self.text(json.dumps(value, ensure_ascii=False, indent=2))

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows in aligned columns."""
        cells = [list(headings), *([plain(str(cell)) for cell in row] for row in rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
        for number, row in enumerate(cells):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            self.text(self.bold(line) if number == 0 else line)

    def error(self, line: str, next_step: str = "") -> None:
        """Print what went wrong, and what to do about it."""
        print(plain(f"plughost: {line}"), file=sys.stderr)
        if next_step:
            print(plain(f"          {next_step}"), file=sys.stderr)

    def bold(self, line: str) -> str:
        return f"\x1b[1m{line}\x1b[0m" if self.colour else line

    def exit(self, status: int) -> NoReturn:
        sys.exit(status)


def plain(text: str) -> str:
    """Return *text* with control characters spelled out, but for line feeds, tabs and our own bold."""
    if text.isprintable():
        return text
    shown = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
    return shown.replace("\\x1b[1m", "\x1b[1m").replace("\\x1b[0m", "\x1b[0m")
