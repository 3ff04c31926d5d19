"""How a plugin of a fleet is at one moment, in numbers. Knows nothing of how it came to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...failures import PluginFailure
from ...supervision.states import State


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a plugin."""

    state: State
    pid: int | None  # of its process, if there is one
    starts: int  # of processes, also of those that could not be started
    attempt: int  # failures in a row that have not been forgiven
    failures: int  # that still count towards quarantine
    wedged: bool  # it did not answer in time, and has not said anything since
    pending: int  # calls of the host that are not over
    unanswered: int  # calls of the plugin that the host has not answered
    waiting_events: int  # on their way to it
    dropped_keys: int
    dropped_events: int
    ignored: int  # messages that were none, or that nobody had asked for
    denied: int  # what it asked for and was not granted
    last_failure: PluginFailure | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        failure = self.last_failure.to_dict() if self.last_failure is not None else None
        return {**values, "state": self.state.value, "last_failure": failure}
