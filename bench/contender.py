"""A contender: one way to do the work, and the job of the driver that measures it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contender:
    """Who is measured, and how often."""

    key: str  # names it in rows and in the results
    module: str  # of its driver
    job: str  # what the driver is asked for
    arguments: tuple[str, ...] = ()  # of the driver
    environment: tuple[tuple[str, str], ...] = ()  # variables that its driver gets beside ours
    times: int = 3  # jobs per round; the round's value is their median
    rounds: int | None = None  # at most this many, for one that takes long
    last: bool = (
        False  # in rounds of its own when all others are done: it keeps the disk busy after it has ended
    )
    fresh: bool = False  # in a new driver process each round: one that measures its own memory
    peer: str = ""  # what it needs from peers.txt; then it runs in the peers' environment
    missing: str = ""  # why it cannot run here at all
