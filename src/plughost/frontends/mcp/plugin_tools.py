"""`execute` plugins of a project -> tools of an agent. One that cannot be described is left out, and said so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from ...contracts.execute.host import Result
from ...contracts.execute.messages import Manifest
from ...errors import PlughostError
from ...host.asyncio_host import Host, Plugin
from ...manifest.project import Entry
from ...messages.quoting import one_line
from . import wording
from .bounded import cut
from .call import Progress, carried_out
from .names import tool_names
from .output_files import OutputFiles

AT_ONCE = (
    4  # plugins that are asked for their description at a time: a project may have many, a machine few cores
)
CALLS = 16  # at a time, each a process; more wait for their turn
TOOLS = 128  # of one plugin: an agent reads the whole list with each of its thoughts
LIST_BYTES = 524_288  # of all as they are listed: over HTTP a client takes 1 MiB at once
TITLE_CHARS = 128
DESCRIPTION_CHARS = 4_096
SHOWN_CHARS = 24_000  # of an output: an agent reads all that it is shown

_SCHEMA: dict[str, Any] = {"type": "object", "additionalProperties": True}  # the contract describes no inputs


@dataclass(frozen=True, slots=True)
class PluginTool:
    """A tool of a plugin, under the name that agents call it by."""

    name: str
    plugin: Plugin
    tool: str
    description: str

    @property
    def listed(self) -> Tool:
        title = wording.cut(one_line(f"{self.tool} ({self.plugin.name})"), TITLE_CHARS)
        return Tool(
            name=self.name,
            title=title,
            description=self.description,
            input_schema=_SCHEMA,
            annotations=ToolAnnotations(title=title),
        )


class PluginTools:
    """All tools of all plugins, by name."""

    def __init__(self, tools: Mapping[str, PluginTool], files: OutputFiles) -> None:
        self._tools = tools
        self._files = files
        self._turns = asyncio.Semaphore(CALLS)

    @property
    def listed(self) -> list[Tool]:
        return [each.listed for each in self._tools.values()]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    async def call(self, name: str, arguments: Mapping[str, Any], progress: Progress) -> CallToolResult:
        """Call the tool *name* with *arguments* as its input. Raises PlughostError; KeyError if there is none."""
        found = self._tools[name]

        async def invoke() -> Result:
            async with self._turns:
                return await found.plugin.invoke(found.tool, dict(arguments))

        return _result(await carried_out(invoke(), progress), self._files)


async def describe(
    host: Host, entries: Iterable[Entry], files: OutputFiles, report: Callable[[str], object]
) -> PluginTools:
    """Return the tools of the `execute` plugins among *entries*; *report* those that cannot be used."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def ask(entry: Entry) -> tuple[str, Plugin, Manifest] | None:
        try:
            if entry.error is not None:
                raise entry.error
            assert entry.binding is not None
            async with turns:
                plugin = await host.add(entry.binding)
                return entry.name, plugin, await plugin.describe()
        except PlughostError as error:
            report(f"{entry.name} is left out: {wording.in_short(error)} (`plughost doctor` says more)")
            return None

    wanted = [
        each
        for each in entries
        if each.shadowed_by is None and (each.binding is None or each.binding.contract == "execute")
    ]
    described = {each[0]: each[1:] for each in await asyncio.gather(*map(ask, wanted)) if each is not None}
    offered = {name: _offered(name, manifest, report) for name, (_, manifest) in described.items()}
    names = tool_names((name, tool) for name, tools in offered.items() for tool in tools)
    tools = [
        PluginTool(name, described[entry][0], tool, _description(tool, *described[entry]))
        for name, (entry, tool) in names.items()
    ]
    return PluginTools({each.name: each for each in _listable(tools, report)}, files)


def _offered(name: str, manifest: Manifest, report: Callable[[str], object]) -> Sequence[str]:
    """Return the tools of a plugin, in its own order, as many as an agent is shown."""
    tools = list(dict.fromkeys(manifest.exposed_tools or ()))
    if len(tools) > TOOLS:
        report(f"{name} has {len(tools)} tools: the first {TOOLS} are served")
    return tools[:TOOLS]


def _listable(tools: Sequence[PluginTool], report: Callable[[str], object]) -> Sequence[PluginTool]:
    """Return as many of *tools*, in order, as a list can hold."""
    size = 0
    for number, each in enumerate(tools):
        size += len(json.dumps(each.listed.model_dump(mode="json", by_alias=True)))
        if size > LIST_BYTES:
            report(f"the list of tools is too long: the first {number} of {len(tools)} are served")
            return tools[:number]
    return tools


def _description(tool: str, plugin: Plugin, manifest: Manifest) -> str:
    what = f"The tool {tool} of the plugin {manifest.plugin_id} {manifest.plugin_version}".rstrip()
    about = f" {plugin.binding.description.strip()}" if plugin.binding.description.strip() else ""
    rest = " The arguments are passed to it as its input, as they are; an error says what it expects."
    return wording.cut(wording.clean(f"{what}.{about}"), DESCRIPTION_CHARS) + rest


def _result(result: Result, files: OutputFiles) -> CallToolResult:
    output = result.output
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
    is_whole = len(text) <= SHOWN_CHARS
    content = [TextContent(text=wording.clean(text if is_whole else cut(text, SHOWN_CHARS // 2, files)))]
    content += [TextContent(text=wording.remark(f"warning: {warning}")) for warning in result.warnings]
    structured = output if is_whole and isinstance(output, dict) else None
    return CallToolResult(content=list(content), structured_content=structured)
