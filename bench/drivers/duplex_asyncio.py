"""Calls to a plugin that stays, by the asyncio host's fleet, one after another and 64 at a time.

    python -m bench.drivers.duplex_asyncio PLACE LOOP

LOOP is `asyncio`, Python's own, or `uvloop`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from time import perf_counter
from typing import Any

import plughost

from .. import echo, latency, pinning
from ..loop import serve
from ..stopwatch import Marks
from . import big_frame, duplex_plugin, faults

CALLS = 1500
PIPELINED = 6400  # calls, over all those in flight

Work = Callable[[], Coroutine[Any, Any, Marks]]


async def pipelined(plugin: plughost.AsyncDuplexPlugin) -> Marks:
    """Keep so many calls in flight, each of a task of its own."""

    async def call_on_and_on() -> None:
        for _ in range(PIPELINED // echo.IN_FLIGHT):
            echo.check(await plugin.invoke(duplex_plugin.ACTION, echo.PAYLOAD))

    began = perf_counter()
    await asyncio.gather(*(call_on_and_on() for _ in range(echo.IN_FLIGHT)))
    return {"per_s": PIPELINED / (perf_counter() - began)}


async def ask(plugin: plughost.AsyncDuplexPlugin) -> Marks:
    """Have the plugin ask."""
    began = perf_counter()
    result = await plugin.cli(duplex_plugin.NAMESPACE, duplex_plugin.ARGV)
    taken = perf_counter() - began
    duplex_plugin.check_asked(result.stdout)
    return {"ask_us": taken * 1_000_000 / duplex_plugin.ASKS}


async def frame(plugin: plughost.AsyncDuplexPlugin, mib: int) -> Marks:
    """Have a big payload echoed."""
    before, began = faults.count(), perf_counter()
    answer = await plugin.invoke(duplex_plugin.ACTION, big_frame.payload(mib), timeout=big_frame.ACTION_S)
    taken = perf_counter() - began
    big_frame.check(mib, answer)
    return big_frame.marks(mib, taken, faults.count() - before)


async def connect(host: plughost.Host) -> plughost.AsyncDuplexPlugin:
    """Start the plugin."""
    fleet = await host.fleet(duplex_plugin.DIRECTORY)
    fleet.publish(duplex_plugin.TOPIC, echo.PAYLOAD)
    plugin = fleet[duplex_plugin.NAME]
    await plugin.start()
    return plugin


def loop_factory(name: str) -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes the loop *name*."""
    if name == "uvloop":
        import uvloop

        return uvloop.new_event_loop
    return asyncio.new_event_loop


def main() -> None:
    (loop,) = pinning.settle()
    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        host = plughost.Host()
        plugin = runner.run(connect(host))
        works: dict[str, Work] = {f"frame:{mib}": partial(frame, plugin, mib) for mib in big_frame.MIB}
        invoke = partial(plugin.invoke, duplex_plugin.ACTION, echo.PAYLOAD)
        works["call"] = partial(latency.measure_awaited, invoke, echo.check, CALLS)
        works["pipelined"] = partial(pipelined, plugin)
        works["ask"] = partial(ask, plugin)
        serve({name: partial(_run, runner, work) for name, work in works.items()})
        runner.run(host.aclose())


def _run(runner: asyncio.Runner, work: Work) -> Marks:
    return runner.run(work())


if __name__ == "__main__":
    main()
