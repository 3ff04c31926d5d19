"""What code asks for -> a line that a person types. The prompt is made printable; a secret is not shown.

Ctrl-C gives no answer. Ctrl-D ends the input, where the worker knows such an end; elsewhere it gives no answer either.
"""

from __future__ import annotations

from collections.abc import Callable

from ...messages.quoting import is_utf8
from ..cli.terminal import plain
from .display import Display
from .line_editor import LineEditor, editable

END_OF_INPUT = "\x04"  # Ctrl-D, as a worker that knows an end of its input is told of it
NOT_UTF8 = "that is not UTF-8: nothing was sent"


class Asking:
    """Puts the questions of code to a person. *say* ends the line that the person gives up.

    *knows_end* tells whether the worker would take END_OF_INPUT for what it is.
    """

    def __init__(
        self,
        editor: LineEditor,
        display: Display,
        say: Callable[[str], object],
        knows_end: Callable[[], bool],
    ) -> None:
        self._editor = editor
        self._display = display
        self._say = say
        self._knows_end = knows_end

    def ask(self, prompt: str, secret: bool) -> str | None:
        """Return the answer, None if the person gives up."""
        while True:
            beside = self._display.ask(prompt)
            try:
                answer = self._read(beside, secret)
            except KeyboardInterrupt:
                self._say("")
                return None
            except EOFError:
                self._say("")
                return END_OF_INPUT if self._knows_end() else None
            if is_utf8(answer):
                return answer
            self._display.note(NOT_UTF8)

    def _read(self, beside: str, secret: bool) -> str:
        if secret:
            return self._editor.read_secret(plain(beside))
        return self._editor.read(editable(beside))
