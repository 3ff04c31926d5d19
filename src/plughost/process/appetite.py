"""How long it took to deal with what was read at once -> how much to read next. Reads nothing."""

from __future__ import annotations

from .launcher import READ_SIZE

TURN_S = 0.002  # for which one plugin may keep the others waiting, as far as reading less at once helps
LEAST_READ = 4_096  # bytes: less is hardly dealt with sooner


def appetite_after(appetite: int, took: float) -> int:
    """Return less for a plugin that says so much that the others wait, and more again when that is over."""
    if took > TURN_S:
        return max(LEAST_READ, appetite // 2)
    if appetite < READ_SIZE and took < TURN_S / 4:  # twice as much would still be in time
        return appetite * 2
    return appetite
