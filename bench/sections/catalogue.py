"""Every section of the report, in order. To add one, write its file and name it here."""

from __future__ import annotations

from ..pinning import PLACES
from ..section import Section
from . import (
    big_tree,
    cold,
    console,
    crowd,
    envelope,
    framing,
    hook,
    languages,
    long_calls,
    long_crowd,
    long_pressure,
    warm,
)


def sections(idle: int, tree: big_tree.Size) -> list[Section]:
    """Return all sections; *idle* is the size of the crowd, *tree* that of the big tree."""
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
        envelope.passes(),
        envelope.turns(),
        big_tree.snapshot(tree),
        hook.messages(),
        hook.sizes(),
        hook.start(),
        hook.parallel(),
        *map(long_calls.sequential, PLACES),
        long_calls.pipelined(),
        long_calls.reverse(),
        long_crowd.fan_out(idle),
        *(long_pressure.keys(size) for size in long_pressure.SIZES),
        long_pressure.frames(),
        long_crowd.idle_plugins(idle),
        *map(console.requests, PLACES),
        console.start(),
        console.flood(),
    ]
