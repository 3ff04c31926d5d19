"""The echo of what a worker read, taken out of its output. Cuts only what the worker itself says it has read.

A worker on a terminal shows each line that it reads: the prompt, the line, and the end of the line as the terminal
writes it. It also says so, in `readline_result`. Where the output of a request begins with exactly these lines, in
their order, they are cut, up to the first difference. Nothing else is ever cut: text that merely looks like a prompt,
or like something that was typed, is output.
"""

from __future__ import annotations

from dataclasses import replace

from .items import Item, Stream, Text

MOST_KEPT = 10_000  # lines of one request: more are a script, and nobody minds its echo


class Echo:
    """What one request has read."""

    __slots__ = ("_begun", "_lines", "_request_id")

    def __init__(self) -> None:
        self.begin(None)

    def begin(self, request_id: int | None) -> None:
        """Another request runs."""
        self._request_id = request_id
        self._lines: list[str] = []
        self._begun = False  # something of its output was taken already: its beginning is gone

    def read(self, prompt: str, line: str) -> None:
        """A line was read."""
        if len(self._lines) < MOST_KEPT:
            self._lines.append(prompt + line)

    def cut(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """Return *items* without the echo that the request's output begins with."""
        for index, item in enumerate(items):
            if isinstance(item, Text) and item.request_id == self._request_id is not None:
                if self._begun or item.stream is not Stream.STDOUT:
                    break
                rest = self._without_echo(item.text)
                kept = (replace(item, text=rest),) if rest else ()
                items = (*items[:index], *kept, *items[index + 1 :])
                self._begun = True
                break
        self._begun |= any(isinstance(item, Text) and item.request_id == self._request_id for item in items)
        return items

    def _without_echo(self, text: str) -> str:
        at = 0
        for line in self._lines:
            shown = line.replace("\r\n", "\n")
            for form in (shown, shown.replace("\n", "\r\n")):
                if text.startswith(form, at):
                    at += len(form)
                    break
            else:
                break
        return text[at:]
