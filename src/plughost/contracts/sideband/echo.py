"""The echo of what a worker read, taken out of its output. Cuts only what the worker itself says it has read.

A worker on a terminal shows each line that it reads: the prompt, the line, and the end of the line as the terminal
writes it. It also says so, in `readline_result`. Where the output of a request begins with exactly these lines, in
their order, they are cut, up to the first difference; a prompt may have been shown before the request began, and is
cut there. At the end of the output, the prompt of the read that is not over is cut. Nothing else ever is: text that
merely looks like a prompt, or like something that was typed, is output.
"""

from __future__ import annotations

from dataclasses import replace

from .items import Item, Stream, Text

MOST_KEPT = 10_000  # lines of one request: more are a script, and nobody minds its echo


class Echo:
    """What one request has read."""

    __slots__ = ("_begun", "_lines", "_prompt", "_request_id")

    def __init__(self) -> None:
        self._prompt = ""  # was at the end of what was taken last, and cut there
        self.begin(None)

    def begin(self, request_id: int | None) -> None:
        """Another request runs."""
        self._request_id = request_id
        self._lines: list[tuple[str, str]] = []
        self._begun = False  # something of its output was taken already: its beginning is gone

    def read(self, prompt: str, line: str) -> None:
        """A line was read."""
        if len(self._lines) < MOST_KEPT:
            self._lines.append((prompt, line.replace("\r\n", "\n")))

    def cut(self, items: tuple[Item, ...], prompt: str = "") -> tuple[Item, ...]:
        """Return *items* without the echo that the request's output begins with, and without *prompt* at their end."""
        kept: list[Item | None] = list(items)
        if self._request_id is not None and not self._begun:
            self._cut_beginning(kept)
        if any(isinstance(item, Text) for item in items):
            self._prompt = prompt if _cut_end(kept, prompt) else ""
        return tuple(item for item in kept if item is not None)

    def _cut_beginning(self, items: list[Item | None]) -> None:
        for index, item in enumerate(items):
            if isinstance(item, Text) and item.request_id == self._request_id:
                self._begun = True
                if item.stream is Stream.STDOUT and self._lines:
                    earlier = items[:index]
                    prompt = self._lines[0][0]
                    before = prompt if _cut_end(earlier, prompt) or self._prompt == prompt else ""
                    text = before + item.text
                    rest = self._without_echo(text)
                    if len(rest) < len(text):
                        items[: index + 1] = [*earlier, replace(item, text=rest) if rest else None]
                return

    def _without_echo(self, text: str) -> str:
        at = 0
        for prompt, line in self._lines:
            shown = prompt + line
            for form in (shown, shown.replace("\n", "\r\n")):
                if text.startswith(form, at):
                    at += len(form)
                    break
            else:
                break
        return text[at:]


def _cut_end(items: list[Item | None], prompt: str) -> bool:
    """Take *prompt* off the end of the last text among *items*; tell whether it was there."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, Text):
            if not prompt or item.stream is not Stream.STDOUT or not item.text.endswith(prompt):
                return False
            rest = item.text[: -len(prompt)]
            items[index] = replace(item, text=rest) if rest else None
            return True
    return False
