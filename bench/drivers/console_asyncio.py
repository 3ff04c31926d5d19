"""Requests to a worker, its start, and a flood of output, by the asyncio host's console.

    python -m bench.drivers.console_asyncio PLACE LOOP

LOOP is `asyncio`, Python's own, or `uvloop`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from time import perf_counter
from typing import Any

import plughost

from .. import latency, pinning
from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from . import console_work as work
from .duplex_asyncio import loop_factory

FLOOD_S = 120.0  # to wait for all of it

Work = Callable[[], Coroutine[Any, Any, Marks]]


async def run(console: plughost.AsyncConsole) -> str:
    """Ask for a trivial thing."""
    return (await console.run(work.CODE)).text


async def start(host: plughost.Host) -> Marks:
    """Make a console: its worker has introduced itself by then."""
    watch = Stopwatch()
    async with await host.console(sys.executable):
        watch.mark("ready")
    return watch.marks


async def flood(console: plughost.AsyncConsole) -> Marks:
    """Have a worker print more than a reply holds."""
    await console.run(work.FLOOD)
    began = perf_counter()
    reply = await console.run(work.FLOOD_RUN, FLOOD_S)
    taken = perf_counter() - began
    if reply.full_output is None:
        raise ValueError("there is no file with all of it")
    return work.rate(reply.full_output.stat().st_size, taken)


async def connect() -> tuple[plughost.Host, plughost.AsyncConsole]:
    """Start a worker."""
    host = plughost.Host()
    return host, await host.console(sys.executable)


def main() -> None:
    (loop,) = pinning.settle()
    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        host, console = runner.run(connect())
        works: dict[str, Work] = {
            "call": partial(latency.measure_awaited, partial(run, console), work.check, work.CALLS),
            "start": partial(start, host),
            "flood": partial(flood, console),
        }
        serve({name: partial(_run, runner, work) for name, work in works.items()})
        runner.run(host.aclose())


def _run(runner: asyncio.Runner, work: Work) -> Marks:
    return runner.run(work())


if __name__ == "__main__":
    main()
