"""Calls to a plugin that stays, by the blocking host's fleet.

python -m bench.drivers.duplex_blocking PLACE
"""

from __future__ import annotations

from functools import partial
from time import perf_counter

import plughost
from plughost import blocking

from .. import echo, latency, pinning
from ..loop import Job, serve
from ..stopwatch import Marks
from . import big_frame, duplex_plugin, faults

CALLS = 2000


def ask(plugin: plughost.BlockingDuplexPlugin) -> Marks:
    """Have the plugin ask."""
    began = perf_counter()
    result = plugin.cli(duplex_plugin.NAMESPACE, duplex_plugin.ARGV)
    taken = perf_counter() - began
    duplex_plugin.check_asked(result.stdout)
    return {"ask_us": taken * 1_000_000 / duplex_plugin.ASKS}


def frame(plugin: plughost.BlockingDuplexPlugin, mib: int) -> Marks:
    """Have a big payload echoed."""
    before, began = faults.count(), perf_counter()
    answer = plugin.invoke(duplex_plugin.ACTION, big_frame.payload(mib), timeout=big_frame.ACTION_S)
    taken = perf_counter() - began
    big_frame.check(mib, answer)
    return big_frame.marks(mib, taken, faults.count() - before)


def main() -> None:
    pinning.settle()
    with blocking.Host() as host:
        fleet = host.fleet(duplex_plugin.DIRECTORY)
        fleet.publish(duplex_plugin.TOPIC, echo.PAYLOAD)
        plugin = fleet[duplex_plugin.NAME]
        plugin.start()
        jobs: dict[str, Job] = {f"frame:{mib}": partial(frame, plugin, mib) for mib in big_frame.MIB}
        invoke = partial(plugin.invoke, duplex_plugin.ACTION, echo.PAYLOAD)
        jobs["call"] = partial(latency.measure, invoke, echo.check, CALLS)
        jobs["ask"] = partial(ask, plugin)
        serve(jobs)


if __name__ == "__main__":
    main()
