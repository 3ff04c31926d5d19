"""Tool calls in one session with an MCP server that stays, by the official SDK's own client over stdio.

python -m bench.peers.mcp_echo PLACE
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from mcp import (  # type: ignore[import-not-found]  # it is in the peers' environment
    ClientSession,
    StdioServerParameters,
    stdio_client,
)

from .. import echo, latency, pinning
from ..loop import serve
from ..stopwatch import Marks

SERVER = str(Path(__file__).with_name("mcp_echo_server.py"))
CALLS = 100
PIPELINED = 320  # calls, over all those in flight


async def call(session: ClientSession) -> object:
    """Ask, and return the answer."""
    result = await session.call_tool("echo", {"payload": echo.TEXT})
    return result.structured_content["payload"]


async def pipelined(session: ClientSession) -> Marks:
    """Keep so many calls in flight, each of a task of its own."""

    async def call_on_and_on() -> None:
        for _ in range(PIPELINED // echo.IN_FLIGHT):
            echo.check(await call(session))

    began = perf_counter()
    await asyncio.gather(*(call_on_and_on() for _ in range(echo.IN_FLIGHT)))
    return {"per_s": PIPELINED / (perf_counter() - began)}


class Held:
    """A session that outlives a run of the loop. The SDK wants it left in the task that entered it."""

    def __init__(self) -> None:
        self._leave = asyncio.Event()
        self._entered: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    async def enter(self) -> ClientSession:
        """Return the session once it is initialized."""
        await asyncio.wait([self._task, self._entered], return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            self._task.result()
        return self._entered.result()

    async def leave(self) -> None:
        """End the session and the server."""
        self._leave.set()
        await self._task

    async def _hold(self) -> None:
        parameters = StdioServerParameters(command=sys.executable, args=[SERVER])
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            self._entered.set_result(session)
            await self._leave.wait()


async def hold() -> tuple[Held, ClientSession]:
    """Start the server."""
    held = Held()
    return held, await held.enter()


def main() -> None:
    pinning.settle()
    with asyncio.Runner() as runner:
        held, session = runner.run(hold())
        calls = partial(latency.measure_awaited, partial(call, session), echo.check, CALLS)
        serve(
            {
                "call": partial(_run, runner, calls),
                "pipelined": partial(_run, runner, partial(pipelined, session)),
            }
        )
        runner.run(held.leave())


def _run(runner: asyncio.Runner, work: Callable[[], Coroutine[Any, Any, Marks]]) -> Marks:
    return runner.run(work())


if __name__ == "__main__":
    main()
