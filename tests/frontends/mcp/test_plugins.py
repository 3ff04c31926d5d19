"""Plugins as an agent's tools: described, called, and what fails is an answer. Who cannot be asked is left out."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from plughost.frontends.mcp import plugin_tools
from tests.frontends.mcp.agent import MODES, Named, agent, appears

pytestmark = [pytest.mark.usefixtures("leak_check"), pytest.mark.thin(4, "plugins by mcp")]

PLUGIN = """\
import json, os, sys, time
tools = {tools!r}
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "handshake":
        manifest = dict(plugin_id={name!r}, plugin_version="1.2", protocol_version=message["protocol_version"],
                        exposed_tools=tools, capabilities=[])
        answer = dict(type="handshake", manifest=manifest)
    else:
        value, tool = message["input"], message["tool_name"]
        if tool == "hang":
            open(value["begun"], "w").write(str(os.getpid()))
            time.sleep(3600)
        if tool == "crash":
            os._exit(5)
        answer = dict(type="response", request_id=message["request_id"])
        if tool == "refuse":
            answer |= dict(status="error", error=dict(code="no_way", message="not \\x1b[31mtoday"))
        else:
            answer |= dict(status="ok", output=eval(tool[5:]) if tool.startswith("give:") else value)
    print(json.dumps(answer), flush=True)
    if answer["type"] == "response":
        break
