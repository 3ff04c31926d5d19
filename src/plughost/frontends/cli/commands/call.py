"""`plughost call`: one tool, one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..terminal import EXIT_OK, EXIT_REMOTE_ERROR, Terminal

if TYPE_CHECKING:
    from ....host.events import Event

# What a plugin of another contract is used by.
OTHER_COMMANDS = {
    "envelope": "`plughost transform`",
    "hook": "`plughost generate` or `plughost preflight`",
    "duplex": "`plughost cli` or `plughost screen`",
    "sideband": "`plughost console`",
}


@click.command("call", short_help="Call a tool of an `execute` plugin.")
@click.argument("words", nargs=-1, metavar="PLUGIN TOOL [JSON]", shell_complete=options.complete_plugin)
@options.contract
@options.allow
@click.option(
    "--context", "context_pairs", multiple=True, metavar="KEY=VALUE", help="Add this to the context."
)
@click.option(
    "--timeout",
    type=options.Seconds(0, options.LONGEST_TIMEOUT_S, min_open=True),
    help="Seconds for the whole call.",
)
@click.option("--quiet", is_flag=True, help="Do not show the plugin's stderr.")
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    contract: str | None,
    context_pairs: tuple[str, ...],
    timeout: float | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Call TOOL of PLUGIN with JSON as its input, and print its output.

    JSON may be `-` for standard input or `@FILE`. With --contract, give only TOOL and JSON:

    \b
        plughost call --contract execute greet '{"name": "Ada"}' -- ./greeter

    Exit status: 0 for an answer, 1 for an error of the plugin's own, 10 to 18 for a failure
    (`plughost explain`), 2 for wrong words or input, 3 for a wrong binding.
    """
    from ....blocking import Host
    from ....errors import RemoteError

    plugin = words[0] if contract is None and words else None
    rest = words if contract is not None else words[1:]
    if not 1 <= len(rest) <= 2:
        raise click.UsageError("Give PLUGIN, TOOL and at most one JSON input (with --contract no PLUGIN).")
    binding = options.bind(ctx, plugin, contract)
    if binding.contract in OTHER_COMMANDS:
        raise click.UsageError(
            f"`call` is for plugins of the contract execute; this one is {binding.contract}. "
            f"Use {OTHER_COMMANDS[binding.contract]}."
        )
    input = options.parse_json(rest[1]) if len(rest) == 2 else None
    context = _read_context(context_pairs)
    terminal = Terminal(as_json=as_json)

    def show(event: Event) -> None:
        if event.name == "log" and not quiet and not as_json:
            terminal.note(f"[{event.plugin or 'plugin'}] {event.what.text}")  # type: ignore[union-attr]

    with Host(on_event=show) as host:
        try:
            result = host.add(binding).invoke(rest[0], input, context=context, timeout=timeout)
        except RemoteError as error:
            terminal.data({"ok": False, "error": {"code": error.code, "message": error.message}})
            if not as_json:
                terminal.error(f"{error.plugin} answered with an error: {error.message}  [{error.code}]")
            terminal.exit(EXIT_REMOTE_ERROR)
    terminal.value(result.output)
    for warning in result.warnings:
        if not as_json:
            terminal.note(f"warning: {warning}")
    terminal.data(
        {
            "ok": True,
            "output": result.output,
            "metadata": result.metadata,
            "timings_ms": result.timings_ms,
            "warnings": list(result.warnings),
        }
    )
    terminal.exit(EXIT_OK)


def _read_context(pairs: tuple[str, ...]) -> dict[str, Any]:
    context = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--context wants KEY=VALUE, not {pair!r}.")
        context[key] = value
    return context
