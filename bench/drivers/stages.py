"""A call's own timings, which are spans, to marks since its start."""

from __future__ import annotations

from ..stopwatch import Marks


def stages(timings_ms: dict[str, float]) -> Marks:
    """Return when a cold call had shaken hands, and when it had its answer."""
    handshake = timings_ms["launch"] + timings_ms["handshake"]
    return {"handshake": handshake, "answered": handshake + timings_ms["execute"]}
