"""`plughost transform`: envelope plugins over the files of a directory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import interruption, options
from ..progress import Progress, cut
from ..prompting import Prompter
from ..terminal import EXIT_OK, EXIT_REMOTE_ERROR, Terminal, one_line

if TYPE_CHECKING:
    from ....host.envelope.options import PassKeywords, PassResult
    from ....manifest.envelope_manifest import EnvelopeManifest
    from ....record.schema import Applied


@click.command("transform", short_help="Run envelope plugins over the files of a directory.")
@click.argument("directory", type=options.NamedPath())
@click.option(
    "--plugin", "plugins", multiple=True, metavar="P", help="A plugin's directory or name; repeatable."
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=options.NamedPath(),
    help="A directory of plugins, for names; repeatable, a later one wins. Without --plugin: all of them.",
)
@click.option(
    "--order", multiple=True, metavar="NAME[,NAME…]", help="Who runs first; the rest follow by name."
)
@click.option(
    "--var", "variables", multiple=True, metavar="K=V", help="A variable; V is text, or JSON after `:=`."
)
@click.option("--answer", "answers", multiple=True, metavar="FIELD=V", help="An answer, given beforehand.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="Only this file of DIRECTORY, relative to it; repeatable.",
)
@click.option("--template", metavar="NAME[@VERSION]", default="", help="What the directory was made from.")
@click.option("--project", default="", help="The project it belongs to.")
@click.option("--equipment", default="", help="The equipment it was made on.")
@click.option("--run-kind", default="", help="Such as experimental or test.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--fatal", is_flag=True, help="Stop at the first plugin that does not succeed.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, help="Plugins at once, if they share no file.")
@click.option("--keep-partial", is_flag=True, help="Keep what a plugin had changed when it failed.")
@click.option("--allow-network", is_flag=True, help="Take plugins from --root that declare network use.")
@click.option(
    "--no-confine", is_flag=True, help="Do not have the kernel keep workers from writing elsewhere."
)
@click.option(
    "--input-timeout",
    type=options.Seconds(0.1, options.LONGEST_TIMEOUT_S),
    metavar="S",
    help="Seconds for the answers to one question.",
)
@click.option("--record", type=options.NamedPath(), help="The record; .exlab-wizard/creation.json otherwise.")
@click.option("--logs", type=options.NamedPath(), help="Where logs go; .exlab-wizard otherwise.")
@click.option(
    "--log-of",
    type=click.Choice(["run", "equipment"]),
    default="run",
    help="Whose log is written: that of DIRECTORY, or that of the directory above named as --equipment.",
)
@click.option("--recover", is_flag=True, help="Only put right what a killed pass has left, then stop.")
@options.as_json
def command(
    directory: Path,
    plugins: tuple[str, ...],
    roots: tuple[Path, ...],
    order: tuple[str, ...],
    variables: tuple[str, ...],
    answers: tuple[str, ...],
    files: tuple[str, ...],
    template: str,
    project: str,
    equipment: str,
    run_kind: str,
    dry_run: bool,
    fatal: bool,
    jobs: int,
    keep_partial: bool,
    allow_network: bool,
    no_confine: bool,
    input_timeout: float | None,
    record: Path | None,
    logs: Path | None,
    log_of: str,
    recover: bool,
    as_json: bool,
) -> None:
    """Run envelope plugins over the files of DIRECTORY, each in its own worker, and write down what happened.

    A plugin that fails, is late or touches what it must not leaves the directory as it found it; the others run
    all the same. On a terminal you are asked for what a plugin is missing. Exit status: 0 if every plugin
    succeeded or had nothing to do, 1 if one did not, 2 for wrong words, 3 for a directory, record or plugin that
    cannot be used. That is found out before a plugin is begun, unless it comes to be so while they run; what they
    did until then is written down, or else by the next pass, or --recover.
    """
    terminal = Terminal(as_json=as_json)
    if recover:
        terminal.exit(_recover(terminal, directory))
    if not plugins and not roots:
        raise click.UsageError("Which plugins? Give --plugin DIRECTORY, or --root DIRECTORY for all of them.")
    name, _, version = template.partition("@")
    keywords: PassKeywords = {
        "order": [each for word in order for each in word.split(",") if each],
        "files": files or None,
        "variables": options.parse_pairs(variables, "--var"),
        "answers": options.parse_pairs(answers, "--answer"),
        "template_name": name,
        "template_version": version,
        "run_kind": run_kind,
        "equipment_id": equipment,
        "project": project,
        "dry_run": dry_run,
        "fatal": fatal,
        "jobs": jobs,
        "keep_partial": keep_partial,
        "confine": False if no_confine else None,
        "log_of": log_of,
    }
    if record is not None:
        keywords["record"] = record
    if logs is not None:
        keywords["logs"] = logs
    chosen = _choose(terminal, plugins, roots, allow_network=allow_network)
    result = _run(terminal, directory, chosen, keywords, input_timeout)
    terminal.data({"ok": result.ok, **result.to_dict()})
    _show(terminal, result)
    terminal.exit(EXIT_OK if result.ok else EXIT_REMOTE_ERROR)


def _run(
    terminal: Terminal,
    directory: Path,
    chosen: Sequence[str | EnvelopeManifest],
    keywords: PassKeywords,
    input_timeout_s: float | None,
) -> PassResult:
    from ....blocking import Host

    prompter, progress = Prompter(terminal, input_timeout_s), Progress(terminal)
    interruption.raise_signals()
    try:
        with Host(on_event=progress.note) as host:
            ask = progress.held_while(prompter.ask) if prompter.possible else None
            return host.run_pass(directory, chosen, on_input_required=ask, **keywords)
    except (KeyboardInterrupt, SystemExit) as ended:
        status = interruption.status(ended)
        if status is None:
            raise
        interruption.ignore_signals()
        with suppress(OSError):  # the terminal may be what has gone
            _show_interrupted(terminal, progress)
        terminal.exit(status)


def _show_interrupted(terminal: Terminal, progress: Progress) -> None:
    told = progress.interrupted
    terminal.data(interruption.to_dict(told))
    if terminal.as_json:
        return
    terminal.progress("")  # behind the `^C` that the terminal has written
    terminal.error(interruption.sentence(told, count=progress.count))
    if told is not None:
        from ....record.schema import of_dict

        _show_applied(terminal, [of_dict(each) for each in told.plugins_applied])


def _choose(
    terminal: Terminal, plugins: Sequence[str], roots: Sequence[Path], *, allow_network: bool
) -> list[str | EnvelopeManifest]:
    """Return the plugins that the words mean: directories, names in the roots, or all that the roots hold."""
    from ....manifest.envelope_registry import discover

    registry = discover(*roots, allow_network=allow_network)
    for rejection in registry.rejected:
        terminal.note(one_line(f"{rejection.path}: not used: {rejection.reason}"))
    if not plugins:
        if not registry.loaded:
            raise click.UsageError(f"There is no usable plugin in {', '.join(map(str, roots))}.")
        return list(registry.loaded)
    return [registry.find(word) or word for word in plugins]


def _recover(terminal: Terminal, directory: Path) -> int:
    from ....files.lock import TreeLock
    from ....host.envelope.leftovers import put_right

    with TreeLock(directory):
        told = put_right(directory, replaced=True)
    terminal.data({"ok": True, "recovered": told})
    terminal.text(told or "Nothing to recover: no pass was interrupted here.")
    return EXIT_OK


def _show(terminal: Terminal, result: PassResult) -> None:
    for problem in result.problems:
        terminal.error(cut(problem))
    if result.problems:
        terminal.text("Nothing was begun: the plugins object to the variables, or could not be asked.")
        return
    if result.dry_run:
        _show_preview(terminal, result)
    _show_applied(terminal, result.plugins_applied)
    for failure in result.failures:
        terminal.note(one_line(f"{failure.plugin}: {failure.hint}"))
    for each in result.plugins_applied:
        for warning in each.warnings:
            terminal.note(one_line(f"{each.plugin}: warning: {warning}"))
    if result.not_run:
        terminal.text(cut(f"The pass was stopped before these could run: {', '.join(result.not_run)}."))


def _show_applied(terminal: Terminal, entries: Sequence[Applied]) -> None:
    rows = [
        (
            each.plugin,
            each.status,
            str(len(each.files_affected)),
            f"{each.isolation.duration_ms} ms",
            cut(each.error or ", ".join(each.files_affected[:4]) + " …" * (len(each.files_affected) > 4)),
        )
        for each in entries
    ]
    terminal.table(("plugin", "status", "files", "time", ""), rows)


def _show_preview(terminal: Terminal, result: PassResult) -> None:
    rows = [
        (each.plugin, change["kind"], cut(change["path"]), cut(change["summary"]))
        for each in result.plugins_applied
        for told in each.per_file
        for change in told.changes
    ]
    if rows:
        terminal.table(("plugin", "would", "path", "summary"), rows)
        terminal.text()
