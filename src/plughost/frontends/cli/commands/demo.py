"""`plughost demo`: one bundled plugin of each contract, run for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..terminal import Terminal

if TYPE_CHECKING:
    from ....host.envelope.options import Question
    from ....host.events import Event

BUNDLED = Path(__file__).parents[3] / "bundled"
WIDTH = 92  # characters of a frame that are shown
WORKFLOW = ".github/workflows/ci.yml"
WORKFLOW_LINES = 36  # of it that are shown
SCREEN_WIDTH, SCREEN_HEIGHT = 80, 20  # columns and rows of the screen that is shown


@click.command("demo", short_help="Run one bundled plugin of each contract and show what came back.")
@options.as_json
def command(as_json: bool) -> None:
    """Launch the bundled plugins, talk to them, end them, and show what passed and how long it took."""
    terminal = Terminal(as_json=as_json)
    shown = {
        "execute": _execute(terminal),
        "envelope": _envelope(terminal),
        "hook": _hook(terminal),
        "duplex": _duplex(terminal),
        "sideband": _sideband(terminal),
    }
    terminal.data({"ok": True, "contracts": shown})
    terminal.text(
        "\nNext: `plughost console` opens a session of your own. `plughost new execute my-plugin`, or `envelope`,\n"
        "`hook`, `duplex` or `sideband` instead, makes a plugin of your own."
    )


def _execute(terminal: Terminal) -> dict[str, Any]:
    """Call the greeter well, then wrongly, and show both."""
    from ....blocking import Host
    from ....failures import PluginFailure

    terminal.heading("execute: handshake, one call, and the process ends")
    with Host(on_event=lambda event: _show(terminal, event)) as host:
        greeter = host.add(BUNDLED / "execute" / "greeter")
        result = greeter.invoke("greet", {"name": "Ada"})
        terminal.text(f"  => {result.output}")
        stages = ", ".join(f"{name} {ms:.1f}" for name, ms in result.timings_ms.items())
        terminal.text(f"  milliseconds: {stages}")
        terminal.heading("\nexecute: the same plugin, asked for what it cannot do")
        try:
            greeter.invoke("sing", {})
        except PluginFailure as failure:
            terminal.text(f"  => {failure.code}: {failure.message}")
            terminal.text(f"  next step: {failure.hint}")
            return {
                "output": result.output,
                "timings_ms": result.timings_ms,
                "failure": failure.to_dict(),
            }
    raise AssertionError("the greeter sang")


def _show(terminal: Terminal, event: Event) -> None:
    from ....contracts.base import FramePassed
    from ....process.news import Exited, Spawned

    match event.what:
        case Spawned(pid, words):
            terminal.text(f"  launched     {Path(words[0]).name} … {Path(words[-1]).name} (process {pid})")
        case FramePassed(direction, frame):
            text = frame.decode("utf-8", "replace")
            arrow = "host   -> " if direction == "out" else "plugin -> "
            terminal.text(f"  {arrow}   {text[:WIDTH]}{'…' if len(text) > WIDTH else ''}")
        case Exited(_, status, rung):
            how = f", ended by us: {rung}" if rung else ""
            memory = f", {status.peak_memory_kib // 1024} MiB" if status.peak_memory_kib else ""
            terminal.text(f"  ended        {status.meaning}{how}{memory}")
        case _:
            pass


def _envelope(terminal: Terminal) -> dict[str, Any]:
    """Fill in a workbook and stamp text files, answer the question that is asked, and show the record."""
    import runpy
    import tempfile
    from importlib.util import find_spec

    from ....blocking import Host

    terminal.heading("\nenvelope: two plugins transform the files of a directory, each in its own worker")
    if find_spec("openpyxl") is None:
        terminal.text(
            "  skipped: it fills in a workbook, which needs openpyxl. `pip install openpyxl` does it."
        )
        return {"skipped": "openpyxl is not installed"}
    plugins = BUNDLED / "envelope"
    with tempfile.TemporaryDirectory(prefix="plughost-demo-") as place, Host() as host:
        directory = Path(place) / "run-0042"
        runpy.run_path(str(plugins / "make_sample.py"))["make"](directory)
        before = _cells(directory)

        def answer(question: Question) -> dict[str, str]:
            terminal.text(f"  {question.plugin} asks: {question.reason}. The operator answers: Ada")
            return {field.id: "Ada" for field in question.fields}

        result = host.run_pass(
            directory,
            [plugins / "workbook-filler", plugins / "header-stamper"],
            on_input_required=answer,
            project="LAB-7",
            equipment_id="spectrometer-2",
            template_name="spectrum",
        )
        after = _cells(directory)
        record = json.loads((directory / ".exlab-wizard" / "creation.json").read_text(encoding="utf-8"))
        for each in record["plugins_applied"]:
            cost = each.get("isolation") or each["partial_isolation"]
            peak = cost.get("peak_memory_mb")
            terminal.text(
                f"  {each['plugin']}: {each['status']}, {', '.join(each['files_affected'])}; "
                f"{cost['attempts']} worker(s), {cost['duration_ms']} ms" + (f", {peak} MiB" if peak else "")
            )
        changed = {place: after[place] for place in after if before.get(place) != after[place]}
        for cell, value in changed.items():
            terminal.text(f"  run-log.xlsx {cell}: {before.get(cell) or '(empty)'}  =>  {value}")
        first = (directory / "notes.txt").read_text(encoding="utf-8").splitlines()[0]
        terminal.text(f"  notes.txt now begins: {first}")
        kept = (
            "the kernel kept the workers from writing elsewhere"
            if result.confined
            else "workers not confined"
        )
        terminal.text(f"  {kept}; the record is .exlab-wizard/creation.json")
        return {"result": result.to_dict(), "cells": changed}


def _hook(terminal: Terminal) -> dict[str, Any]:
    """Generate workflows for two services from one pipeline file, and show one of them."""
    import tempfile

    from ....blocking import Host

    terminal.heading("\nhook: two providers generate files from one pipeline file, at the same time")
    providers = BUNDLED / "hook"
    with tempfile.TemporaryDirectory(prefix="plughost-demo-") as place, Host() as host:
        generation = host.generate(
            [providers / "github-actions", providers / "woodpecker"], providers / "cigen.yml", place
        )
        for report in generation.providers:
            stages = ", ".join(f"{name} {ms:.1f}" for name, ms in report.timings_ms.items())
            terminal.text(f"  {report.name} {report.version}, milliseconds: {stages}")
        for change in generation.changes:
            terminal.text(f"  {change.kind} {change.path}")
        levels = [finding.level for finding in generation.diagnostics]
        counted = ", ".join(f"{levels.count(level)} {level}" for level in sorted(set(levels)))
        terminal.text(f"  they remark: {counted}" if counted else "  they have nothing to remark")
        workflow = (Path(place) / WORKFLOW).read_text(encoding="utf-8")
        terminal.text(f"  {WORKFLOW} begins:")
        for line in workflow.splitlines()[:WORKFLOW_LINES]:
            terminal.text(f"    {line}")
        again = host.generate(
            [providers / "github-actions", providers / "woodpecker"],
            providers / "cigen.yml",
            place,
            write=False,
        )
        terminal.text(
            f"    …\n  asked again, the files are up to date: {'yes' if again.up_to_date else 'no'}"
        )
        return {"result": generation.to_dict(), "workflow": workflow, "up_to_date": again.up_to_date}


def _duplex(terminal: Terminal) -> dict[str, Any]:
    """Let one plugin read made-up logs and another show what it publishes: as a command, and as a screen."""
    import shlex
    from itertools import pairwise
    from time import perf_counter

    from ....blocking import Host
    from ....host.duplex import painting
    from ....host.events import Published

    terminal.heading("\nduplex: two plugins stay; one reads logs and publishes, the other shows it")
    plugins = BUNDLED / "duplex"
    moments = [perf_counter()]

    def show(event: Event) -> None:
        if isinstance(event.what, Published):
            what = event.what
            terminal.text(
                f"  {event.plugin} publishes {what.topic}: {what.size} bytes, version {what.version}"
            )

    with Host(on_event=show) as host:
        fleet = host.fleet(
            plugins / "session-reader",
            plugins / "burndown",
            roots={f"read_{kind}_logs": [plugins / "sample-logs" / kind] for kind in ("claude", "codex")},
        )
        for plugin in fleet:
            plugin.start()
        moments.append(perf_counter())
        command = fleet.cli("usage", ["--by", "project"])
        moments.append(perf_counter())
        rendered = fleet["burndown"].render(SCREEN_WIDTH, SCREEN_HEIGHT)
        moments.append(perf_counter())
        fleet.close()
    moments.append(perf_counter())
    stdout = bytes(command.stdout).decode("utf-8", "replace")
    screen = painting.text(rendered.buffer)
    terminal.text("  the command `usage --by project` of burndown wrote:")
    for line in stdout.splitlines():
        terminal.text(f"    {line}")
    terminal.text(f"  its screen of {SCREEN_WIDTH}x{SCREEN_HEIGHT}:")
    for line in screen.splitlines():
        terminal.text(f"  | {line}")
    stages = ("start both", "command", "screen", "end both")
    timings = {
        stage: round((after - before) * 1000, 3)
        for stage, (before, after) in zip(stages, pairwise(moments), strict=True)
    }
    terminal.text("  milliseconds: " + ", ".join(f"{stage} {ms:.1f}" for stage, ms in timings.items()))
    logs = " ".join(
        f"--logs read_{kind}_logs={shlex.quote(str(plugins / 'sample-logs' / kind))}"
        for kind in ("claude", "codex")
    )
    terminal.text("  at a terminal it takes keys:")
    terminal.text(f"  plughost screen burndown --root {shlex.quote(str(plugins))} {logs}")
    return {"stdout": stdout, "exit_code": command.exit_code, "screen": screen, "timings_ms": timings}


def _sideband(terminal: Terminal) -> dict[str, Any]:
    """Work in a session: cells, a picture that is kept, a question, an endless loop, a crash."""
    from ..console_demo import ConsoleDemo

    terminal.heading(
        "\nsideband: a Python session in a process of its own; what it shows comes back in order"
    )
    return ConsoleDemo(terminal, BUNDLED / "sideband" / "figure.py").run()


def _cells(directory: Path) -> dict[str, str]:
    """Return the cells of the demo's workbook that hold anything."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    sheet = load_workbook(directory / "run-log.xlsx").active
    return {
        cell.coordinate: str(cell.value)
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None
    }
