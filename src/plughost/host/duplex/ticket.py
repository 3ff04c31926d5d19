"""One call of the host to a `duplex` plugin, from the wish to its end: who is told, and of what. Decides nothing.

A ticket outlives processes: it waits while there is none, goes to the next one, and is over exactly once.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from ...contracts.duplex.host import Ask
from ...errors import PlughostError
from ...messages.jsonrpc import ErrorResponse

Outcome = (
    Raw | ErrorResponse | PlughostError | None
)  # None: what was wanted has happened, and there is no answer


class Ticket:
    """A call, or without an *ask* the wish that something be so: that the plugin runs, or is gone."""

    __slots__ = ("ask", "asked_at", "call_id", "is_over", "on_over", "outcome", "until")

    def __init__(
        self, ask: Ask | None, on_over: Callable[[Ticket], None] | None = None, until: float | None = None
    ) -> None:
        self.ask = ask
        self.until = (
            until  # when its caller has waited long enough; None: the plugin's own limits alone count
        )
        self.is_over = False
        self.outcome: Outcome = None
        self.on_over = on_over
        self.call_id: int | None = None  # once a process was asked
        self.asked_at = 0.0

    def end(self, outcome: Outcome) -> None:
        """Note what became of it, and tell whoever wants to know."""
        if not self.is_over:
            self.is_over = True
            self.outcome = outcome
            if self.on_over is not None:
                self.on_over(self)
