"""The spares of one plugin: processes already started and shaken hands with, each for exactly one call.

It hands out links and starts new ones. Waiting for them is the host's affair.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable

from ..contracts.execute.states import State
from ..failures import PluginFailure
from ..manifest.binding import Binding
from ..supervision.spares import Fingerprint, Spares, fingerprint
from .engine import Engine, ExecuteLink


class Pool:
    """Hands out one link per call: a waiting spare if there is a good one, else a fresh start."""

    def __init__(
        self,
        engine: Engine,
        binding: Binding,
        start: Callable[[], ExecuteLink],
        dismiss: Callable[[list[ExecuteLink]], None],
    ) -> None:
        self._engine = engine
        self._binding = binding
        self._start = start  # starts a process and begins to run its link
        self._dismiss = dismiss  # ends links that no call will use, all at once
        self._owner = os.getpid()
        self._waiting: deque[ExecuteLink] = deque()
        self._spares = Spares(binding.execute.spares)
        self._fingerprint: Fingerprint | None = None
        self._words = binding.command  # as they were executed, with the program's whole path
        self._closed = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(self) -> ExecuteLink:
        """Return a link that has no call yet. Raises LaunchFailed."""
        self._leave_to_parent()
        while self._waiting:
            link = self._waiting.popleft()
            if self._usable(link):
                return link
            self._spares.note_failure()
            self._dismiss([link])
        return self._start()

    def retire_stale(self) -> None:
        """Let the spares go if the plugin on disk is no longer the one they run."""
        self._leave_to_parent()
        if self._waiting and self._fingerprint != self._current():
            self.clear()

    def refill(self) -> None:
        """Start as many spares as are missing. One that cannot be started is left to the next call to report."""
        missing = self._spares.missing(len(self._waiting))
        if not missing or self._engine.closed or self._closed:
            return
        try:
            if self._waiting:
                self.retire_stale()
            for _ in range(self._spares.missing(len(self._waiting))):
                link = self._start()
                if not self._waiting:
                    self._words = link.process.command
                    self._fingerprint = self._current()
                self._waiting.append(link)
        except PluginFailure:
            self._spares.note_failure()

    def note_gone(self, link: ExecuteLink) -> None:
        """A process has ended: if it was a spare, replace it."""
        if link in self._waiting:
            self._waiting.remove(link)
            self._spares.note_failure()
            self.refill()

    def note_success(self) -> None:
        """A call went well: whatever was wrong with the plugin is over."""
        self._spares.note_success()

    def clear(self) -> None:
        """Let every spare go."""
        spares = list(self._waiting)
        self._waiting.clear()
        self._dismiss(spares)

    def close(self) -> None:
        """Let every spare go, and start no more."""
        self._closed = True
        self.clear()

    def _leave_to_parent(self) -> None:
        """In a forked copy of the host, forget the spares: they are the parent's, which still uses them."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._waiting.clear()

    def _usable(self, link: ExecuteLink) -> bool:
        alive = not link.finished and not link.process.has_exited()
        return alive and link.conversation.state in (State.HANDSHAKING, State.READY)

    def _current(self) -> Fingerprint:
        return fingerprint((*self._binding.command, *self._words), self._binding.directory)
