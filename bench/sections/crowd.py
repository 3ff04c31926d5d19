"""Many idle plugins on one asyncio host: threads, memory, descriptors, and what they do to a call."""

from __future__ import annotations

from ..contender import Contender
from ..samples import Source
from ..section import Row, Section
from ..target import Kind, Target

MODULE = "bench.drivers.crowd"
ROUNDS = 5  # at most: each starts and ends the whole crowd


def idle_plugins(size: int) -> Section:
    slowdown = Target(Kind.AMOUNT, 1.5, "× in the median round", of_median=True)
    return Section(
        key="idle",
        title=f"{size} idle plugins on one asyncio host",
        unit="",
        contenders=(Contender("crowd", MODULE, "crowd", (str(size),), times=1, rounds=ROUNDS, fresh=True),),
        rows=(
            _fact("threads of the host", "threads", Target(Kind.AMOUNT, 1, "thread")),
            _fact("host memory per plugin, private, KiB", "private_kib", Target(Kind.AMOUNT, 10, "KiB")),
            _fact("host memory per plugin, resident, KiB", "resident_kib"),
            _fact("descriptors per plugin", "descriptors"),
            _fact("warm call with one idle plugin, p50, ms", "call_with_one"),
            _fact(f"warm call with {size} idle plugins, p50, ms", "call_with_all"),
            _fact("the second over the first, within a round", "slowdown", slowdown),
        ),
        notes=(
            f"Timed before, during and after the crowd in each round; at most {ROUNDS} rounds.",
            "The last row is judged by its median: both calls are of the same minute.",
        ),
    )


def _fact(label: str, measure: str, target: Target | None = None) -> Row:
    """A row that is compared with nothing."""
    return Row(label, Source("crowd", measure), target, ours=True, bases=())
