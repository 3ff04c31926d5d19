"""`plughost mcp` from its first line to its last: what was asked for -> a server that ends with all its processes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp.server.lowlevel.server import Server

from ...host.asyncio_host import Host
from ...manifest.binding import Binding
from ...manifest.project import Project
from . import http, stdio
from .gateway import Gateway
from .http import Address
from .output_files import OutputFiles
from .plugin_tools import describe
from .repl import Repl

Report = Callable[[str], object]  # takes a line for whoever has started us


@dataclass(frozen=True, slots=True)
class Offer:
    """What is served: sessions with *worker*, and the plugins of *project*, if there are any."""

    worker: Binding | None
    project: Project | None
    output_directory: Path | None = None


@asynccontextmanager
async def gateway(offer: Offer, report: Report) -> AsyncIterator[Gateway]:
    """Yield the tools of *offer*; leaving the block ends every process and removes what is not to be kept."""
    files = OutputFiles(offer.output_directory)
    describing: asyncio.Task[Any] | None = None
    try:
        async with Host() as host:
            repl = None
            if offer.worker is not None:
                repl = Repl(host, files, offer.worker, output_directory=offer.output_directory)
            if offer.project is not None:  # at once, but a client need not wait for it before it says hello
                describing = asyncio.ensure_future(describe(host, offer.project.entries, files, report))
            try:
                yield Gateway(host, files, repl, describing)
            finally:
                if describing is not None:
                    describing.cancel()
                    await asyncio.wait({describing})
    finally:
        files.close()


async def serve_stdio(offer: Offer, report: Report) -> None:
    """Serve whoever has started us, until standard input ends or a signal comes."""
    stop = _stopped()
    async with gateway(offer, report) as tools, stdio.standard_streams() as streams:
        task = asyncio.ensure_future(_run(tools.server(), *streams))
        try:
            await _either(stop, task)
        finally:
            task.cancel()
            await asyncio.wait({task})


async def serve_http(
    offer: Offer, address: Address, token: str | None, report: Report, *, shown: str = ""
) -> None:
    """Serve on *address* until a signal comes; its first line has *token* as *shown*. Raises LocalProtocolError."""
    stop = _stopped()
    listening = http.listen(address, token)
    with listening:
        at = replace(address, port=listening.getsockname()[1])
        async with (
            gateway(offer, report) as tools,
            http.serving(tools.server(), listening, at, token) as task,
        ):
            report(f"serving {at.url}" + ("" if token is None else f"  Authorization: Bearer {shown}"))
            await _either(stop, task)
            await tools.end()  # while there is still somebody to answer


async def _run(server: Server[Any], incoming: stdio.Incoming, outgoing: stdio.Outgoing) -> None:
    await server.run(incoming, outgoing, server.create_initialization_options())


def _stopped() -> asyncio.Event:
    """Return what is set when somebody wants us to end."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    return stop


async def _either(stop: asyncio.Event, task: asyncio.Task[None]) -> None:
    """Wait for either; raise what *task* raised by itself."""
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({stopping, task}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if task.done():
        task.result()
