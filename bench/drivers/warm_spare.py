"""Calls to a warm spare, by either host: how soon a process is there that has shaken hands, and the whole call."""

from __future__ import annotations

import asyncio
from functools import partial

import plughost
from plughost import blocking

from .. import greeting
from ..loop import serve
from ..stopwatch import Marks
from .warm_caller import Ear, bind, finish, wait_until_idle


async def call(plugin: plughost.Plugin, ear: Ear) -> Marks:
    """Call by the asyncio host, on a spare that idles."""
    await ear.until(lambda: ear.newest in ear.ready)
    wait_until_idle(ear.newest)
    watch = ear.time()
    output = await plugin.call("greet", greeting.INPUT)
    return finish(watch, output)


def call_blocking(plugin: blocking.Plugin, ear: Ear) -> Marks:
    """Call by the blocking host: nobody reads a spare's handshake before the call, but it is there."""
    wait_until_idle(ear.newest)
    watch = ear.time()
    output = plugin.call("greet", greeting.INPUT)
    return finish(watch, output)


def main() -> None:
    ear, other_ear = Ear(), Ear()
    with asyncio.Runner() as runner, blocking.Host(on_event=other_ear) as blocking_host:
        other = blocking_host.add(bind(spares=1))
        host = plughost.Host(on_event=ear)
        plugin = runner.run(host.add(bind(spares=1)))
        serve(
            {
                "asyncio": lambda: runner.run(call(plugin, ear)),
                "blocking": partial(call_blocking, other, other_ear),
            }
        )
        runner.run(host.aclose())


if __name__ == "__main__":
    main()
