"""An MCP server per call, by the official SDK's own client over stdio: initialize, one tool call, the end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mcp import (  # type: ignore[import-not-found]  # it is in the peers' environment
    ClientSession,
    StdioServerParameters,
    stdio_client,
)

from .. import greeting
from ..loop import serve
from ..stopwatch import Marks, Stopwatch

SERVER = str(Path(__file__).with_name("mcp_server.py"))


async def call() -> Marks:
    """Start, shake hands, ask, answer, end."""
    parameters = StdioServerParameters(command=sys.executable, args=[SERVER])
    watch = Stopwatch()
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        watch.mark("handshake")
        result = await session.call_tool("greet", greeting.INPUT)
        watch.mark("result")
    watch.mark("gone")
    greeting.check(result.structured_content)
    return watch.marks


if __name__ == "__main__":
    serve({"call": lambda: asyncio.run(call())})
