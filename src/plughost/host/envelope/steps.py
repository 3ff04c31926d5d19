"""What a pass asks its host to do, one step at a time. The pass decides; the host starts, waits and asks.

A flow is a generator: it yields a step and is sent the step's result, or is thrown what the step raised. So the
same flow serves the asyncio host and the blocking one, and tests that have neither.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...contracts.envelope.session import EnvelopeSession, Mode
from ...manifest.binding import Binding
from ..engine import BoundLink
from .options import Question

WorkerLink = BoundLink[EnvelopeSession]


@dataclass(frozen=True, slots=True)
class Launch:
    """Start a worker, and tell it *line* if there is one yet. Sent back: its link, at once."""

    binding: Binding
    mode: Mode
    on_stderr: Callable[[bytes], None]
    line: bytes | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """Tell a worker *line*, unless it was told before, and wait until it is gone."""

    link: WorkerLink
    line: bytes | None = None


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Let workers go that were told nothing, and wait until they are gone."""

    links: tuple[WorkerLink, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """Do something with files that may take a while. Sent back: what it returns."""

    what: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Put:
    """Put a question to the operator. Sent back: the answers, or None if there will be none."""

    question: Question


@dataclass(frozen=True, slots=True)
class Together:
    """Run several flows at once. Sent back: their results, in order."""

    flows: tuple[Generator[Any, Any, Any], ...]


def unheard(data: bytes) -> None:
    """Take what a worker says that is let go before it was told anything: at most that there was no request."""


TOO_LATE: Mapping[str, Any] = {}  # this very object: nobody has answered a question in time

Step = Launch | Finish | Dismiss | Work | Put | Together

T = TypeVar("T")
Flow = Generator[Step, Any, T]
