"""`plughost doctor`: why a plugin does not work."""

from __future__ import annotations

import click

from .. import options
from ..terminal import EXIT_OK, EXIT_REMOTE_ERROR, Terminal


@click.command("doctor", short_help="Find out why a plugin does not work.")
@options.plugin
@options.contract
@options.allow
@options.phases
@options.as_json
@click.pass_context
def command(ctx: click.Context, plugin: str | None, contract: str | None, as_json: bool) -> None:
    """Look at PLUGIN's binding, its files and its behaviour, and say what is wrong with it.

    Without PLUGIN, look at this system. Exit status: 0 if nothing is wrong, 1 otherwise.
    """
    from ....conformance import doctor

    terminal = Terminal(as_json=as_json)
    if plugin is None and contract is None:
        findings = list(doctor.system())
    else:
        findings = list(doctor.examine(options.bind(ctx, plugin, contract)))
    for found in findings:
        terminal.text(f"  {'ok     ' if found.ok else 'PROBLEM'}  {found.what}")
        if found.advice:
            terminal.text(f"           {found.advice}")
    healthy = all(found.ok for found in findings)
    terminal.data(
        {
            "ok": healthy,
            "findings": [{"ok": each.ok, "what": each.what, "advice": each.advice} for each in findings],
        }
    )
    if healthy and plugin is not None:
        terminal.text(f"Nothing wrong here. `plughost check {plugin}` goes through the whole contract.")
    terminal.exit(EXIT_OK if healthy else EXIT_REMOTE_ERROR)
