"""The one object that prints: text for people, one JSON object for programs, errors with a next step.

What comes from a plugin is made printable before it gets here or by `plain`: no escape sequence of a
plugin's ever reaches the terminal.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TextIO

from ...messages.quoting import spelled

EXIT_OK = 0
EXIT_REMOTE_ERROR = 1  # the plugin answered, with an error of its own; or a check found something
EXIT_USAGE = 2  # click's own
EXIT_BINDING = 3  # a binding, manifest or argument file is wrong
EXIT_INTERNAL = 70  # a bug in plughost, or a system that does not let it work
EXIT_NOBODY_READS = 141  # whoever read our output has gone


class Terminal:
    """Standard output and standard error of one command."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # a character that the terminal cannot show is spelled out, not an error
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        self.colour = not as_json and sys.stdout is not None and sys.stdout.isatty()

    def text(self, line: str = "") -> None:
        """Print a line for people; nothing when a program is reading."""
        if not self.as_json:
            self._print(plain(line), sys.stdout)

    def heading(self, line: str) -> None:
        """Print a line that stands out, where the terminal can."""
        if not self.as_json:
            self._print(f"\x1b[1m{plain(line)}\x1b[0m" if self.colour else plain(line), sys.stdout)

    def note(self, line: str) -> None:
        """Print a line beside the output, such as a plugin's log."""
        self._print(plain(line), sys.stderr)

    def progress(self, line: str) -> None:
        """Print how far long work has come, for a person who waits at a terminal; for nobody else."""
        if not self.as_json and sys.stderr is not None and sys.stderr.isatty():
            self._print(one_line(line), sys.stderr)

    def prompt(self, text: str) -> None:
        """Print the beginning of a line that a person will finish."""
        if sys.stderr is not None:
            print(one_line(text), end="", file=sys.stderr, flush=True)

    def data(self, value: Any) -> None:
        """Print the one JSON object of a command that was asked for JSON."""
        if self.as_json:
            self._print(json.dumps(value, default=str), sys.stdout)

    def value(self, value: Any) -> None:
        """Print a plugin's output for people: indented JSON."""
        self.text(json.dumps(value, ensure_ascii=False, indent=2))

    def fields(self, **rows: str) -> None:
        """Print names and their values, one a line; `_` in a name is a blank."""
        for name, value in rows.items():
            self.text(f"  {name.replace('_', ' '):<13} {one_line(value)}")

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows in aligned columns."""
        cells = [list(headings), *([one_line(str(cell)) for cell in row] for row in rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
        for number, row in enumerate(cells):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            (self.heading if number == 0 else self.text)(line)

    def error(self, line: str, next_step: str = "") -> None:
        """Print what went wrong, and what to do about it."""
        self._print(f"plughost: {one_line(line)}", sys.stderr)
        if next_step:
            self._print(f"          {one_line(next_step)}", sys.stderr)

    def exit(self, status: int) -> NoReturn:
        sys.exit(status)

    def _print(self, line: str, stream: TextIO | None) -> None:
        if stream is None:  # it was closed before we were started
            return
        try:
            print(line, file=stream, flush=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or Python complains at its exit
            sys.exit(EXIT_NOBODY_READS)


def plain(text: str) -> str:
    """Return *text* with control characters spelled out, but for line feeds and tabs."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else spelled(c) for c in text)


def one_line(text: str) -> str:
    """Return *text* as one line: no line feed of a plugin's can begin a line that looks like ours."""
    return plain(text).replace("\n", "\\n")
