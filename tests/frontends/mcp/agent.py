"""An agent for tests: the official client in memory, real workers and plugins behind it, answers as values."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plughost.manifest import project, sideband_binding
from plughost.manifest.sideband_binding import Worker

if TYPE_CHECKING:
    from mcp import Client

PATIENCE_S = 300.0  # for what must come: each server of a test's own takes seconds to start, on a busy machine a minute
PATIENCE_MS = 300_000
MODES = ("auto", "legacy")  # the two eras of the protocol


@dataclass(frozen=True)
class Answer:
    """What a call brought: *blocks* are texts, or pictures as (type, base64), in order."""

    blocks: list[Any]
    is_error: bool
    meta: dict[str, Any]
    structured: Any

    @property
    def text(self) -> str:
        """All but the last block, which is on the session."""
        return "".join(each for each in self.blocks[:-1] if isinstance(each, str))

    @property
    def state(self) -> str:
        return str(self.meta.get("plughost/state"))

    @property
    def last(self) -> str:
        return str(self.blocks[-1])


def read(result: Any) -> Answer:
    """Return a result of the official client as an answer."""
    blocks = [each.text if each.type == "text" else (each.mime_type, each.data) for each in result.content]
    return Answer(blocks, bool(result.is_error), result.meta or {}, result.structured_content)


class Agent:
    """Somebody who calls tools."""

    def __init__(self, client: Client, reports: list[str]) -> None:
        self.client = client
        self.reports = reports

    async def call(self, tool: str, arguments: dict[str, Any], **options: Any) -> Answer:
        async with asyncio.timeout(PATIENCE_S):
            return read(await self.client.call_tool(tool, arguments, **options))

    async def repl(self, text: str, **arguments: Any) -> Answer:
        return await self.call("repl", {"input": text, "timeout_ms": PATIENCE_MS, **arguments})

    async def repl_when_idle(self, text: str) -> Answer:
        """Run *text* as soon as what ran before is over."""
        async with asyncio.timeout(PATIENCE_S):
            while (answer := await self.repl(text)).state == "busy":  # noqa: ASYNC110  no event of ours tells
                await asyncio.sleep(0.01)
            return answer

    async def tools(self) -> list[str]:
        async with asyncio.timeout(PATIENCE_S):
            return [each.name for each in (await self.client.list_tools()).tools]


@asynccontextmanager
async def agent(
    where: Path,
    *,
    mode: str = "auto",
    plugins: bool = False,
    with_repl: bool = True,
    command: Worker = sys.executable,
) -> AsyncIterator[Agent]:
    """Connect to a server of its own; *plugins*: those of the plughost.toml in *where*."""
    from mcp import Client  # here: it takes a second, and not every process that reads this file runs a test

    from plughost.frontends.mcp.serving import Offer, gateway

    worker = sideband_binding.bind(command, cwd=where)
    reports: list[str] = []
    offer = Offer(worker if with_repl else None, project.load(where) if plugins else None)
    async with gateway(offer, reports.append) as tools, Client(tools.server(), mode=mode) as client:  # type: ignore[arg-type]
        yield Agent(client, reports)


async def until(reached: Callable[[], object]) -> None:
    """Wait for what another process does."""
    async with asyncio.timeout(PATIENCE_S):
        while not reached():  # noqa: ASYNC110  it sets no event of ours
            await asyncio.sleep(0.01)


async def appears(path: Path) -> None:
    """Wait until code has made the file *path*."""
    await until(path.exists)


class Named:
    """The file that an answer names."""

    def __init__(self, text: str) -> None:
        (line,) = (line for line in text.splitlines() if " is in " in line)
        self.path = Path(line.removesuffix("]").split(" is in ")[1])

    def data(self) -> bytes:
        return self.path.read_bytes()

    def is_there(self) -> bool:
        return self.path.exists()


def waits_for(path: Path) -> str:
    """Return code that goes on when there is a file *path*."""
    return f"import os, time\nwhile not os.path.exists({str(path)!r}): time.sleep(0.01)\n"


def makes(path: Path) -> str:
    """Return code that makes the file *path*."""
    return f"open({str(path)!r}, 'w').close()\n"


ENDLESS = "import time\nwhile True: time.sleep(0.01)\n"
