"""A clock that stands still until it is moved."""

from __future__ import annotations


class ManualClock:
    """Call it for the time; `advance` it in seconds."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
