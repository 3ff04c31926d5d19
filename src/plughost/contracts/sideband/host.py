"""The host's verbs over a `sideband` session: what a binding demands, what a caller may ask, what an end means.

It neither starts nor waits for anything: drivers do.
"""

from __future__ import annotations

from ...errors import LocalProtocolError
from ...failures import PluginFailure
from ...manifest.binding import Binding
from ...manifest.sideband_binding import limits_of
from .. import outcome
from ..base import Evidence, Fault
from .news import Gone
from .session import SidebandSession
from .terms import Terms
from .timeline import Budget

LONGEST_TIMEOUT_S = 86_400.0
# For `session_end` to be written to a worker that does not read: together with the ladder it stays below two seconds.
END_S = 0.2
LOST = "in-memory state lost"


def terms(binding: Binding) -> Terms:
    """Return what *binding* demands of a conversation."""
    limits = limits_of(binding)
    return Terms(
        handshake_s=limits.handshake_s,
        end_s=END_S,
        echoes=binding.sideband.echoes,
        line_bytes=limits.frame_bytes,
        budget=Budget(limits.head_chars, limits.tail_chars, limits.images, limits.image_bytes),
    )


def seconds(timeout: object, usual: float) -> float:
    """Return how long a caller waits. Raises LocalProtocolError if that is no time; 0 is one."""
    if timeout is None:
        return usual
    number = float(timeout) if isinstance(timeout, int | float) and not isinstance(timeout, bool) else -1.0
    if not 0 <= number <= LONGEST_TIMEOUT_S:
        raise LocalProtocolError(f"a timeout of {timeout!r}: give seconds, from 0 to a day")
    return number


def code(text: object) -> str:
    """Return *text*. Raises LocalProtocolError if it is none."""
    if not isinstance(text, str):
        raise LocalProtocolError(f"what is run is a text, not {type(text).__name__}")
    return text


def failure(binding: Binding, session: SidebandSession, fault: Fault, evidence: Evidence) -> PluginFailure:
    """Return the exception for *fault*, with everything that is known."""
    ran = session.backend is not None
    return outcome.failure(binding, fault, evidence, delivered=ran, timings_ms=timings(session))


def farewell(gone: Gone, number: int, *, asked: bool) -> str:
    """Say how worker *number* ended, and what that costs. *asked*: the host wanted it."""
    if asked:
        return f"worker {number} was ended: {LOST}"
    how = gone.status.meaning if gone.status is not None else "an unknown status"
    if gone.fault is not None and gone.status is not None and gone.status.meaning not in gone.fault.message:
        return f"worker {number} failed: {gone.fault.message}; it ended with {how}: {LOST}"
    return f"worker {number} ended with {how}: {LOST}"


_STAGES = {"launch": ("started", "spawned"), "handshake": ("spawned", "shaken")}


def timings(session: SidebandSession) -> dict[str, float]:
    """Return how long the stages took, in milliseconds."""
    marks = session.marks
    return {
        stage: round((marks[end] - marks[start]) * 1000, 3)
        for stage, (start, end) in _STAGES.items()
        if start in marks and end in marks
    }
