"""`plughost new`: a plugin that passes `check` at once."""

from __future__ import annotations

import re
import stat
import sys
from importlib.resources import files
from pathlib import Path

import click

from .. import options
from ..terminal import Terminal

# What a newcomer does next, by contract.
NEXT_STEPS = {
    "execute": (
        'Call it:   plughost call @DIR@ hello \'{"name": "Ada"}\'',
        "Check it:  plughost check @DIR@",
    ),
    "envelope": ("Check it:  plughost check @DIR@", "Lint it:   plughost lint @DIR@"),
    "hook": (
        "Run it:    plughost generate @DIR@ --schema @DIR@/sample.yml --dry-run",
        "Check it:  plughost check @DIR@",
    ),
    "duplex": ("See it:    plughost screen @DIR@", "Check it:  plughost check @DIR@"),
    "sideband": ("Use it:    plughost console --worker @DIR@", "Check it:  plughost check @DIR@"),
}
RESERVED = ("plughost", "plughost-sdk", "google", "test", "pytest", "sideband-wire")
EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


@click.command("new", short_help="Write a plugin that passes `check` at once.")
@click.argument("contract", type=click.Choice(tuple(NEXT_STEPS)))
@click.argument("name")
@click.option("--into", type=options.NamedPath(file_okay=False), default=Path(), help="Where to put it.")
@options.as_json
def command(contract: str, name: str, into: Path, as_json: bool) -> None:
    """Write a new plugin of a contract into a directory called NAME: its code, what describes it, and a test.

    Nothing that exists is overwritten.
    """
    if not NAME.fullmatch(name):
        raise click.UsageError(
            "NAME wants lower-case letters, digits and hyphens, a letter first, 63 at most."
        )
    directory, module = into / name, name.replace("-", "_")
    if name in RESERVED or module in sys.stdlib_module_names:
        raise click.UsageError(f"A plugin called {name} could not import what it needs. Choose another name.")
    if contract == "duplex":
        _check_duplex(name)
    if directory.exists() or directory.is_symlink():
        raise click.UsageError(f"{directory} exists already. Choose another name, or remove it.")
    terminal = Terminal(as_json=as_json)
    directory.mkdir(parents=True)
    written = []
    for template in sorted(
        files("plughost.frontends.cli").joinpath("templates", contract).iterdir(), key=str
    ):
        plain = template.name.removesuffix(".txt")
        target = directory / plain.replace("NAME", module).replace("PROGRAM", name)
        text = template.read_text(encoding="utf-8").replace("@NAME@", name).replace("@MODULE@", module)
        target.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            target.chmod(target.stat().st_mode | EXECUTABLE)
        written.append(str(target))
    terminal.data({"ok": True, "directory": str(directory), "files": written})
    terminal.text(f"Wrote {', '.join(written)}.\n")
    for step in (*NEXT_STEPS[contract], "Test it:   python -m pytest @DIR@"):
        terminal.text(step.replace("@DIR@", str(directory)))


def _check_duplex(name: str) -> None:
    """Refuse what could not be a `duplex` plugin's name: there it is a directory's and a program's too."""
    from ....manifest import duplex_rules

    wrong = duplex_rules.name(name)
    if wrong is not None:
        problem, remedy = wrong
        raise click.UsageError(f"NAME: {problem}. {remedy}.")
