"""How long a request may still say something after its end. Decides when, never what.

A request that was marked waits for its marks, which are in the pipe already; only a worker that lies lets it wait until
the deadline. One that was not marked waits until the worker has been quiet for the windows.
"""

from __future__ import annotations

from .terms import Terms


class Settling:
    """One request between its end and the end of its output."""

    __slots__ = ("_began", "_heard_output", "_heard_told", "_terms", "marked")

    def __init__(self, terms: Terms, now: float, *, marked: bool) -> None:
        self.marked = marked
        self._terms = terms
        self._began = self._heard_told = self._heard_output = now

    def hear_told(self, now: float) -> None:
        self._heard_told = now

    def hear_output(self, now: float) -> None:
        self._heard_output = now

    @property
    def over_at(self) -> float:
        """When it is over, if nothing more comes."""
        if self.marked:
            return self._heard_output + self._terms.mark_s
        windows, began = self._terms.windows, self._began
        told = min(self._heard_told + windows.told_quiet_s, began + windows.told_most_s)
        output = min(self._heard_output + windows.output_quiet_s, began + windows.output_most_s)
        return max(told, output)
