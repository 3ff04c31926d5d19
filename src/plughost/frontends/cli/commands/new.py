"""`plughost new`: a plugin that passes `check` at once."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import click

from .. import options
from ..terminal import Terminal

CONTRACTS = ("execute",)
RESERVED = ("plughost", "plughost-sdk", "test", "pytest")
NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


@click.command("new", short_help="Write a plugin that passes `check` at once.")
@click.argument("contract", type=click.Choice(CONTRACTS))
@click.argument("name")
@click.option(
    "--into", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Where to put it."
)
@options.as_json
def command(contract: str, name: str, into: Path, as_json: bool) -> None:
    """Write a new plugin of a contract into a directory called NAME: its code, its binding and a test.

    Nothing that exists is overwritten.
    """
    if not NAME.fullmatch(name):
        raise click.UsageError(
            "NAME wants lower-case letters, digits and hyphens, a letter first, 63 at most."
        )
    directory = into / name
    if name in RESERVED:
        raise click.UsageError(f"A plugin called {name} could not import what it needs. Choose another name.")
    if directory.exists() or directory.is_symlink():
        raise click.UsageError(f"{directory} exists already. Choose another name, or remove it.")
    terminal = Terminal(as_json=as_json)
    directory.mkdir(parents=True)
    written = []
    for template in sorted(
        files("plughost.frontends.cli").joinpath("templates", contract).iterdir(), key=str
    ):
        module = name.replace("-", "_")
        target = directory / template.name.removesuffix(".txt").replace("NAME", module)
        text = template.read_text(encoding="utf-8").replace("@NAME@", name).replace("@MODULE@", module)
        target.write_text(text, encoding="utf-8")
        written.append(str(target))
    terminal.data({"ok": True, "directory": str(directory), "files": written})
    terminal.text(f"Wrote {', '.join(written)}.\n")
    terminal.text(f'Call it:   plughost call {directory} hello \'{{"name": "Ada"}}\'')
    terminal.text(f"Check it:  plughost check {directory}")
    terminal.text(f"Test it:   python -m pytest {directory}")
