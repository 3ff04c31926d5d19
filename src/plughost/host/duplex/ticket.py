"""One call of the host to a `duplex` plugin, from the wish to its end: who is told, and of what. Decides nothing.

A ticket outlives processes: it waits while there is none, goes to the next one, and is over exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Raw, Struct

from ...contracts.duplex.host import Ask
from ...errors import PlughostError
from ...messages.jsonrpc import ErrorResponse

Outcome = (
    Raw | ErrorResponse | PlughostError | None
)  # None: what was wanted has happened, and there is no answer


NO_RESULT: Any = object()  # it is not over, or what became of it is its outcome


class Ticket(Struct, eq=False):
    """A call, or without an *ask* the wish that something be so: that the plugin runs, or is gone."""

    ask: Ask | None
    on_over: Callable[[Ticket], None] | None = None
    until: float | None = (
        None  # when its caller has waited long enough; None: the plugin's own limits alone count
    )
    behind: int = 0  # the version up to which the plugin is told what was published, before it is asked
    read_by: float | None = None  # when a plugin that runs has to have read that
    by_result: bool = False  # whether the caller wants what the answer says, and not how it is written
    is_over: bool = False
    result: Any = NO_RESULT
    outcome: Outcome = None
    waiter: Any = None  # who is woken when it is over; *on_over* knows how
    call_id: int | None = None  # once a process was asked
    asked_at: float = 0.0

    def left(self, now: float, seconds: float) -> float:
        """Return what is left of the *seconds* that its caller waits in all. They begin when it is first asked for."""
        if self.until is None:
            self.until = now + seconds
            return seconds
        return max(0.0, self.until - now)

    def wait_behind(self, now: float) -> None:
        """Wait from *now* on for a plugin that runs to read the rest, no longer than it would have for an answer."""
        if self.ask is not None and self.ask.timeout_s is not None:
            self.read_by = now + self.ask.timeout_s

    @property
    def given_up_at(self) -> float | None:
        """When it is over, if it still waits then."""
        if self.until is None or (self.read_by is not None and self.read_by < self.until):
            return self.read_by
        return self.until

    def end(self, outcome: Outcome) -> None:
        """Note what became of it, and tell whoever wants to know."""
        if not self.is_over:
            self.is_over = True
            self.outcome = outcome
            if self.on_over is not None:
                self.on_over(self)
