"""`plughost check`: the conformance report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import options
from ..terminal import EXIT_OK, EXIT_REMOTE_ERROR, Terminal

if TYPE_CHECKING:
    from ....conformance.duplex_subject import Subject
    from ....conformance.report import Report
    from ....manifest.binding import Binding
    from ....process.launcher import Launcher

MARKS = {"passed": "pass", "failed": "FAIL", "skipped": "skip"}
# Which options are of some contracts only, by the names of their parameters.
OWN_OPTIONS = {
    "execute": {"tool": "--tool", "input_text": "--input", "no_call": "--no-call"},
    "envelope": {"against": "--against", "variables": "--var", "answers": "--answer"},
    "hook": {"schema": "--schema", "no_large": "--no-large"},
    "duplex": {"no_call": "--no-call", "no_large": "--no-large"},
    "sideband": {},
}


@click.command("check", short_help="Check a plugin against its contract, clause by clause.")
@options.plugin
@options.contract
@options.allow
@options.phases
@click.option("--tool", help="execute: the tool to call; the first one otherwise.")
@click.option("--input", "input_text", metavar="JSON", help="execute: what to call it with; {} otherwise.")
@click.option(
    "--no-call",
    is_flag=True,
    help="execute: call no tool, check only the handshake and the end. duplex: invoke no actions.",
)
@click.option(
    "--against",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="envelope: work on copies of this directory; on made-up samples otherwise.",
)
@click.option(
    "--var", "variables", multiple=True, metavar="KEY=VALUE", help="envelope: tell it this variable."
)
@click.option(
    "--answer", "answers", multiple=True, metavar="KEY=VALUE", help="envelope: answer this field if it asks."
)
@click.option(
    "--schema",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="hook: ask it about this pipeline file; about a small one otherwise.",
)
@click.option("--no-large", is_flag=True, help="hook, duplex: send nothing of the greatest length.")
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
    against: Path | None,
    variables: tuple[str, ...],
    answers: tuple[str, ...],
    schema: Path | None,
    no_large: bool,
    junit: Path | None,
    as_json: bool,
) -> None:
    """Run PLUGIN through every clause of its contract that a plugin can break, and report each.

    It starts the plugin ten to forty times. An execute plugin is really called: choose a harmless tool with
    --tool. An envelope plugin works on files in temporary directories; where the kernel can, it is kept from
    writing anywhere else. What a hook plugin generates is looked at, and written nowhere. A duplex plugin is asked
    for its screen, for the help of its commands, and for its actions, with nothing to work on. A sideband worker is
    given code: of Python and R it is known, of another language it is in the table [check] of its binding, and what
    is not there is skipped. Exit status: 0 if no clause is broken, 1 otherwise.
    """
    from ....contracts.outcome import launch_failure
    from ....errors import Unsupported
    from ....process.local import LocalLauncher

    own = _duplex_directory(plugin) if contract is None else None
    binding = options.bind(ctx, plugin, contract) if own is None or own.process is not None else None
    _refuse_foreign_options(ctx, "duplex" if binding is None else binding.contract)
    terminal = Terminal(as_json=as_json)
    launcher = LocalLauncher()
    try:
        if binding is None or binding.contract == "duplex":
            report = _examine_duplex(own, binding, launcher, large=not no_large, call=not no_call)
        elif binding.contract == "envelope":
            report = _examine_envelope(binding, launcher, against, variables, answers)
        elif binding.contract == "hook":
            report = _examine_hook(binding, launcher, schema, large=not no_large)
        elif binding.contract == "sideband":
            report = _examine_sideband(binding, launcher)
        else:
            report = _examine_execute(binding, launcher, tool, input_text, call=not no_call)
    except (OSError, Unsupported) as error:
        if binding is None:
            raise
        reason = launcher.diagnose(binding, error)
        raise launch_failure(binding, f"it could not be started: {reason}") from error
    finally:
        launcher.close()
    if junit is not None:
        junit.write_text(report.to_junit(), encoding="utf-8")
    _show(terminal, report)
    terminal.exit(EXIT_OK if report.passed else EXIT_REMOTE_ERROR)


def _refuse_foreign_options(ctx: click.Context, contract: str) -> None:
    """Raise a usage error for an option that has no meaning in *contract*."""
    for owned in OWN_OPTIONS.values():
        for name, option in owned.items():
            owners = [other for other, options in OWN_OPTIONS.items() if name in options]
            if ctx.params[name] and contract not in owners:
                raise click.UsageError(
                    f"{option} is for plugins of the contract {' or '.join(owners)}; this one is {contract}."
                )


def _duplex_directory(plugin: str | None) -> Subject | None:
    """Return the `duplex` plugin in the directory *plugin*, whose manifest may have flaws; None if it is none."""
    from ....conformance import duplex_subject

    if plugin is None or not duplex_subject.is_directory(Path(plugin)):
        return None
    return duplex_subject.of_directory(Path(plugin))


def _examine_duplex(
    own: Subject | None, binding: Binding | None, launcher: Launcher, *, large: bool, call: bool
) -> Report:
    from ....conformance import duplex, duplex_subject
    from ....manifest import duplex_registry
    from ....manifest.binding import COMMAND_LINE

    if own is None:
        assert binding is not None
        if binding.source == COMMAND_LINE:
            own = duplex_subject.of_command(binding.command, binding.directory)
        else:
            own = duplex_subject.of_binding(duplex_registry.load(binding.directory))
    return duplex.check(own, launcher, large=large, call=call)


def _examine_execute(
    binding: Binding, launcher: Launcher, tool: str | None, input_text: str | None, *, call: bool
) -> Report:
    from ....conformance.execute import Examination, examine

    input = options.parse_json(input_text) if input_text is not None else None
    return examine(Examination(binding, launcher, tool, input, call=call))


def _examine_hook(binding: Binding, launcher: Launcher, schema: Path | None, *, large: bool) -> Report:
    from .... import pipeline
    from ....conformance import hook

    read = pipeline.read(schema) if schema is not None else None
    return hook.check(binding, launcher, schema=read, large=large)


def _examine_sideband(binding: Binding, launcher: Launcher) -> Report:
    from ....conformance import sideband

    return sideband.check(binding, launcher)


def _examine_envelope(
    binding: Binding,
    launcher: Launcher,
    against: Path | None,
    variables: tuple[str, ...],
    answers: tuple[str, ...],
) -> Report:
    from ....conformance.envelope import examine
    from ....conformance.envelope_examination import Examination
    from ....conformance.envelope_ground import Layout
    from ....conformance.envelope_subject import subject
    from ....errors import TreeError

    found = subject(binding, read_pairs("--var", variables))
    told = read_pairs("--answer", answers)
    try:
        return examine(Examination(found, launcher, Layout(found.manifest, against), told))
    except TreeError as error:
        raise click.UsageError(f"{error.path}: {error.problem}. {error.remedy}.") from error


def read_pairs(option: str, pairs: tuple[str, ...]) -> dict[str, str]:
    """Return KEY=VALUE words as a mapping. Raises a usage error that names *option*."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{option} wants KEY=VALUE, not {pair!r}.")
        try:
            pair.encode()
        except UnicodeEncodeError as error:
            raise click.UsageError(f"{option} wants text in UTF-8, not {pair!r}.") from error
        found[key] = value
    return found


def _show(terminal: Terminal, report: Report) -> None:
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