"""


def install(where: Path, name: str, *tools: str, description: str = "") -> None:
    """Put a plugin into *where* that has *tools*, and name it in plughost.toml."""
    home = where / name
    home.mkdir()
    (home / "plugin.py").write_text(PLUGIN.format(tools=list(tools), name=name))
    bind(where, name, [sys.executable, "-I", "plugin.py"], description)


def bind(where: Path, name: str, command: list[str], description: str = "") -> None:
    home = where / name
    home.mkdir(exist_ok=True)
    (home / "plugin.toml").write_text(
        f"[plugin]\nname = {json.dumps(name)}\ncontract = 'execute'\ncommand = {json.dumps(command)}\n"
        f"description = {json.dumps(description)}\n[limits]\ntimeout_s = 300\nlaunch_s = 300\nhandshake_s = 300\n"
    )
    project = where / "plughost.toml"
    text = project.read_text() if project.exists() else "[plugins]\n"
    project.write_text(f"{text}{json.dumps(name)} = {json.dumps(name)}\n")


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_is_called_with_the_arguments_as_its_input(tmp_path, mode):
    install(tmp_path, "echo", "same", description="Says it again.")
    async with agent(tmp_path, mode=mode, plugins=True) as it:
        assert await it.tools() == ["echo__same", "repl"]
        answer = await it.call("echo__same", {"a": [1, {"b": None}], "é": "ü"})
        assert answer.structured == {"a": [1, {"b": None}], "é": "ü"}
        assert json.loads(answer.last) == answer.structured
        assert not answer.is_error
        tool = (await it.client.list_tools()).tools[0]
        assert "Says it again." in (tool.description or "")
        assert tool.input_schema["type"] == "object"


@pytest.mark.parametrize(
    ("value", "text"), [("'plain'", "plain"), ("[1, 2]", "[\n  1,\n  2\n]"), ("None", "null"), ("3", "3")]
)
async def test_an_output_that_is_no_object_is_text(tmp_path, value, text):
    install(tmp_path, "give", f"give:{value}")
    async with agent(tmp_path, plugins=True, with_repl=False) as it:
        (name,) = await it.tools()
        answer = await it.call(name, {})
        assert answer.blocks == [text]
        assert answer.structured is None


async def test_a_large_output_is_shown_at_both_ends_and_whole_in_a_file(tmp_path):
    install(tmp_path, "give", "give:{'x': 'y' * 100_000}")
    async with agent(tmp_path, plugins=True, with_repl=False) as it:
        (name,) = await it.tools()
        answer = await it.call(name, {})
        assert len(answer.last) < 2 * plugin_tools.SHOWN_CHARS
        assert answer.structured is None
        file = Named(answer.last)
        assert json.loads(file.data()) == {"x": "y" * 100_000}
    assert not file.is_there()


async def test_an_error_of_the_plugin_is_an_answer_with_its_code_and_no_escape_sequence(tmp_path):
    install(tmp_path, "plugin", "refuse")
    async with agent(tmp_path, plugins=True, with_repl=False) as it:
        answer = await it.call("plugin__refuse", {})
        assert answer.is_error
        assert "[no_way]" in answer.last
        assert "\x1b" not in answer.last


async def test_a_failure_is_an_answer_with_its_code_and_the_next_step(tmp_path):
    install(tmp_path, "plugin", "crash", "same")
    async with agent(tmp_path, plugins=True, with_repl=False) as it:
        answer = await it.call("plugin__crash", {})
        assert answer.is_error
        assert "[crashed]" in answer.last
        assert "exit status 5" in answer.last
        assert "next step" in answer.last
        assert not (await it.call("plugin__same", {})).is_error  # each call is a process of its own


async def test_who_cannot_be_described_is_left_out_and_reported_and_the_others_work(tmp_path):
    install(tmp_path, "good", "same")
    bind(tmp_path, "bad", [sys.executable, "-I", "-c", "print('I am no plugin')"])
    bind(tmp_path, "gone", ["./not-there"])
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "plugin.toml").write_text("[plugin]\n")
    with (tmp_path / "plughost.toml").open("a") as file:
        file.write('broken = "broken"\n')
    async with agent(tmp_path, plugins=True) as it:
        assert await it.tools() == ["good__same", "repl"]
        assert sorted(line.split()[0] for line in it.reports) == ["bad", "broken", "gone"]
        assert (await it.call("good__same", {"a": 1})).structured == {"a": 1}


async def test_who_is_left_out_is_told_in_one_line(tmp_path):
    bind(tmp_path, "bad", [sys.executable, "-I", "-c", "print('I am\\n no plugin'); raise SystemExit(3)"])
    async with agent(tmp_path, plugins=True) as it:
        await it.tools()
        (line,) = it.reports
        assert "\n" not in line


async def test_a_plugin_of_too_many_tools_serves_the_first_of_them_and_that_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(plugin_tools, "TOOLS", 3)
    install(tmp_path, "many", *[f"give:{number}" for number in range(9, 4, -1)])
    install(tmp_path, "some", "a", "b", "c")
    async with agent(tmp_path, plugins=True, with_repl=False) as it:
        assert [each.title for each in (await it.client.list_tools()).tools if "many" in each.name] == [
            f"give:{number} (many)" for number in (7, 8, 9)
        ]
        assert len(await it.tools()) == 6
        (line,) = it.reports
        assert line.startswith("many ")


async def test_a_list_that_would_be_too_long_is_cut_and_that_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(plugin_tools, "LIST_BYTES", 2_000)
    install(tmp_path, "many", *[f"t{number}" for number in range(9)])
    async with agent(tmp_path, plugins=True) as it:
        names = await it.tools()
        assert names[-1] == "repl"
        assert 2 <= len(names) < 9
        assert len(it.reports) == 1


async def test_a_title_is_short_and_holds_no_escape_sequence(tmp_path):
    install(tmp_path, "odd", "\x1b[2J\n\u202e" + "x" * 1_000, description="y" * 20_000)
    async with agent(tmp_path, plugins=True, with_repl=False) as it:
        (tool,) = (await it.client.list_tools()).tools
        assert tool.annotations is not None
        for title in (tool.title, tool.annotations.title):
            assert title is not None
            assert len(title) <= plugin_tools.TITLE_CHARS
            assert title.startswith("\\x1b[2J\\x0a\\u202e")
        assert len(tool.description or "") < 5_000


async def test_plugins_of_other_contracts_are_no_tools(tmp_path):
    install(tmp_path, "good", "same")
    bind(tmp_path, "hook", ["./not-there"])
    file = tmp_path / "hook" / "plugin.toml"
    file.write_text(file.read_text().replace("execute", "hook"))
    async with agent(tmp_path, plugins=True, with_repl=False) as it:
        assert await it.tools() == ["good__same"]
        assert it.reports == []


@pytest.mark.parametrize("mode", MODES)
async def test_cancelling_a_call_ends_the_plugin(tmp_path, mode):
    install(tmp_path, "plugin", "hang", "same")
    begun = tmp_path / "begun"
    async with agent(tmp_path, mode=mode, plugins=True, with_repl=False) as it:
        running = asyncio.ensure_future(it.call("plugin__hang", {"begun": str(begun)}))
        await appears(begun)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not (await it.call("plugin__same", {})).is_error
    # leak_check: its process is gone


async def test_without_a_project_there_are_no_plugins(tmp_path):
    async with agent(tmp_path, plugins=True) as it:
        assert await it.tools() == ["repl"]
