"""`plughost cli`: a command that a plugin provides, as if it were a program of its own."""

from __future__ import annotations

import base64
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import fleet_options, options, raw_output
from ..complaints import Complaints
from ..terminal import EXIT_BINDING, EXIT_OK, EXIT_REMOTE_ERROR, EXIT_USAGE, Terminal, one_line

if TYPE_CHECKING:
    from ....host.duplex.options import FleetPlan
    from ....manifest.duplex_registry import Rejection
    from ....manifest.duplex_routes import Routes

LARGEST_STATUS = 255  # that a process can exit with
BY_SIGNAL = 128  # a shell's status of a program that was killed is this and the signal
EXIT_INTERRUPTED = 130


@click.command(
    "cli",
    short_help="Run a command that a plugin provides.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[NAMESPACE [ARGS…]]")
@fleet_options.root
@fleet_options.config
@fleet_options.logs
@fleet_options.log_level
@click.option(
    "--timeout",
    type=options.Seconds(0, options.LONGEST_TIMEOUT_S, min_open=True),
    metavar="SECONDS",
    help="Give up after so long, and end every process at once.",
)
@options.as_json
def command(
    words: tuple[str, ...],
    roots: tuple[Path, ...],
    config: tuple[str, ...],
    logs: tuple[str, ...],
    log_level: str | None,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Run NAMESPACE with ARGS, in the plugin that provides it; alone, show the namespaces that there are.

    Options of plughost's come before NAMESPACE. What comes after it is the plugin's, unchanged, `--help` and `--`
    too. What the plugin writes is written unchanged.

    Exit status: the plugin's. One below 0, as of a program that a signal killed, becomes 128 and its amount; one that
    no process can have becomes 255. Otherwise 1 for an error of the plugin's, 10 to 18 if it failed
    (`plughost explain`), 2 for wrong words, 3 for a wrong manifest.
    """
    from ....blocking import Host
    from ....errors import PlughostError
    from ....host.duplex.options import plan
    from ....manifest.duplex_routes import route
    from ..main import report

    terminal = Terminal(as_json=as_json)
    for word in words:
        options.check_text(word, "An argument")
    said = fleet_options.keywords(config, logs, log_level)
    try:
        where = fleet_options.places(roots)
        said = where.sorted_out(said)
        found = plan(where.paths, said)
        found = replace(found, rejected=(*where.rejected, *found.rejected))
        routes = route(binding.manifest for binding in found.bindings)
        if not words:
            status = _list(terminal, found, routes)
        elif words[0] not in routes.namespaces:
            status = _unknown(terminal, found, routes, words[0])
        else:
            complaints = Complaints(logs_to=terminal if log_level else None)
            with Host(on_event=complaints.hear) as host:
                fleet = host.fleet(*where.paths, **said)
                _check(fleet.rejected, routes.namespaces[words[0]])
                status = _run(terminal, fleet, words, timeout, complaints)
            complaints.tell(terminal)
    except PlughostError as error:  # here, because a --json among ARGS is the plugin's
        status = report(terminal, error)
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    terminal.exit(status)


def _check(rejected: Sequence[Rejection], owner: str) -> None:
    """Raise why the *owner* of a namespace cannot be used: its settings are only known to the fleet."""
    for each in rejected:
        if each.name == owner:
            raise each.error


def _run(
    terminal: Terminal, fleet: Any, words: Sequence[str], timeout: float | None, complaints: Complaints
) -> int:
    """Run *words* and tell what came of it at once: other plugins may take their time to end."""
    from ....errors import PlughostError, RemoteError
    from ....failures import FailureCode, PluginFailure
    from ..main import report

    try:
        return _written(terminal, words[0], fleet.cli(words[0], words[1:], timeout=timeout))
    except RemoteError as error:
        complaints.report(terminal, error)
        return EXIT_REMOTE_ERROR
    except PlughostError as error:
        status = report(terminal, error)
        if timeout is not None and isinstance(error, PluginFailure) and error.code is FailureCode.TIMEOUT:
            fleet.abort()  # the caller's time is up: no grace for processes either
        return status


def _written(terminal: Terminal, namespace: str, result: Any) -> int:
    """Pass on what the command wrote, and return our exit status."""
    stdout, stderr = bytes(result.stdout), bytes(result.stderr)
    if terminal.as_json:
        terminal.data(
            {
                "ok": result.exit_code == 0,
                "namespace": namespace,
                "exit_code": result.exit_code,
                "stdout": stdout.decode(errors="replace"),
                "stderr": stderr.decode(errors="replace"),
                "stdout_base64": base64.b64encode(stdout).decode(),
                "stderr_base64": base64.b64encode(stderr).decode(),
            }
        )
    else:
        raw_output.write(sys.stdout, stdout)
        raw_output.write(sys.stderr, stderr)
    return exit_status(result.exit_code)


def exit_status(code: int) -> int:
    """Return *code* as a process can exit with it; never 0 for another."""
    if -(LARGEST_STATUS - BY_SIGNAL) <= code < 0:
        return BY_SIGNAL - code
    return code if 0 <= code <= LARGEST_STATUS else LARGEST_STATUS


def _list(terminal: Terminal, found: FleetPlan, routes: Routes) -> int:
    """Show which namespaces there are, and why some plugins cannot be asked for any."""
    about = {binding.name: binding.manifest.description for binding in found.bindings}
    rows = [(namespace, name, about[name]) for namespace, name in sorted(routes.namespaces.items())]
    keys = ("namespace", "plugin", "description")
    terminal.data(
        {
            "ok": not found.rejected,
            "namespaces": [dict(zip(keys, row, strict=True)) for row in rows],
            "problems": _problems(found, routes),
        }
    )
    if rows:
        terminal.table(keys, rows)
    else:
        terminal.text("No plugin here provides a namespace. --root says where plugins are.")
    if not terminal.as_json:
        for problem in _problems(found, routes):
            terminal.note(one_line(problem))
    return EXIT_BINDING if found.rejected else EXIT_OK


def _unknown(terminal: Terminal, found: FleetPlan, routes: Routes, word: str) -> int:
    """Say that nobody provides *word*, or several do, and what there is."""
    several = any((each.kind, each.word) == ("namespace", word) for each in routes.conflicts)
    problem = f"{'several plugins provide' if several else 'no plugin provides'} {word!r}."
    known = sorted(routes.namespaces)
    next_step = fleet_options.near(word, known)
    terminal.data({"ok": False, "usage": problem, "namespaces": known, "problems": _problems(found, routes)})
    if not terminal.as_json:
        terminal.error(problem, next_step)
        for line in _problems(found, routes):
            terminal.note(one_line(line))
    return EXIT_USAGE


def _problems(found: FleetPlan, routes: Routes) -> Sequence[str]:
    claimed = [each for each in routes.conflicts if each.kind == "namespace"]
    return [
        *(
            f"{each.word}: claimed by {' and '.join(each.plugins)}, so that neither is asked"
            for each in claimed
        ),
        *(f"{each.path}: {each.reason}" for each in found.rejected),
    ]
