"""The environment of a plugin: what its binding lists, no colours, and one variable that marks the run."""

from __future__ import annotations

from collections.abc import Mapping

from ..manifest.binding import Environment

MARKER = "PLUGHOST_RUN"  # inherited by every descendant, so that one that slips away is still known

# Standard error is a pipe to the host's log, where colours are noise. A binding that lists these has its own way.
PLAIN = {"NO_COLOR": "1", "TERM": "dumb"}


def build(environment: Environment, ours: Mapping[str, str], run: str) -> dict[str, str]:
    """Return the variables for a plugin: PLAIN, the allowed ones of *ours*, the given ones, and the marker."""
    return {**PLAIN, **environment.inherited(ours), **environment.set, MARKER: run}
