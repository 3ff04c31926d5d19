"""Where a driver and whatever it starts may run: on one core, or wherever the scheduler puts them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PINNED = "pinned"
FREE = "free"
PLACES = {PINNED: "on one core", FREE: "not pinned"}


def settle() -> list[str]:
    """Do what the first argument says, `pinned` or `free`, and return the others. Threads and children inherit it."""
    place, *others = sys.argv[1:]
    if place not in PLACES:
        raise ValueError(f"a place is one of {', '.join(PLACES)}, not {place}")
    if place == PINNED:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return others


@contextmanager
def beside(pid: int) -> Iterator[None]:
    """Put this thread and the process *pid* on one core, for as long as this lasts."""
    ours, theirs = os.sched_getaffinity(0), os.sched_getaffinity(pid)
    core = {max(ours & theirs)}
    os.sched_setaffinity(pid, core)
    os.sched_setaffinity(0, core)
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)
        os.sched_setaffinity(pid, theirs)
