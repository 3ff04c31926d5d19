"""Every section of the report, in order. To add one, write its file and name it here."""

from __future__ import annotations

from ..section import Section
from . import cold, crowd, framing, languages, long_lived, warm


def sections(idle: int) -> list[Section]:
    """Return all sections; *idle* is the size of the crowd."""
    return [
        cold.handshake(),
        cold.first_result(),
        cold.whole_call(),
        languages.own_start(),
        warm.spare(),
        framing.small_frames(),
        framing.one_big_message(),
        framing.linearity(),
        crowd.idle_plugins(idle),
        long_lived.calls(),
    ]
