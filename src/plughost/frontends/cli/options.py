"""Options that several commands share, and how their words become a binding."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ...errors import ManifestError
from ...manifest import binding as bindings
from ...manifest import project
from ...manifest.binding import Binding
from ...messages.quoting import is_utf8

F = TypeVar("F", bound=Callable[..., Any])

LONGEST_TIMEOUT_S = 86_400.0  # a day, which is the most that any contract's call takes


class Seconds(click.FloatRange):
    """A time that can pass: within the range, and not `nan` or `inf`, which every range lets through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


class NamedPath(click.Path):
    """A path. An empty word is none, and not the directory we are in: a variable of the shell is not set."""

    def __init__(self, *, file_okay: bool = True) -> None:
        super().__init__(path_type=Path, file_okay=file_okay)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not value.strip():
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
contract = click.option(
    "--contract",
    metavar="NAME",
    help="Run the COMMAND after `--` as a plugin of this contract; then PLUGIN is left out.",
)


def _keep(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep the value of an option for `bind`, so that commands need not pass it on."""
    ctx.meta[f"{__name__}.{parameter.name}"] = value


allow = click.option(
    "--allow",
    multiple=True,
    expose_value=False,
    callback=_keep,
    metavar="NAME",
    help="execute, hook: grant the COMMAND after `--` this capability; may be given several times.",
)
phases = click.option(
    "--phases",
    expose_value=False,
    callback=_keep,
    metavar="LIST",
    help="hook: ask the COMMAND after `--` for these phases, such as `generate` or `plan,generate`.",
)


def complete_plugin(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Offer the names of plughost.toml and the directories that hold a binding."""
    from click.shell_completion import CompletionItem

    try:
        names = [entry.name for entry in project.load(Path()).entries]
    except ManifestError:
        names = []
    names += [str(entry.path) for entry in project.scan(Path())]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def named_plugin(word: str) -> str:
    """Return the *word* for a plugin. Raises a usage error for an empty one: it is not the directory we are in."""
    if not word.strip():
        raise click.BadParameter("it is empty", param_hint="PLUGIN")
    return word


plugin = click.argument(
    "plugin",
    required=False,
    metavar="[PLUGIN]",
    type=named_plugin,
    shell_complete=complete_plugin,
)


def bind(ctx: click.Context, plugin: str | None, contract: str | None) -> Binding:
    """Return the binding that the words of a command line mean. Raises ManifestError or a usage error."""
    command: list[str] = ctx.find_root().obj or []
    bare = _bare_options(ctx, contract)
    if contract is None:
        if plugin is None:
            raise click.UsageError("Which PLUGIN? A directory, a plugin.toml, or a name in plughost.toml.")
        return project.resolve(named_plugin(plugin), Path())
    if plugin is not None:
        raise click.UsageError(f"PLUGIN ({plugin}) and --contract exclude each other.")
    if not command:
        raise click.UsageError("--contract needs the plugin's command after `--`.")
    return bindings.of_command(contract, command, allow=bare.get("allow", ()), phases=bare.get("phases", ()))


# Of which contracts a bare command can be given what a binding would say, by the names of the parameters.
BARE_OPTIONS = {"allow": ("execute", "hook"), "phases": ("hook",)}


def _bare_options(ctx: click.Context, contract: str | None) -> dict[str, tuple[str, ...]]:
    """Return what the command line says in place of a binding. Raises a usage error where nobody would read it."""
    kept = {name: ctx.meta.get(f"{__name__}.{name}") for name in BARE_OPTIONS}
    given = {name: value for name, value in kept.items() if value}
    for name in given:
        if contract is None:
            raise click.UsageError(f"--{name} goes with --contract: a PLUGIN has a binding that says it.")
        if contract not in BARE_OPTIONS[name]:
            raise click.UsageError(f"--{name} is not for plugins of the contract {contract}.")
    if "phases" in given:
        given["phases"] = tuple(word.strip() for word in given["phases"].split(","))
    return given


def named_path(word: str) -> Path:
    """Return *word* as a path. Raises a usage error for an empty one: a variable of the shell that is not set."""
    if not word.strip():
        raise click.BadParameter("it is empty")
    return Path(word)


def check_text(word: str, option: str) -> None:
    """Raise a usage error if *word* holds bytes that are not UTF-8: no message could carry it."""
    if not is_utf8(word):
        raise click.UsageError(f"{option} is not UTF-8: {word!r}.")


def parse_pairs(words: Sequence[str], option: str) -> dict[str, Any]:
    """Return `NAME=TEXT` and `NAME:=JSON` words as a mapping. Raises a usage error."""
    found: dict[str, Any] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name.strip(":"):
            raise click.UsageError(f"{option} wants NAME=VALUE, or NAME:=JSON, not {word!r}.")
        if name.endswith(":"):
            name = name.removesuffix(":")
            found[name] = parse_json(value, f"{option} {name}", f"A text is given as {name}=…")
        else:
            found[name] = value
    return found


def parse_json(word: str, what: str = "The input", remedy: str = 'Quote it: \'{"name": "Ada"}\'') -> Any:
    """Return the JSON value that *word* spells: itself, `-` for standard input, or `@FILE`.

    Raises a usage error, which says of *what* it is about.
    """
    try:
        if word == "-":
            text = sys.stdin.read() if sys.stdin is not None else ""
        else:
            text = Path(word[1:]).read_text(encoding="utf-8") if word.startswith("@") else word
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{what} cannot be read: {error}") from error
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # what Python takes, JSON may not
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{what} is not JSON ({error}). {remedy}.") from error
    return value
