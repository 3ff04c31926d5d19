"""`plughost generate`: hook providers over a pipeline file, and the files they generate."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..terminal import EXIT_OK, EXIT_REMOTE_ERROR, Terminal, one_line

if TYPE_CHECKING:
    from ....host.events import Event
    from ....host.hook.generation import Finding, Generation
    from ....manifest.binding import Binding

LEVELS = ("error", "warning", "info")
MOST_LINES = 200  # of one plugin's stderr, and of all diagnostics, that are shown
SHOWN = 1_000  # characters of a diagnostic's text; --json has all of it


@click.command("generate", short_help="Run hook providers over a pipeline file and write what they generate.")
@click.argument("plugins", nargs=-1, metavar="[PLUGIN]…", shell_complete=options.complete_plugin)
@click.option(
    "--schema",
    "schema",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The pipeline: jobs, steps, caches and so on, in YAML; a file, or a directory of parts.",
)
@click.option(
    "--out",
    type=options.named_path,
    metavar="DIR",
    help="Where files go; the current directory otherwise.",
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The repository whose file names providers are told; the current directory otherwise.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, as a diff, and write nothing.")
@click.option("--check", is_flag=True, help="Fail if the files on disk are out of date; write nothing.")
@click.option("--fact", "facts", multiple=True, metavar="K=V", help="Tell the providers this fact.")
@click.option("--flag", "flags", multiple=True, metavar="K=V", help="Tell the providers this flag.")
@options.contract
@options.allow
@options.phases
@click.option("--quiet", is_flag=True, help="Do not show the plugins' stderr.")
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    plugins: tuple[str, ...],
    schema: Path,
    out: Path | None,
    root: Path,
    dry_run: bool,
    check: bool,
    facts: tuple[str, ...],
    flags: tuple[str, ...],
    contract: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run providers over the pipeline in FILE, all at once, and write what they generate below DIR.

    All files are written or none. Without a PLUGIN, the providers that the file names are run. Exit status: 0 if
    the files are written, or up to date; 1 if a provider reports an error, fragments conflict, or --check finds a
    difference; 10 to 18 for a failure (`plughost explain`); 2 for wrong words; 3 for a wrong binding or pipeline
    file, providers that exclude each other, a request that is too large, or a directory that cannot be used.
    """
    from ....blocking import Host
    from ....pipeline import read

    if dry_run and check:
        raise click.UsageError(
            "--dry-run shows what would change, --check fails if something would: give one."
        )
    terminal = Terminal(as_json=as_json)
    told = {"facts": _texts(facts, "--fact"), "flags": _texts(flags, "--flag")}
    pipeline = read(schema)
    chosen = _choose(ctx, plugins or tuple(pipeline.providers if contract is None else ()), contract)
    for number in (signal.SIGTERM, signal.SIGHUP):  # whoever stops us waits until the plugins are gone
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    with Host(on_event=_Log(terminal, quiet=quiet or as_json).note) as host:
        generation = host.generate(
            chosen,
            pipeline,
            out if out is not None else Path(),
            write=not (dry_run or check),
            root=root,
            facts=told["facts"],
            flags=told["flags"],
        )
    stale = check and not generation.up_to_date
    failed = generation.failed or stale
    terminal.data({"ok": not failed, **_as_data(generation, diffs=dry_run or check)})
    _show(terminal, generation, diffs=dry_run or check)
    if stale and not generation.failed:
        terminal.error(
            f"{sum(each.kind != 'unchanged' for each in generation.changes)} file(s) are out of date",
            "Run the same command without --check to write them.",
        )
    terminal.exit(EXIT_REMOTE_ERROR if failed else EXIT_OK)


def _choose(ctx: click.Context, plugins: tuple[str, ...], contract: str | None) -> list[Binding]:
    if contract is not None:
        if plugins:
            raise click.UsageError(f"PLUGIN ({plugins[0]}) and --contract exclude each other.")
        return [options.bind(ctx, None, contract)]
    if not plugins:
        raise click.UsageError("Which PLUGIN? Name one, or list `providers` in the pipeline file.")
    return [options.bind(ctx, plugin, None) for plugin in plugins]


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _texts(words: tuple[str, ...], option: str) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} wants K=V, not {word!r}.")
        options.check_text(word, option)
        found[name] = value
    return found


class _Log:
    """Shows what plugins write to stderr, up to a number of lines of each."""

    def __init__(self, terminal: Terminal, *, quiet: bool) -> None:
        self._terminal = terminal
        self._quiet = quiet
        self._told: Counter[str] = Counter()

    def note(self, event: Event) -> None:
        if event.name != "log" or self._quiet:
            return
        self._told[event.plugin] += 1
        if self._told[event.plugin] <= MOST_LINES:
            self._terminal.note(one_line(f"[{event.plugin or 'plugin'}] {event.what.text}"))  # type: ignore[union-attr]
        elif self._told[event.plugin] == MOST_LINES + 1:
            self._terminal.note(one_line(f"[{event.plugin}] … and more, which is not shown"))


def _as_data(generation: Generation, *, diffs: bool) -> dict[str, Any]:
    data = generation.to_dict()
    if diffs:
        changed = {each.path: each.diff() for each in generation.changes if each.kind != "unchanged"}
        for file in data["files"]:
            file["diff"] = changed.get(file["path"], "")
    return data


def _show(terminal: Terminal, generation: Generation, *, diffs: bool) -> None:
    ranked = sorted(generation.diagnostics, key=lambda each: LEVELS.index(each.level))  # the worst first
    for finding in ranked[:MOST_LINES]:
        _show_finding(terminal, finding)
    if len(ranked) > MOST_LINES and not terminal.as_json:
        terminal.note(f"… and {len(ranked) - MOST_LINES} more; --json shows all")
    for report in generation.providers:
        for warning in report.warnings:
            if not terminal.as_json:
                terminal.note(one_line(f"{report.name}: warning: {warning}"))
    if diffs:
        for change in generation.changes:
            if change.kind != "unchanged":
                terminal.text(change.diff().rstrip("\n"))
    if generation.failed:
        terminal.text("Nothing was written: a provider reports an error.")
        return
    plugins = {output.path: ", ".join(output.plugins) for output in generation.outputs}
    rows = [(change.path, change.kind, plugins.get(change.path, "")) for change in generation.changes]
    if rows:
        terminal.table(("file", "written" if generation.written else "would be", "by"), rows)
    else:
        terminal.text("The providers generate no files for this pipeline.")


def _show_finding(terminal: Terminal, finding: Finding) -> None:
    if terminal.as_json:
        return
    place = (
        finding.file
        + (f":{finding.line}" if finding.line else "")
        + (f":{finding.column}" if finding.column else "")
    )
    code = f" [{finding.code}]" if finding.code else ""
    said = ": ".join(text for text in (finding.title, finding.message) if text)
    where = f"{place}: " if place else ""
    line = f"{finding.plugin} ({finding.phase}): {finding.level}: {where}{said}{code}"
    terminal.note(one_line(_cut(line)))
    for part in finding.snippet[:SHOWN].splitlines()[:4]:
        terminal.note(f"    | {one_line(part)}")
    if finding.hint:
        terminal.note(one_line(_cut(f"    {finding.hint}")))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"
