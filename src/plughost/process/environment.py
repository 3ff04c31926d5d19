"""The environment a plugin gets: what its binding lists, and one variable that marks the run. Nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from ..manifest.binding import Environment

MARKER = "PLUGHOST_RUN"  # inherited by every descendant, so that one that slips away is still known


def build(environment: Environment, ours: Mapping[str, str], run: str) -> dict[str, str]:
    """Return the variables for a plugin: the allowed ones of *ours*, the given ones, and the marker."""
    inherited = {name: ours[name] for name in environment.inherit if name in ours}
    return {**inherited, **environment.set, MARKER: run}
