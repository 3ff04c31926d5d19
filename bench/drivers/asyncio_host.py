"""Calls by the asyncio host, each to a process of its own: on a host that is already there, or on a new one.

    python -m bench.drivers.asyncio_host DIRECTORY…

Each plugin directory is a job named after it; `new-host` makes, uses and closes a host for the first of them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import plughost

from .. import greeting
from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from .stages import stages


async def call(plugin: plughost.Plugin) -> Marks:
    """Start the plugin, call it, and wait for it to be gone: the call returns only then."""
    watch = Stopwatch()
    result = await plugin.invoke("greet", greeting.INPUT)
    watch.mark("gone")
    greeting.check(result.output)
    return watch.marks | stages(result.timings_ms)


async def call_on_new_host(directory: str) -> Marks:
    """The very first call of an application, which also starts the guard, and the host's end."""
    watch = Stopwatch()
    async with plughost.Host() as host:
        plugin = await host.add(directory)
        greeting.check(await plugin.call("greet", greeting.INPUT))
        watch.mark("result")
    watch.mark("gone")
    return watch.marks


async def _add(host: plughost.Host, directories: list[str]) -> dict[str, plughost.Plugin]:
    return {Path(path).name: await host.add(path) for path in directories}


def main() -> None:
    directories = sys.argv[1:]
    with asyncio.Runner() as runner:
        host = plughost.Host()
        plugins = runner.run(_add(host, directories))
        jobs = {name: partial(_run, runner, partial(call, plugin)) for name, plugin in plugins.items()}
        jobs["new-host"] = partial(_run, runner, partial(call_on_new_host, directories[0]))
        serve(jobs)
        runner.run(host.aclose())


def _run(runner: asyncio.Runner, job: Callable[[], Coroutine[Any, Any, Marks]]) -> Marks:
    return runner.run(job())


if __name__ == "__main__":
    main()
