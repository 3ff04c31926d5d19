"""What a `sideband` session tells its host: the values of `SidebandSession.next_news`, and nothing that decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...autopsy import ExitStatus
from ..base import Fault
from .messages import BackendInfo, Reason


class Outcome(StrEnum):
    """What became of an interrupt."""

    DELIVERED = "delivered"
    IDLE = "idle"  # nothing was running
    SENT = "sent"  # the worker is not one that tells


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has introduced itself: it may be given its first request."""

    backend: BackendInfo


@dataclass(frozen=True, slots=True)
class Waiting:
    """The request waits for a line of input: `answer` it, or interrupt it."""

    request_id: int
    prompt: str


class How(StrEnum):
    """By what a request is known to be over."""

    MARKED = "marked"  # request_end, and both marks: nothing of it can come any more
    SETTLED = "settled"  # request_end, and its output has been quiet for the window
    ENDED = "ended"  # the session ended
    FAILED = "failed"  # the worker failed


@dataclass(frozen=True, slots=True)
class Completed:
    """A request is over: told once for every request.

    *finished*: the worker said so itself. *error*: it said that the request raised. *prompt* is what it asks next.
    """

    request_id: int
    how: How
    finished: bool
    error: bool
    prompt: str


@dataclass(frozen=True, slots=True)
class InterruptTold:
    """What became of an interrupt; *request_id* is None if none was meant."""

    request_id: int | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class SignalWanted:
    """Send SIGINT to the worker's process group, once all that was handed out on the sideband is written."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Something was dropped, the *count*-th for this *reason*. Told for the first, second, fourth, eighth and so on."""

    reason: Reason
    detail: str
    count: int


@dataclass(frozen=True, slots=True)
class Gone:
    """The session is over, and whatever lived in the worker's memory is lost. *fault* is None if it ended in order.

    *reason* and *said* are what the worker said about it. *status* is None where the process outlived the session.
    """

    fault: Fault | None
    status: ExitStatus | None
    reason: str
    said: int | None


News = Ready | Waiting | Completed | InterruptTold | SignalWanted | Ignored | Gone


def worth_telling(count: int) -> bool:
    """Tell whether *count* is a power of two: a flood of a million is told twenty times."""
    return count & (count - 1) == 0
