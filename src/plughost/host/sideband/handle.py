"""What a console tells of itself without waiting: the same of both hosts."""

from __future__ import annotations

from ...contracts.sideband.messages import BackendInfo
from ...manifest.binding import Binding
from .console import Console


class ConsoleHandle:
    """A console's name and its worker, as they are now."""

    _console: Console

    @property
    def name(self) -> str:
        return self._console.plan.name

    @property
    def binding(self) -> Binding:
        return self._console.plan.binding

    @property
    def generation(self) -> int:
        """How many workers were started so far."""
        return self._console.generation

    @property
    def backend(self) -> BackendInfo | None:
        """Who the latest worker says it is."""
        return self._console.backend

    @property
    def exit_status(self) -> int | None:
        """What the latest worker that has ended ended with, None if none has, or by a signal."""
        return self._console.exit_status

    @property
    def pid(self) -> int | None:
        """The process id of the worker, None while there is none."""
        worker = self._console.worker
        return None if worker is None else worker.link.process.pid
