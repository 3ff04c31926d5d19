"""A person's keys -> lines, by the standard library's readline where there is one. Runs nothing, and writes no file.

What is pasted comes as one line with line feeds in it: readline knows where a paste begins and ends if the terminal
says so. Lines are put into readline's history by us alone, so that an answer to `input()` is never offered again.
"""

from __future__ import annotations

import getpass
import os
import re
import sys
import warnings
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ..cli.terminal import Terminal, plain
from .keyboard import Keyboard

LONGEST_PROMPT = 160  # characters that readline is told of: more would not stand beside what is typed
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")

# Keys of GNU readline. Python takes pastes apart unless it is told otherwise, and a tab in a block means a TabError.
BINDINGS = ("set enable-bracketed-paste on", r'"\t": "    "')


END_FOUND = "rl_eof_found"  # of GNU readline: an int


class LineEditor:
    """Reads lines at a terminal. *earlier* is what the history begins with."""

    def __init__(self, keyboard: Keyboard, terminal: Terminal, earlier: Iterable[str] = ()) -> None:
        self._keyboard = keyboard
        self._terminal = terminal
        self._readline = _readline()
        sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]  # what is no UTF-8 is refused later
        for text in earlier:
            self.remember(text)

    def read(self, prompt: str) -> str:
        """Return a line without its end. Raises EOFError, and KeyboardInterrupt for Ctrl-C."""
        with self._keyboard.typing():
            if sys.stdout is not None and sys.stdout.isatty():
                try:
                    return input(prompt)
                except EOFError:
                    self._forget_end()
                    raise
            self._terminal.prompt(prompt)  # the output is somebody's file
            line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.removesuffix("\n")

    def _forget_end(self) -> None:
        """Let readline forget an end of its input, or it writes a blank line behind each line from now on.

        It does so with pastes, to end the line of the Ctrl-D, and never takes note of the next line. Its variable is
        part of its interface; there is no function for it, and where it cannot be had a blank line does no harm.
        """
        if self._readline is None:
            return
        try:
            import ctypes

            library = ctypes.CDLL(getattr(self._readline, "__file__", None))
            ctypes.c_int.in_dll(library, END_FOUND).value = 0
        except (ImportError, OSError, ValueError):
            return

    def read_secret(self, prompt: str) -> str:
        """Return a line that is not shown. Raises like `read`."""
        with self._keyboard.typing(), warnings.catch_warnings():
            warnings.simplefilter("ignore", getpass.GetPassWarning)
            return getpass.getpass(prompt)

    def remember(self, text: str) -> None:
        """Offer *text* when the person goes back."""
        if self._readline is None or not text.strip() or "\0" in text:
            return
        count = self._readline.get_current_history_length()
        if count and self._readline.get_history_item(count) == text:
            return
        self._readline.add_history(text)


def divide_prompt(prompt: str) -> tuple[str, str]:
    """Return what of code's *prompt* is shown before, and what stands beside what is typed."""
    before, feed, last = prompt.rpartition("\n")
    if len(last) > LONGEST_PROMPT:
        return prompt, ""
    return before + feed, last


def printable(prompt: str) -> str:
    """Return *prompt* with its colours, and all else that is no text spelled out."""
    return "".join(
        piece if number % 2 else plain(piece) for number, piece in enumerate(_COLOUR.split(prompt))
    )


def editable(prompt: str) -> str:
    """Return *prompt* as readline takes it: colours are marked as taking no room, all else is spelled out."""
    pieces = _COLOUR.split(prompt)
    return "".join(f"\x01{piece}\x02" if number % 2 else plain(piece) for number, piece in enumerate(pieces))


def _readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:
        return None
    found: Any = readline
    found.set_auto_history(False)
    if "libedit" not in (found.__doc__ or "") and os.environ.get("TERM", "dumb") != "dumb":
        for binding in BINDINGS:
            found.parse_and_bind(binding)
    return readline
