"""What plugins wrote to standard error, kept for when one of them answers with an error: its traceback is there.

And what they log, shown as it comes to whoever wants to see it.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING

from .terminal import one_line

if TYPE_CHECKING:
    from ...errors import RemoteError
    from ...host.events import Event
    from .terminal import Terminal

MOST_LINES = 30  # the end of a traceback, which says most
MOST_CHARACTERS = 500  # of a line that is shown


class Complaints:
    """Hears the events of a host. What is logged is shown on *logs_to*."""

    def __init__(self, logs_to: Terminal | None = None) -> None:
        self._logs_to = logs_to
        self._lines: dict[str, deque[str]] = {}
        self._failed: str | None = None

    def hear(self, event: Event) -> None:
        from ...host.events import Logged
        from ...process.news import StderrLine

        if isinstance(event.what, Logged) and self._logs_to is not None:
            fields = f"  {json.dumps(event.what.context, ensure_ascii=False)}" if event.what.context else ""
            said = f"[{event.plugin or 'plugin'}] {event.what.level}: {event.what.message}{fields}"
            self._logs_to.note(one_line(said))
        elif isinstance(event.what, StderrLine):
            self._lines.setdefault(event.plugin, deque(maxlen=MOST_LINES)).append(event.what.text)

    def report(self, terminal: Terminal, error: RemoteError) -> None:
        """Show *error*, and remember whose lines are wanted."""
        self._failed = error.plugin
        terminal.data({"ok": False, "error": {"code": error.code, "message": error.message}})
        if not terminal.as_json:
            terminal.error(f"{error.plugin} answered with an error: {error.message}  [{error.code}]")

    def tell(self, terminal: Terminal) -> None:
        """Show what the plugin that answered with an error wrote; all of that is here when it has ended."""
        if self._failed is not None and not terminal.as_json:
            for line in self._lines.get(self._failed, ()):
                terminal.note(one_line(f"  stderr     {line[:MOST_CHARACTERS]}"))
