"""How a plugin of a fleet is at one moment, in numbers. Knows nothing of how it came to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...contracts.duplex.lanes import Lane
from ...failures import PluginFailure
from ...supervision.states import State

if TYPE_CHECKING:
    from .member import Member


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


def of(member: Member, waiting: int, lost: int) -> Status:
    """Return how *member* is, now. So many publishes are *waiting* for it, so many are *lost* to it."""
    session = member.link.conversation if member.link is not None else None
    dropped = Counter(member.dropped)
    if session is not None:
        dropped.update(session.dropped)
        waiting += session.lanes.waiting(Lane.EVENT)
    return Status(
        state=member.lifecycle.state,
        pid=member.link.process.pid if member.link is not None else None,
        starts=member.starts,
        attempt=member.lifecycle.attempt,
        failures=len(member.lifecycle.failures),
        wedged=member.patience.is_wedged,
        pending=member.pending,
        unanswered=session.unanswered if session is not None else 0,
        waiting_events=waiting,
        dropped_keys=dropped[Lane.KEY],
        dropped_events=dropped[Lane.EVENT] + lost,
        ignored=member.ignored.total() + (session.ignored.total() if session is not None else 0),
        denied=member.denied,
        last_failure=member.last_failure,
    )
