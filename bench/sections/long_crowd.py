"""Many plugins that stay, in one fleet: what they cost while they are idle, and what telling all of them takes."""

from __future__ import annotations

import shutil

from ..contender import Contender
from ..pinning import PINNED, PLACES
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
        contenders=tuple(_contender(way, size) for way in WAYS),
        rows=(
            *(row for host in HOSTS for row in (*_costs(host), *_calls(host, size))),
            *_calls("hand", size),
        ),
        notes=(
            f"Plugins in Perl, introduced and asleep. At most {ROUNDS} rounds.",
            "The calls are to one of them, and to one in a fleet of its own before they come and after they have gone.",
            "On one core, what hundreds more cost is seen. Not pinned, the scheduler decides, which it does otherwise",
            "where hundreds of processes are: by hand, without any host, that is seen alone.",
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


def _costs(host: str) -> list[Row]:
    threads = Target(Kind.AMOUNT, HOSTS[host], "thread" + "s" * (HOSTS[host] > 1))
    return [
        _fact(host, "threads of the host", "threads", threads),
        _fact(host, "memory per plugin, private, KiB", "private_kib", Target(Kind.AMOUNT, MEMORY_KIB, "KiB")),
        _fact(host, "memory per plugin, resident, KiB", "resident_kib"),
        _fact(host, "descriptors per plugin", "descriptors"),
        _fact(host, "start and init per plugin, ms", "start_ms"),
    ]


def _calls(way: str, size: int) -> list[Row]:
    judged = Target(Kind.AMOUNT, SLOWDOWN, "× in the median round", of_median=True)
    rows: list[Row] = []
    for place, where in PLACES.items():
        target = judged if place == PINNED and way in HOSTS else None
        rows += [
            _fact(way, f"call with one plugin, {where}, p50, µs", f"one_{place}"),
            _fact(way, f"call with {size}, {where}, p50, µs", f"all_{place}"),
            _fact(way, f"second over first, {where}", f"slowdown_{place}", target),
        ]
    return rows


def _fact(way: str, label: str, measure: str, target: Target | None = None) -> Row:
    who = way if way in HOSTS else WAYS[way]
    return Row(f"{who}: {label}", _crowd(way, measure), target, ours=way in HOSTS, bases=())


def _crowd(way: str, measure: str) -> Source:
    return Source(f"duplex-crowd-{way}", measure)
