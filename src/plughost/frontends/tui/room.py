"""How many keys a plugin is sent before a frame of it tells that it has read them: of too many it loses the oldest."""

from __future__ import annotations

USUAL_LANE = 64  # keys that may wait for a plugin, where its binding does not say otherwise


def keys_at_once(lane: int = USUAL_LANE) -> int:
    """Return how many of the keys of a text are sent at once to a plugin for which *lane* may wait.

    Half of them: the rest is for those that are pressed meanwhile.
    """
    return max(1, lane // 2)
