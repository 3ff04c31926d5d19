"""Many idle plugins in one fleet: what each costs the host, what all do to a call, and telling all of them something.

    python -m bench.drivers.duplex_crowd WAY SIZE

WAY is `asyncio`, `blocking`, or `hand`, which knows no fleet. One plugin of a fleet of its own is called before
the crowd comes and after it has gone, and one of the crowd while it is there: a machine that drifts is not to pass for
a crowd that costs. They are called wherever the scheduler puts them, and with the caller on one core.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import threading
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import plughost
from plughost import blocking

from .. import echo, latency, pinning
from ..loop import Job, serve
from ..stopwatch import Marks
from . import footprint, listener, telling_by_hand
from .footprint import Footprint
from .warm_caller import wait_until_idle

GROUP = 50  # plugins that start at once
CALLS = 300  # per phase
TELLINGS = 7  # the middle one counts
NEWS = b"." * 1024  # bytes of what all are told
ANSWER_S = 60.0  # for all of them to have heard


async def on_asyncio(size: int) -> Marks:
    """Bring the crowd in and out again on an asyncio host."""
    async with plughost.Host() as host:
        before = await _alone(host)  # whatever is imported and cached at the first calls is not the crowd's
        bare = footprint.take()
        began = perf_counter()
        fleet = await host.fleet(*map(listener.bind, listener.names(size)))
        plugins = list(fleet)
        for at in range(0, size, GROUP):
            await asyncio.gather(*(plugin.start() for plugin in plugins[at : at + GROUP]))
        started = perf_counter() - began
        wait_until_idle(*(plugin.status.pid or 0 for plugin in plugins))
        full = footprint.take()
        during = await _latency(plugins[size // 2])
        told = [await _tell(fleet) for _ in range(TELLINGS)]
        await fleet.close()
        after = await _alone(host)
    return _costs(bare, full, size, started) | _calls([before, after], during) | _telling(size, told)


async def _alone(host: plughost.Host) -> Marks:
    async with await host.fleet(listener.bind("alone")) as fleet:
        await fleet["alone"].start()
        return await _latency(fleet["alone"])


async def _latency(plugin: plughost.AsyncDuplexPlugin) -> Marks:
    async def call() -> bytes:
        return await plugin.invoke(listener.ACTION, echo.PAYLOAD)

    free = await latency.measure_awaited(call, echo.check, CALLS)
    with pinning.beside(plugin.status.pid or 0):
        pinned = await latency.measure_awaited(call, echo.check, CALLS)
    return {pinning.FREE: free["p50_us"], pinning.PINNED: pinned["p50_us"]}


async def _tell(fleet: plughost.AsyncFleet) -> float:
    everybody, left = asyncio.Event(), len(fleet)

    def hear(_: plughost.Snapshot) -> None:
        nonlocal left
        left -= 1
        if not left:
            everybody.set()

    end = fleet.subscribe(listener.HEARD, hear)
    began = perf_counter()
    fleet.publish(listener.FAN, NEWS)
    async with asyncio.timeout(ANSWER_S):
        await everybody.wait()
    taken = perf_counter() - began
    end()
    return taken


def on_blocking(size: int) -> Marks:
    """Bring the crowd in and out again on a blocking host."""
    with blocking.Host() as host:
        before = _blocking_alone(host)
        bare = footprint.take()
        began = perf_counter()
        fleet = host.fleet(*map(listener.bind, listener.names(size)))
        plugins = list(fleet)
        for plugin in plugins:
            plugin.start()
        started = perf_counter() - began
        wait_until_idle(*(plugin.status.pid or 0 for plugin in plugins))
        full = footprint.take()
        during = _blocking_latency(plugins[size // 2])
        told = [_tell_blocking(fleet) for _ in range(TELLINGS)]
        fleet.close()
        after = _blocking_alone(host)
    return _costs(bare, full, size, started) | _calls([before, after], during) | _telling(size, told)


def _blocking_alone(host: blocking.Host) -> Marks:
    with host.fleet(listener.bind("alone")) as fleet:
        fleet["alone"].start()
        return _blocking_latency(fleet["alone"])


def _blocking_latency(plugin: plughost.BlockingDuplexPlugin) -> Marks:
    call = partial(plugin.invoke, listener.ACTION, echo.PAYLOAD)
    return _both(call, plugin.status.pid or 0)


def _both(call: Callable[[], object], pid: int) -> Marks:
    """Return how long *call* takes to the process *pid*, wherever that is, and on the caller's core."""
    free = latency.measure(call, echo.check, CALLS)
    with pinning.beside(pid):
        pinned = latency.measure(call, echo.check, CALLS)
    return {pinning.FREE: free["p50_us"], pinning.PINNED: pinned["p50_us"]}


def _tell_blocking(fleet: plughost.BlockingFleet) -> float:
    everybody, left = threading.Event(), len(fleet)

    def hear(_: plughost.Snapshot) -> None:  # one at a time: the fleet has a lock
        nonlocal left
        left -= 1
        if not left:
            everybody.set()

    end = fleet.subscribe(listener.HEARD, hear)
    began = perf_counter()
    fleet.publish(listener.FAN, NEWS)
    if not everybody.wait(ANSWER_S):
        raise TimeoutError(f"{left} have not heard")
    taken = perf_counter() - began
    end()
    return taken


def by_hand(size: int) -> Marks:
    """Call and tell without a host."""
    before = _alone_by_hand()
    with telling_by_hand.Crowd(listener.names(size)) as crowd:
        wait_until_idle(*(crowd.pid(number) for number in range(size)))
        during = _called_by_hand(crowd, size // 2)
        told = [crowd.tell(listener.FAN, NEWS) for _ in range(TELLINGS)]
    return _calls([before, _alone_by_hand()], during) | _telling(size, told)


def _alone_by_hand() -> Marks:
    with telling_by_hand.Crowd(["alone"]) as crowd:
        return _called_by_hand(crowd, 0)


def _called_by_hand(crowd: telling_by_hand.Crowd, number: int) -> Marks:
    return _both(partial(crowd.call, number, listener.ACTION, echo.PAYLOAD), crowd.pid(number))


def _costs(bare: Footprint, full: Footprint, size: int, started_s: float) -> Marks:
    return {
        "threads": full.threads,
        "descriptors": (full.descriptors - bare.descriptors) / size,
        "private_kib": (full.private_kib - bare.private_kib) / size,
        "resident_kib": (full.resident_kib - bare.resident_kib) / size,
        "start_ms": started_s * 1000 / size,
    }


def _calls(alone: list[Marks], during: Marks) -> Marks:
    marks: Marks = {}
    for place in pinning.PLACES:
        one = median(each[place] for each in alone)
        marks |= {
            f"one_{place}": one,
            f"all_{place}": during[place],
            f"slowdown_{place}": during[place] / one,
        }
    return marks


def _telling(size: int, told_s: list[float]) -> Marks:
    return {"told_ms": median(told_s) * 1000, "told_us": median(told_s) * 1_000_000 / size}


def main() -> None:
    way, size = sys.argv[1], int(sys.argv[2])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # four descriptors per plugin
    ways: dict[str, Any] = {
        "asyncio": lambda: asyncio.run(on_asyncio(size)),
        "blocking": lambda: on_blocking(size),
        "hand": lambda: by_hand(size),
    }
    job: Job = ways[way]
    serve({"crowd": job})


if __name__ == "__main__":
    main()
