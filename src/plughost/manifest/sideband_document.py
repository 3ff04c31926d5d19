"""The `plugin.toml` of a `sideband` worker: as any other, with the limits of such workers. Refuses unknown keys."""

from __future__ import annotations

from .binding import _Document
from .sideband_limits import SidebandLimits


class SidebandDocument(_Document, frozen=True, forbid_unknown_fields=True):
    """What may stand in such a file."""

    limits: SidebandLimits = SidebandLimits()
