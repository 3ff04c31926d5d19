"""Many idle plugins on one asyncio host: what each costs the host, and what all of them do to a call.

    python -m bench.drivers.crowd SIZE

One plugin with one spare is called; the crowd are spares of other plugins. The calls are timed before the
crowd comes, while it is there, and after it has gone, so that a machine that drifts does not pass for a crowd
that costs. Everything the kernel counts machine-wide, such as the length of /proc, grows with the crowd too.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from statistics import median

import plughost

from ..loop import serve
from ..stopwatch import Marks
from . import footprint
from .warm_caller import Ear, bind, wait_until_idle
from .warm_spare import call

GROUP = 50  # spares per plugin; a binding may ask for 64
CALLS = 25  # per phase


async def measure(size: int) -> Marks:
    """Bring *size* idle plugins in and out again, and call one more all the while."""
    ear = Ear()
    async with plughost.Host(on_event=ear) as host:
        called = await host.add(bind(spares=1))
        await call(called, ear)  # whatever is imported and cached at the first call is not the crowd's
        alone = footprint.take()  # before the calls: what they free would hide what the crowd takes
        before = await _latency(called, ear)
        crowd = await _gather(host, ear, size)
        full = footprint.take()
        during = await _latency(called, ear)
        for plugin in crowd:
            await plugin.close()
        after = await _latency(called, ear)
    one = median(before + after)
    return {
        "threads": full.threads,
        "descriptors": (full.descriptors - alone.descriptors) / size,
        "private_kib": (full.private_kib - alone.private_kib) / size,
        "resident_kib": (full.resident_kib - alone.resident_kib) / size,
        "call_with_one": one,
        "call_with_all": median(during),
        "slowdown": median(during) / one,
    }


async def _latency(plugin: plughost.Plugin, ear: Ear) -> list[float]:
    return [(await call(plugin, ear))["gone"] for _ in range(CALLS)]


async def _gather(host: plughost.Host, ear: Ear, size: int) -> list[plughost.Plugin]:
    """Start the crowd a group at a time, and wait until every one of it has shaken hands and sleeps."""
    gone = set(ear.ready)
    crowd: list[plughost.Plugin] = []
    for start in range(0, size, GROUP):
        crowd.append(await host.add(bind(spares=min(GROUP, size - start))))
        await ear.until(lambda: len(ear.ready) == ear.spawned)
    wait_until_idle(*(ear.ready - gone))
    return crowd


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # four descriptors per plugin
    serve({"crowd": lambda: asyncio.run(measure(int(sys.argv[1])))})


if __name__ == "__main__":
    main()
