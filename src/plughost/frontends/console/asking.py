"""What code asks for -> a line that a person types. The prompt is the code's own; a secret is not shown."""

from __future__ import annotations

from collections.abc import Callable

from ..cli.terminal import plain
from .display import Display
from .line_editor import LineEditor, divide_prompt, editable


class Asking:
    """Puts the questions of code to a person. *say* ends the line that the person gives up."""

    def __init__(self, editor: LineEditor, display: Display, say: Callable[[str], object]) -> None:
        self._editor = editor
        self._display = display
        self._say = say

    def ask(self, prompt: str, secret: bool) -> str | None:
        """Return the answer, None if the person gives up: by Ctrl-C, or by Ctrl-D, for input has no end here."""
        before, beside = divide_prompt(prompt)
        self._display.ask(before)
        beside = self._display.take_line() + beside
        try:
            if secret:
                return self._editor.read_secret(plain(beside))
            return self._editor.read(editable(beside))
        except (KeyboardInterrupt, EOFError):
            self._say("")
            return None
