"""`plughost demo`: one bundled plugin of each contract, run for real."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..terminal import Terminal

if TYPE_CHECKING:
    from ....host.events import Event

BUNDLED = Path(__file__).parents[3] / "bundled"
WIDTH = 92  # characters of a frame that are shown


@click.command("demo", short_help="Run one bundled plugin of each contract and show what came back.")
@options.as_json
def command(as_json: bool) -> None:
    """Launch the bundled plugins, talk to them, end them, and show what passed and how long it took."""
    terminal = Terminal(as_json=as_json)
    shown = {"execute": _execute(terminal)}
    terminal.data({"ok": True, "contracts": shown})
    terminal.text("\nNext: `plughost new execute my-plugin` makes a plugin of your own.")


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
