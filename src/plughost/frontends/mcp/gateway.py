"""The tools of this host -> a server of the official SDK. Every problem of a call is an answer that says so.

It works with clients of both eras: those that shake hands and those whose every request says who they are. The list of
tools is settled before it is first told and does not change.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from ... import __version__
from ...errors import PlughostError
from ...host.asyncio_host import Host
from ...messages.quoting import quote
from . import delivery, repl, wording
from .bounded import bounded
from .call import Progress
from .delivery import Delivery
from .output_files import OutputFiles
from .plugin_tools import PluginTools
from .repl import Repl

INSTRUCTIONS = (
    "`repl` runs code in sessions that keep their state between calls; read the last line of each answer. "
    "Tools with `__` in their names belong to plugins, each called in a process of its own."
)
_log = logging.getLogger(__name__)


class Gateway:
    """What a server offers: the tool `repl`, those of plugins, or both."""

    def __init__(
        self,
        host: Host,
        files: OutputFiles,
        repl: Repl | None,
        plugins: asyncio.Future[PluginTools] | None,
    ) -> None:
        self._host = host
        self._files = files
        self._repl = repl
        self._plugins = plugins

    def server(self) -> Server[Any]:
        """Return a server for any number of connections."""
        return Server(
            "plughost",
            version=__version__,
            title="plughost",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def end(self) -> None:
        """End every process: calls that wait are answered with that. Idempotent."""
        await self._host.aclose()

    async def _list(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        del context, params
        plugins = [] if self._plugins is None else (await asyncio.shield(self._plugins)).listed
        return ListToolsResult(tools=[*plugins, *([] if self._repl is None else [self._repl.tool])])

    async def _call(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        async def progress(seconds: float) -> None:
            await context.session.report_progress(round(seconds, 1), message=f"running for {seconds:.0f} s")

        if context.request is None:  # standard input and output
            return await self._answer(params, progress, None)
        way: Delivery | None = context.request.scope.get(delivery.KEY)
        return bounded(await self._answer(params, progress, way), self._files)

    async def _answer(
        self, params: CallToolRequestParams, progress: Progress, way: Delivery | None
    ) -> CallToolResult:
        arguments = params.arguments or {}
        try:
            if self._repl is not None and params.name == repl.NAME:
                return await self._repl.call(arguments, progress, way)
            if self._plugins is not None:
                plugins = await asyncio.shield(self._plugins)
                if params.name in plugins:
                    return await plugins.call(params.name, arguments, progress)
            return _failed(f"There is no tool {quote(params.name)}. The list of tools says which there are.")
        except PlughostError as error:
            return _failed(wording.problem(error))
        except Exception as error:  # a bug of ours: the agent is told that it is no fault of its own
            _log.exception("a call of %s failed", quote(params.name))
            return _failed(f"a bug in plughost: {error!r}")


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=wording.clean(text))], is_error=True)
