"""What a worker shows -> standard output and standard error, in order. Output is written as it is; remarks are ours.

Whoever runs code wants the colours that it prints. What we say ourselves, and what we say of a worker, is made
printable, and goes to standard error: standard output has what code has written there, and nothing else. Where nobody
looks, nothing is left out: what a reply does not hold is taken from its file, and all of that goes to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TextIO, assert_never

from ...contracts.sideband.items import Image, Item, Notice, Omitted, Prompt, Stream, Text
from ..cli import raw_output
from ..cli.terminal import one_line
from .album import Album
from .full_output import FullOutput
from .inline import Protocol, encode
from .line_editor import divide_prompt, printable
from .picture import size

RED, DIM, PLAIN = "\x1b[31m", "\x1b[2m", "\x1b[0m"
LONGEST_LINE = 160  # characters of a line that is edited together with what a person types
AFRESH = "\x1b[0m\x1b[?25h"  # code may have left its colours on, or the cursor hidden


class Display:
    """The screen of one session. *by*: how its terminal shows pictures, None if it does not. *colours*: it has some.

    *full*: what a reply leaves out is shown too. A session that goes on says where it is instead.
    """

    def __init__(
        self,
        album: Album | None,
        by: Protocol | None = None,
        *,
        colours: bool = False,
        full: FullOutput | None = None,
    ) -> None:
        self._album = album
        self._by = by
        self._colours = colours
        self._full = full
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._line = ""  # the end of one that is begun: ours must not stand behind it
        self._escaped = False  # code has spoken to the terminal

    def show(self, items: Iterable[Item], full_output: Path | None = None) -> None:
        """Show *items*. *full_output* has all of the text, where some is left out."""
        if self._full is not None:
            self._full.follow(full_output)
        for item in items:
            match item:
                case Text(stream, text):
                    self._write(text, stream)
                    if self._full is not None:
                        self._full.pass_over(text)
                case Image():
                    self._picture(item)
                case Notice(text):
                    self.note(text)
                case Omitted():
                    self._omit(item, full_output)
                case Prompt():
                    pass  # whoever asks the person shows it
                case never:
                    assert_never(never)

    def note(self, text: str) -> None:
        """Write a remark of ours, on a line of its own."""
        self.end_line()
        line = f"[{one_line(text)}]"
        _put(sys.stderr, f"{DIM}{line}{PLAIN}\n" if self._colours else f"{line}\n")

    def ask(self, prompt: str) -> str:
        """Write what stands before a question, and return the line beside which it is answered.

        It may have colours, and nothing else that speaks to a terminal.
        """
        before, beside = divide_prompt(prompt)
        self._write(printable(before), Stream.STDOUT)
        self._escaped = self._escaped or "\x1b" in beside
        return self._take_line() + beside

    def settle(self) -> None:
        """Make the terminal fit for a prompt of ours."""
        self.end_line()
        if self._escaped and self._is_terminal:
            _put(sys.stderr, AFRESH)
        self._escaped = False

    def end_line(self) -> None:
        """Begin another line, if one is begun and a person looks at it."""
        if self._line and self._is_terminal:
            _put(sys.stderr, "\n")
        self._line = ""

    def break_line(self) -> None:
        """Begin another line, because the terminal has written ^C into the one before."""
        if self._is_terminal:
            _put(sys.stderr, "\n")
        self._line = ""

    def _take_line(self) -> str:
        """Return the line that is begun, for whoever writes it anew and goes on with it.

        Whatever edits a line has to know all of it.
        """
        line, self._line = self._line, ""
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        if not line or len(line) > LONGEST_LINE or not is_terminal:
            return ""
        _put(sys.stdout, "\r")
        return line

    def _write(self, text: str, stream: Stream) -> None:
        last = text.rpartition("\n")[2]
        self._line = (last if "\n" in text else self._line + last)[-LONGEST_LINE - 1 :]
        self._escaped = self._escaped or "\x1b" in text
        if stream is Stream.STDOUT:
            _put(sys.stdout, text)
        else:
            _put(sys.stderr, f"{RED}{text}{PLAIN}" if self._colours else text)

    def _omit(self, item: Omitted, full_output: Path | None) -> None:
        """Show what is left out, where nothing is to be; count what cannot be shown."""
        if self._full is not None:
            lost = self._full.lost
            for block in self._full.left_out(item.chars):
                self._line = ""  # of a text this long nobody finishes the last line
                raw_output.write(sys.stdout, block)
            item = replace(item, chars=self._full.lost - lost, lines=0, spooled=False)
        if item.chars or item.entries or item.images:
            self.note(_omission(item, full_output))

    def _picture(self, image: Image) -> None:
        found = size(image.data)
        dimensions = f" {found}" if found is not None else ""
        path = None if self._album is None else self._album.keep(image)
        data = encode(image, self._by) if self._by is not None and self._album is not None else None
        if data is not None:
            self.end_line()
            raw_output.write(sys.stdout, data)
        if path is not None:
            self.note(f"picture: {path}{dimensions}")
        elif self._album is None:
            self.note(f"picture:{dimensions or ' ' + image.mime_type}, not kept")
        else:
            self.note(f"picture:{dimensions} could not be kept: {self._album.problem}")


def _omission(item: Omitted, full_output: Path | None) -> str:
    counted = {"characters": item.chars, "remarks": item.entries, "pictures": item.images}
    left_out = ", ".join(f"{number} {what}" for what, number in counted.items() if number)
    if item.lines:
        left_out = f"{item.lines} lines, {left_out}"
    whole = f"; all of the text: {full_output}" if item.spooled and full_output is not None else ""
    return f"left out here: {left_out}{whole}"


def _put(stream: TextIO | None, text: str) -> None:
    raw_output.write(stream, text.encode("utf-8", "replace"))
