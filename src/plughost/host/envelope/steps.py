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
from .options import Answers, Question

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


@dataclass(slots=True)
class Turn:
    """Whose turn it is to be asked for, of plugins that run at once: *before* are those that come first in the order.

    Where the operator gives one up, the pass ends at its place: what is asked for those behind it is in vain.
    """

    before: tuple[Turn, ...] = ()
    given_up: bool = False

    @property
    def in_vain(self) -> bool:
        return any(each.given_up for each in self.before)


@dataclass(frozen=True, slots=True)
class Put:
    """Put a question to the operator, unless it is in vain by then, and note if they give up.

    Sent back: the answers, None or TOO_LATE if there will be none, or UNASKED.
    """

    question: Question
    turn: Turn

    def note(self, answers: Answers) -> Answers:
        """Return *answers*, after noting whether there are any: at once, before the next question is put."""
        self.turn.given_up = answers is None or answers is TOO_LATE
        return answers


@dataclass(frozen=True, slots=True)
class Together:
    """Run several flows at once. Sent back: their results, in order."""

    flows: tuple[Generator[Any, Any, Any], ...]


def unheard(data: bytes) -> None:
    """Take what a worker says that is let go before it was told anything: at most that there was no request."""


TOO_LATE: Mapping[str, Any] = {}  # this very object: nobody has answered a question in time
UNASKED: Mapping[
    str, Any
] = {}  # this very object: the question was not put, because nothing would come of it

Step = Launch | Finish | Dismiss | Work | Put | Together

T = TypeVar("T")
Flow = Generator[Step, Any, T]
