"""`plughost mcp`: sessions of code and plugins as an agent's tools, over standard input and output or HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ....manifest import project as projects
from ....manifest import sideband_binding
from ...mcp import client_config
from .. import options
from ..terminal import EXIT_OK, Terminal

if TYPE_CHECKING:
    from ....manifest.binding import Binding
    from ....manifest.project import Project

TOKEN_BYTES = 32  # of a token that is made up: nobody guesses it
SHORTEST_TOKEN = 16  # characters of one that the user gives
ALL = "all"
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  where to listen -> where a client here connects
EXTRA = ("mcp", "mcp_types", "anyio", "starlette", "uvicorn", "pydantic")  # what the extra brings


@click.command("mcp", short_help="Serve code sessions and `execute` plugins to an agent.")
@click.option(
    "--worker",
    metavar="W",
    help="What runs the code: an interpreter, a virtual environment, or a name in plughost.toml. "
    "The project's own Python otherwise.",
)
@click.option(
    "--cwd", type=options.named_path, default=".", metavar="DIR", help="Where the code runs; here otherwise."
)
@click.option(
    "--project",
    "project_directory",
    type=options.named_path,
    metavar="DIR",
    help="Whose plughost.toml names the plugins; that of --cwd otherwise.",
)
@click.option("--no-repl", is_flag=True, help="Serve only plugins.")
@click.option("--no-plugins", is_flag=True, help="Serve only code sessions.")
@click.option(
    "--http",
    "at",
    metavar="[HOST:]PORT",
    help="Serve HTTP there, on this machine only unless HOST says more.",
)
@click.option("--no-token", is_flag=True, help="Let every user of this machine connect, with --http.")
@click.option(
    "--output-dir",
    type=options.named_path,
    metavar="DIR",
    help="Keep whole outputs and large pictures here; otherwise they are removed at the end.",
)
@click.option(
    "--print-config",
    "client",
    is_flag=False,
    flag_value=ALL,
    metavar="[CLIENT]",
    help=f"Print what a client is to be told, and end: {', '.join(client_config.CLIENTS)}, or all.",
)
def command(
    worker: str | None,
    cwd: Path,
    project_directory: Path | None,
    no_repl: bool,
    no_plugins: bool,
    at: str | None,
    no_token: bool,
    output_dir: Path | None,
    client: str | None,
) -> None:
    """Serve the Model Context Protocol: the tool `repl`, and each tool of each `execute` plugin in plughost.toml.

    A client starts this command, and ends it by closing its standard input. `plughost mcp --print-config` prints
    what to put where. With --http it runs by itself until Ctrl-C; clients then need the token that it prints, or that
    the variable PLUGHOST_MCP_TOKEN holds.

    Exit status: 0 when it was ended, 2 for wrong words, 3 for a wrong worker, plughost.toml or
    address.
    """
    if no_repl and no_plugins:
        raise click.UsageError("--no-repl and --no-plugins together leave nothing to serve.")
    if no_token and at is None:
        raise click.UsageError("--no-token goes with --http.")
    if not os.path.isdir(cwd):
        raise click.BadParameter(f"{cwd} is no directory.", param_hint="--cwd")
    where = projects.load(project_directory or cwd)
    bound = None if no_repl else _worker(worker, cwd, where)
    if client is not None:
        _print_config(client, at, no_token=no_token)
        return
    address = None if at is None else _host_and_port(at)
    token = None if address is None or no_token else _token()
    _fill(over_stdio=address is None)
    _serve(bound, None if no_plugins else where, output_dir, address, token)


def _fill(*, over_stdio: bool) -> None:
    """Put something in the place of standard streams that are closed: what is opened next would take their numbers."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            if fd == 1 and over_stdio:
                raise click.ClickException(
                    "Standard output is closed: no client could be answered."
                ) from None


