"""`plughost check`: the conformance report."""

from __future__ import annotations

from pathlib import Path

import click

from .. import options
from ..terminal import EXIT_OK, EXIT_REMOTE_ERROR, Terminal

MARKS = {"passed": "pass", "failed": "FAIL", "skipped": "skip"}


@click.command("check", short_help="Check a plugin against its contract, clause by clause.")
@options.plugin
@options.contract
@click.option("--tool", help="The tool to call; the first one otherwise.")
@click.option("--input", "input_text", metavar="JSON", help="What to call it with; {} otherwise.")
@click.option("--no-call", is_flag=True, help="Call no tool: check only the handshake and the end.")
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write JUnit XML."
)
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    plugin: str | None,
    contract: str | None,
    tool: str | None,
    input_text: str | None,
    no_call: bool,
    junit: Path | None,
    as_json: bool,
) -> None:
    """Run PLUGIN through every clause of its contract that a plugin can break, and report each.

    It starts the plugin about ten times and really calls a tool: choose a harmless one with --tool.
    Exit status: 0 if no clause is broken, 1 otherwise.
    """
    from ....conformance.execute import Examination, examine
    from ....contracts.outcome import launch_failure
    from ....errors import Unsupported
    from ....process.local import LocalLauncher

    binding = options.bind(ctx, plugin, contract)
    if binding.contract != "execute":
        raise click.UsageError(f"`check` knows the contract execute so far, not {binding.contract}.")
    terminal = Terminal(as_json=as_json)
    launcher = LocalLauncher()
    try:
        found = Examination(
            binding,
            launcher,
            tool,
            options.parse_json(input_text) if input_text is not None else None,
            call=not no_call,
        )
        report = examine(found)
    except (OSError, Unsupported) as error:
        reason = launcher.diagnose(binding, error)
        raise launch_failure(binding, f"it could not be started: {reason}") from error
    finally:
        launcher.close()
    if junit is not None:
        junit.write_text(report.to_junit(), encoding="utf-8")
    terminal.data({"ok": report.passed, **report.to_dict()})
    terminal.heading(f"{report.plugin}: contract {report.contract}")
    for axis in report.axes:
        detail = f"\n        {axis.detail}" if axis.detail else ""
        terminal.text(f"  {MARKS[axis.status.value]}  {axis.id}{detail}")
        if axis.status.value == "failed":
            terminal.text(f"        the contract says: {axis.name}")
    counts = {
        mark: sum(axis.status.value == status for axis in report.axes) for status, mark in MARKS.items()
    }
    terminal.text(f"{counts['pass']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    terminal.exit(EXIT_OK if report.passed else EXIT_REMOTE_ERROR)
