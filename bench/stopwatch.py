"""A stopwatch: turns moments of one job into named milliseconds since its start. Judges nothing."""

from __future__ import annotations

from time import perf_counter

Marks = dict[str, float]  # what a job measured, by name; times are in milliseconds


class Stopwatch:
    """Runs from the moment it is made."""

    __slots__ = ("_began", "marks")

    def __init__(self) -> None:
        self.marks: Marks = {}
        self._began = perf_counter()

    def mark(self, name: str) -> None:
        """Note under *name* how long it has taken until now."""
        self.marks[name] = (perf_counter() - self._began) * 1000