def _serve(
    worker: Binding | None,
    project: Project | None,
    output_directory: Path | None,
    at: tuple[str, int] | None,
    token: str | None,
) -> None:
    try:
        from ...mcp import serving, standard_error
        from ...mcp.http import Address
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise click.ClickException(
            "An MCP server needs the official SDK. Install it: pip install 'plughost[mcp]'"
        ) from error
    offer = serving.Offer(worker, project, None if output_directory is None else output_directory.absolute())
    terminal = Terminal()  # before standard output is something else
    with standard_error.taken() as lines:
        if at is None:
            if os.isatty(0):
                lines.report(
                    "waiting for a client on standard input. --print-config says how one is told; Ctrl-C ends."
                )
            asyncio.run(serving.serve_stdio(offer, lines.report))
        else:
            is_own = client_config.TOKEN_VARIABLE in os.environ  # a log is no place for it, and they know it
            shown = f"${client_config.TOKEN_VARIABLE}" if is_own else token or ""
            asyncio.run(serving.serve_http(offer, Address(*at), token, lines.report, shown=shown))
    terminal.exit(EXIT_OK)


def _worker(word: str | None, cwd: Path, project: Project) -> Binding:
    """Return what *word* means: a name in plughost.toml, or what `host.console` takes. Raises ManifestError."""
    entry = project.find(word) if word is not None else None
    if entry is not None and entry.error is not None:
        raise entry.error
    if entry is not None and entry.binding is not None and entry.binding.contract == "sideband":
        return entry.binding
    return sideband_binding.bind(word, cwd=cwd)


def _host_and_port(word: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?:(?P<host>[^:\[\]]+|\[[0-9A-Fa-f:.]+\]):)?(?P<port>[0-9]{1,5})", word, re.ASCII)
    if found is None or int(found["port"]) > 65_535:
        raise click.UsageError(
            f"--http wants PORT or HOST:PORT, such as 8765 or 127.0.0.1:8765, not {word!r}."
        )
    return (found["host"] or "127.0.0.1").strip("[]"), int(found["port"])


def _token() -> str:
    """Return the user's token, or one that is made up for this run."""
    given = os.environ.get(client_config.TOKEN_VARIABLE)
    if given is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    if len(given) < SHORTEST_TOKEN or not given.isascii() or not given.isprintable() or " " in given:
        raise click.UsageError(
            f"{client_config.TOKEN_VARIABLE} is too short, or no word: give {SHORTEST_TOKEN} characters or more."
        )
    return given


def _print_config(client: str, at: str | None, *, no_token: bool) -> None:
    known = client_config.CLIENTS
    if client not in (*known, ALL):
        raise click.UsageError(f"--print-config knows {', '.join(known)} and {ALL}, not {client!r}.")
    url = None
    if at is not None:
        host, port = _host_and_port(at)
        if port == 0:
            raise click.UsageError("--print-config needs the port that --http will have, not 0.")
        if host in EVERYWHERE:
            Terminal().note(
                f"{host} is every address of this machine: a client elsewhere needs the machine's name or address "
                f"instead of {EVERYWHERE[host]}."
            )
            host = EVERYWHERE[host]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"
    words = (*client_config.own_command(), "mcp", *_own_words(click.get_current_context()))
    connection = client_config.Connection(words, url, guarded=not no_token)
    terminal = Terminal()
    for name in known if client == ALL else [client]:
        if client == ALL:
            terminal.heading(f"{known[name].title}: {known[name].file}  (--print-config {name})")
        terminal.text(known[name].spell(connection))
        if client == ALL:
            terminal.text()


def _own_words(ctx: click.Context) -> list[str]:
    """Return the options as they were given, with paths that mean the same from anywhere: clients start us anywhere."""
    values = ctx.params
    words = ["--cwd", os.path.abspath(values["cwd"])]
    if (worker := values["worker"]) is not None:
        is_path = os.path.exists(values["cwd"] / Path(worker).expanduser())
        words += [
            "--worker",
            os.path.abspath(values["cwd"] / Path(worker).expanduser()) if is_path else worker,
        ]
    for option, value in (("--project", values["project_directory"]), ("--output-dir", values["output_dir"])):
        words += [] if value is None else [option, os.path.abspath(value)]
    words += ["--no-repl"] if values["no_repl"] else []
    words += ["--no-plugins"] if values["no_plugins"] else []
    for word in words:
        options.check_text(word, "--print-config")
    return words
