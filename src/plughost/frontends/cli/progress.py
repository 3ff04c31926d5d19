"""Events of a pass -> how far it is: a line per plugin and file on a terminal, log lines everywhere.

While a person is being asked, nothing of it is shown: it would land in the line that they type.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from . import interruption
from .terminal import Terminal, one_line

if TYPE_CHECKING:
    from ...host.envelope.options import Answers, Ask, Question
    from ...host.events import Event, PassInterrupted

MOST_LINES = 200  # of one plugin's stderr that are shown
MOST_HELD = 1_000  # lines that are shown after a question: the last, for a person could not read more
SHOWN = 400  # characters of a log line, an error or a summary; log and record have more of it


class Progress:
    """Tells how far a pass is. Its events come from several threads, if plugins run at once."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.count = 0  # of plugins, once the first was begun
        self.interrupted: PassInterrupted | None = None
        self._told: Counter[str] = Counter()  # lines of each plugin that were shown
        self._asking = False
        self._held: deque[tuple[Callable[[str], None], str]] = deque(maxlen=MOST_HELD)
        self._lock = threading.Lock()

    def held_while(self, ask: Ask) -> Ask:
        """Return *ask*, during which lines wait. If it is interrupted, they are not shown: the pass is undone."""

        def alone(question: Question) -> Answers:
            with self._lock:
                self._asking = True
            answers = ask(question)
            with self._lock:
                self._asking = False
                while self._held:
                    show, line = self._held.popleft()
                    show(line)
            return answers

        return alone

    def _show(self, show: Callable[[str], None], line: str) -> None:
        with self._lock:
            if self._asking:
                self._held.append((show, line))
            else:
                show(line)

    def _say(self, plugin: str, line: str) -> None:
        """Show a line of a plugin's, up to a number: a person could not read more, and the log has them all."""
        self._told[plugin] += 1
        if self._told[plugin] <= MOST_LINES:
            self._show(self._terminal.note, one_line(f"{plugin}: {cut(line)}"))
        elif self._told[plugin] == MOST_LINES + 1:
            self._show(self._terminal.note, one_line(f"{plugin}: … and more, which is in the logs"))

    def note(self, event: Event) -> None:
        """Show what *event* tells, or remember it."""
        from ...host.events import (
            FileProgress,
            Logged,
            PassInterrupted,
            PassSettled,
            PluginBegun,
            TreeRecovered,
        )
        from ...process.news import StderrLine
        from ...record.log_lines import LogLine, said

        progress = self._terminal.progress
        match event.what:
            case TreeRecovered(told):  # now: the pass may yet fail
                self._terminal.note(told)
            case PassInterrupted():
                self.interrupted = event.what
            case PassSettled():  # what is left takes no time, and ends with all that there is to tell
                interruption.ignore_signals()
            case PluginBegun(number, count, files):
                self.count = count
                self._show(progress, f"[{number}/{count}] {event.plugin}: {files} files")
            case FileProgress(path, status, index, count) if status != "started":
                self._show(progress, f"  {index}/{count} {Path(path).name}: {status}")
            case Logged(level, message, context) if level in ("WARNING", "ERROR", "CRITICAL"):
                told = said(LogLine(level, message, context))
                self._say(event.plugin, f"{level.lower()}: {told}")
            case StderrLine(text):
                self._say(event.plugin, text)
            case _:
                pass


def cut(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"
