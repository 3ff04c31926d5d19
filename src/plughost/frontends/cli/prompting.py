"""A plugin's question, put to a person at a terminal. It says whose question it is, and what kind of answer fits."""

from __future__ import annotations

import select
import sys
import time
from typing import TYPE_CHECKING, Any

from .terminal import Terminal, one_line

if TYPE_CHECKING:
    from ...contracts.envelope.messages import Field
    from ...host.envelope.options import Answers, Question

KINDS = {
    "string": "text",
    "text": "text; \\n begins a new line",
    "date": "date, YYYY-MM-DD",
    "boolean": "yes or no",
}
ENDS = "{} is given up, and none behind it is run"  # of those that run at once, one before it may still ask


class Prompter:
    """Asks on the terminal. End of input (Ctrl-D) gives up."""

    def __init__(self, terminal: Terminal, timeout_s: float | None = None) -> None:
        self._terminal = terminal
        self._timeout_s = timeout_s

    @property
    def possible(self) -> bool:
        """There is a person: both what we write and what we read is a terminal."""
        streams = (sys.stdin, sys.stderr)
        return not self._terminal.as_json and all(each is not None and each.isatty() for each in streams)

    def ask(self, question: Question) -> Answers:
        """Return the answers to *question*, None if the person gives up, or TOO_LATE."""
        from ...host.envelope.steps import TOO_LATE

        self._terminal.note(f"\n{one_line(question.plugin)} asks: {one_line(question.reason)}")
        for problem in question.problems:
            self._terminal.note(f"  {one_line(problem)}")
        answers: dict[str, Any] = {}
        until = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        for field in question.fields:
            self._show(field)
            if not _is_typed(until):
                self._terminal.note(f"\n(no answer in time: {ENDS.format(one_line(question.plugin))})")
                return TOO_LATE
            line = sys.stdin.readline()
            if not line:
                self._terminal.note(f"\n(no answer: {ENDS.format(one_line(question.plugin))})")
                return None
            answer = line.removesuffix("\n")
            answers[field.id] = answer.replace("\\n", "\n") if field.type == "text" else answer
        return answers

    def _show(self, field: Field) -> None:
        kind = KINDS.get(field.type, "")
        if field.options:
            kind = " | ".join(one_line(str(option)) for option in field.options)
        default = "" if field.default is None else f" [{one_line(_worded(field.default))}]"
        needed = "" if field.required else ", optional"
        if field.hint:
            self._terminal.note(f"  {one_line(field.hint)}")
        self._terminal.prompt(f"  {one_line(field.label or field.id)} ({kind}{needed}){default}: ")


def _worded(default: Any) -> str:
    """Return *default* as a person would type it."""
    return str(default) if not isinstance(default, bool) else "yes" if default else "no"


def _is_typed(until: float | None) -> bool:
    """Wait for a line, or the end of input, and tell whether it came in time."""
    return until is None or bool(select.select([sys.stdin], [], [], max(0.0, until - time.monotonic()))[0])
