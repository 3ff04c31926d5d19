"""`plughost preflight`: whether a job should run, in the opinion of a hook plugin."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import options
from ..terminal import EXIT_OK, Terminal, one_line

if TYPE_CHECKING:
    from plughost_sdk import hook_messages as wire

    from ....host.events import Event

EXIT_SKIP = 4  # the job need not run


@click.command("preflight", short_help="Ask a hook plugin whether a job should run.")
@options.plugin
@click.option("--job", required=True, metavar="ID", help="The job in question.")
@click.option(
    "--changed",
    multiple=True,
    metavar="PATH",
    help="A file that has changed, relative to --root; repeatable. One that is not there was deleted.",
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Where the changed files are; the current directory otherwise.",
)
@click.option("--commit", default="", metavar="SHA", help="The commit that is checked out.")
@click.option("--env", "variables", multiple=True, metavar="K=V", help="A variable that matters to the job.")
@click.option("--previous", default="", metavar="HEX", help="The signature of the job's last run.")
@options.contract
@options.allow
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    plugin: str | None,
    job: str,
    changed: tuple[str, ...],
    root: Path,
    commit: str,
    variables: tuple[str, ...],
    previous: str,
    contract: str | None,
    as_json: bool,
) -> None:
    """Ask PLUGIN whether job ID should run, given what has changed since the run whose signature is HEX.

    Exit status: 0 if it should, 4 if it need not, 10 to 18 if the plugin failed (`plughost explain`), 2 and 3 for
    wrong words or a wrong binding. The signature to keep for the next time is printed.
    """
    from plughost_sdk import hook_messages as wire

    from ....blocking import Host

    for option, words in {
        "--job": (job,),
        "--commit": (commit,),
        "--changed": changed,
        "--env": variables,
    }.items():
        for word in words:
            options.check_text(word, option)
    try:
        signature = bytes.fromhex(previous)
    except ValueError as error:
        raise click.UsageError(f"--previous wants hexadecimal digits, not {previous!r}.") from error
    state = wire.RepoState(
        commit_sha=commit,
        changes=[_change(root, path) for path in sorted(set(changed))],
        env={name: str(value) for name, value in options.parse_pairs(variables, "--env").items()},
    )
    terminal = Terminal(as_json=as_json)
    request = wire.PreflightRequest(job_id=job, repo_state=state, previous_signature=signature)
    binding = options.bind(ctx, plugin, contract)
    with Host(on_event=_show(terminal)) as host, host.connect(binding, phases=["preflight"]) as provider:
        decision = provider.preflight(request)
    terminal.data(
        {
            "ok": True,
            "should_run": decision.should_run,
            "reason": decision.reason,
            "signature": decision.new_signature.hex(),
        }
    )
    verdict = "run" if decision.should_run else "skip"
    terminal.text(one_line(f"{job}: {verdict}" + (f" ({decision.reason})" if decision.reason else "")))
    if decision.new_signature:
        terminal.text(f"signature: {decision.new_signature.hex()}")
    terminal.exit(EXIT_OK if decision.should_run else EXIT_SKIP)


def _show(terminal: Terminal) -> Callable[[Event], None]:
    """Return what shows the plugin's stderr to a person."""

    def show(event: Event) -> None:
        if event.name == "log" and not terminal.as_json:
            terminal.note(one_line(f"[{event.plugin or 'plugin'}] {event.what.text}"))  # type: ignore[union-attr]

    return show


def _change(root: Path, path: str) -> wire.FileChange:
    from plughost_sdk import hook_messages as wire

    if os.path.isabs(path) or ".." in Path(path).parts:
        raise click.UsageError(f"--changed {path}: give a path below --root.")
    if os.path.exists(root / path) and not os.path.isfile(root / path):  # reading a pipe may never end
        raise click.UsageError(f"--changed {path}: not a regular file.")
    try:
        with (root / path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except FileNotFoundError:
        return wire.FileChange(path=path, type=wire.FileChange.CHANGE_TYPE_DELETED)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--changed {path}: cannot be read: {error}") from error
    return wire.FileChange(path=path, type=wire.FileChange.CHANGE_TYPE_MODIFIED, checksum=digest)
