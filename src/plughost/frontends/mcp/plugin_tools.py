"""`execute` plugins of a project -> tools of an agent. One that cannot be described is left out, and said so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from ...contracts.execute.host import Result
from ...contracts.execute.messages import Manifest
from ...errors import PlughostError
from ...host.asyncio_host import Host, Plugin
from ...manifest.project import Entry
from . import wording
from .call import Progress, carried_out
from .names import tool_names
from .output_files import OutputFiles

AT_ONCE = (
    4  # plugins that are asked for their description at a time: a project may have many, a machine few cores
)
CALLS = 16  # at a time, each a process; more wait for their turn
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
        return Tool(
            name=self.name,
            title=f"{self.tool} ({self.plugin.name})",
            description=self.description,
            input_schema=_SCHEMA,
            annotations=ToolAnnotations(title=f"{self.tool} ({self.plugin.name})"),
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
            report(f"{entry.name} is left out: {wording.problem(error)}")
            return None

    wanted = [
        each
        for each in entries
        if each.shadowed_by is None and (each.binding is None or each.binding.contract == "execute")
    ]
    described = {each[0]: each[1:] for each in await asyncio.gather(*map(ask, wanted)) if each is not None}
    names = tool_names(
        (name, tool) for name, (_, manifest) in described.items() for tool in manifest.exposed_tools or ()
    )
    tools = {
        name: PluginTool(name, described[entry][0], tool, _description(tool, *described[entry]))
        for name, (entry, tool) in names.items()
    }
    return PluginTools(tools, files)


def _description(tool: str, plugin: Plugin, manifest: Manifest) -> str:
    what = f"The tool {tool} of the plugin {manifest.plugin_id} {manifest.plugin_version}".rstrip()
    about = f" {plugin.binding.description.strip()}" if plugin.binding.description.strip() else ""
    return wording.clean(
        f"{what}.{about} The arguments are passed to it as its input, as they are; an error says what it expects."
    )


def _result(result: Result, files: OutputFiles) -> CallToolResult:
    output = result.output
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
    is_whole = len(text) <= SHOWN_CHARS
    content = [TextContent(text=wording.clean(text if is_whole else _cut(text, files)))]
    content += [TextContent(text=wording.remark(f"warning: {warning}")) for warning in result.warnings]
    structured = output if is_whole and isinstance(output, dict) else None
    return CallToolResult(content=list(content), structured_content=structured)


def _cut(text: str, files: OutputFiles) -> str:
    half = SHOWN_CHARS // 2
    path = files.keep(text.encode(errors="backslashreplace"), ".txt")
    where = "the whole could not be kept" if path is None else f"the whole output is in {path}"
    note = wording.remark(f"{len(text) - 2 * half} characters are left out here: {where}")
    return f"{text[:half]}\n{note}\n{text[-half:]}"
