"""A provider's start and handshake: by hand, and by either host.

    python -m bench.drivers.hook_start DIRECTORY…

Jobs are `WAY:NAME`, the name being the directory's.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path

import plughost
from plughost import Binding, blocking
from plughost.manifest import binding

from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from .hook_by_hand import ByHand


def by_hand(bound: Binding) -> Marks:
    """Start it, shake hands, close its input and wait."""
    watch = Stopwatch()
    with ByHand(bound) as provider:
        info = provider.shake_hands()
        watch.mark("handshake")
    watch.mark("gone")
    return _checked(watch, info.name, bound)


def on_blocking(host: blocking.Host, bound: Binding) -> Marks:
    """The same, by the blocking host."""
    watch = Stopwatch()
    with host.connect(bound) as provider:
        watch.mark("handshake")
    watch.mark("gone")
    return _checked(watch, provider.name, bound)


async def on_asyncio(host: plughost.Host, bound: Binding) -> Marks:
    """The same, by the asyncio host."""
    watch = Stopwatch()
    async with await host.connect(bound) as provider:
        watch.mark("handshake")
    watch.mark("gone")
    return _checked(watch, provider.name, bound)


def _checked(watch: Stopwatch, name: str, bound: Binding) -> Marks:
    if name != bound.name:
        raise ValueError(f"it is {name}, not {bound.name}")
    return watch.marks


def main() -> None:
    jobs = {}
    with asyncio.Runner() as runner, blocking.Host() as blocking_host:
        host = plughost.Host()
        for directory in map(Path, sys.argv[1:]):
            bound = binding.read(directory)
            jobs[f"hand:{directory.name}"] = partial(by_hand, bound)
            jobs[f"blocking:{directory.name}"] = partial(on_blocking, blocking_host, bound)
            jobs[f"asyncio:{directory.name}"] = partial(_run, runner, host, bound)
        serve(jobs)
        runner.run(host.aclose())


def _run(runner: asyncio.Runner, host: plughost.Host, bound: Binding) -> Marks:
    return runner.run(on_asyncio(host, bound))


if __name__ == "__main__":
    main()
