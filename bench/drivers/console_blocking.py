"""Requests to a worker, its start, and a flood of output, by the blocking host's console.

python -m bench.drivers.console_blocking PLACE
"""

from __future__ import annotations

import sys
from functools import partial
from time import perf_counter

import plughost
from plughost import blocking

from .. import latency, pinning
from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from . import console_work as work

FLOOD_S = 120.0  # to wait for all of it


def run(console: plughost.BlockingConsole) -> str:
    """Ask for a trivial thing."""
    return console.run(work.CODE).text


def start(host: blocking.Host) -> Marks:
    """Make a console: its worker has introduced itself by then."""
    watch = Stopwatch()
    with host.console(sys.executable):
        watch.mark("ready")
    return watch.marks


def flood(console: plughost.BlockingConsole) -> Marks:
    """Have a worker print more than a reply holds."""
    console.run(work.FLOOD)
    began = perf_counter()
    reply = console.run(work.FLOOD_RUN, FLOOD_S)
    taken = perf_counter() - began
    if reply.full_output is None:
        raise ValueError("there is no file with all of it")
    return work.rate(reply.full_output.stat().st_size, taken)


def main() -> None:
    pinning.settle()
    with blocking.Host() as host:
        console = host.console(sys.executable)
        calls = partial(latency.measure, partial(run, console), work.check, work.CALLS)
        serve({"call": calls, "start": partial(start, host), "flood": partial(flood, console)})


if __name__ == "__main__":
    main()
