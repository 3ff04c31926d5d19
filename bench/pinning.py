"""Where a driver and whatever it starts may run: on one core, or wherever the scheduler puts them."""

from __future__ import annotations

import os
import sys

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
