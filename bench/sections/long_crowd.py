"""Many plugins that stay, in one fleet: what they cost while they are idle, and what telling all of them takes."""

from __future__ import annotations

import shutil

from ..contender import Contender
from ..samples import Source
from ..section import Base, Row, Section
from ..target import Kind, Target
from .long_calls import KEY

MODULE = "bench.drivers.duplex_crowd"
HOSTS = {
    "asyncio": 1,
    "blocking": 2,
}  # and how many threads each has; the second one keeps a blocking host's plugins
WAYS = {"hand": "by hand", "asyncio": "plughost, asyncio fleet", "blocking": "plughost, blocking fleet"}
ROUNDS = 5  # at most: each starts and ends the whole crowd
NO_PERL = "" if shutil.which("perl") else "there is no perl"

MEMORY_KIB = 10
SLOWDOWN = 1.5


def idle_plugins(size: int) -> Section:
    return Section(
        key=KEY,
        title=f"{size} idle plugins in one fleet",
        unit="",
        contenders=tuple(_contender(host, size) for host in HOSTS),
        rows=tuple(row for host in HOSTS for row in _costs(host, size)),
        notes=(
            f"Plugins in Perl, introduced and asleep. At most {ROUNDS} rounds.",
            "The calls are to one of them, and to one in a fleet of its own before they come and after they have gone.",
            "The blocking host's second thread is its keeper, which hears plugins that talk while nobody waits.",
        ),
    )


def fan_out(size: int) -> Section:
    hand = _crowd("hand", "told_us")
    return Section(
        key=KEY,
        title=f"1 KiB published to {size} plugins, per plugin",
        unit="µs",
        contenders=tuple(_contender(way, size) for way in WAYS),
        rows=tuple(Row(label, _crowd(way, "told_us"), ours=way != "hand") for way, label in WAYS.items()),
        bases=(Base("× by hand", hand),),
        notes=(
            "From the publish until the last of them has published in turn, which the host has heard; divided by them.",
            "By hand: one frame made once and written to each, epoll, and json of what comes. Not pinned.",
        ),
    )


def _contender(way: str, size: int) -> Contender:
    return Contender(
        f"duplex-crowd-{way}",
        MODULE,
        "crowd",
        (way, str(size)),
        times=1,
        rounds=ROUNDS,
        fresh=True,
        missing=NO_PERL,
    )


def _costs(host: str, size: int) -> list[Row]:
    slowdown = Target(Kind.AMOUNT, SLOWDOWN, "× in the median round", of_median=True)
    threads = Target(Kind.AMOUNT, HOSTS[host], "thread" + "s" * (HOSTS[host] > 1))

    def fact(label: str, measure: str, target: Target | None = None) -> Row:
        return Row(f"{host}: {label}", _crowd(host, measure), target, ours=True, bases=())

    return [
        fact("threads of the host", "threads", threads),
        fact("memory per plugin, private, KiB", "private_kib", Target(Kind.AMOUNT, MEMORY_KIB, "KiB")),
        fact("memory per plugin, resident, KiB", "resident_kib"),
        fact("descriptors per plugin", "descriptors"),
        fact("start and init per plugin, ms", "start_ms"),
        fact("call with one plugin, p50, µs", "call_with_one"),
        fact(f"call with {size} plugins, p50, µs", "call_with_all"),
        fact("second over first, within a round", "slowdown", slowdown),
    ]


def _crowd(way: str, measure: str) -> Source:
    return Source(f"duplex-crowd-{way}", measure)
