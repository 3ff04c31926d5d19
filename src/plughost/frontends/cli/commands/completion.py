"""`plughost completion`: what a shell needs to complete our commands."""

from __future__ import annotations

import click

from .. import options
from ..terminal import Terminal


@click.command("completion", short_help="Print what a shell needs to complete our commands.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@options.as_json
@click.pass_context
def command(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print a completion script for a shell. For bash, put this into ~/.bashrc:

    \b
        eval "$(plughost completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    source = kind(ctx.find_root().command, {}, "plughost", "_PLUGHOST_COMPLETE").source()
    terminal = Terminal(as_json=as_json)
    terminal.text(source)
    terminal.data({"ok": True, "shell": shell, "script": source})
