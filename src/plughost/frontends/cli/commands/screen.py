"""`plughost screen`: a plugin's screen on this terminal, or one frame of it as text, JSON or a picture."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import fleet_options, options, raw_output
from ..complaints import Complaints
from ..terminal import EXIT_INTERNAL, EXIT_OK, EXIT_REMOTE_ERROR, Terminal

if TYPE_CHECKING:
    from ....contracts.duplex.keys import KeyEvent
    from ....host.duplex.options import FleetKeywords
    from ....manifest.duplex_registry import Rejection
    from ..fleet_options import Places

BY_SIGNAL = 128  # a shell's status of a program that was ended is this and the signal
LARGEST = 1000  # columns or rows of a frame: more than any terminal has
USUAL_SIZE = "80x24"
USUAL_SETTLE_S = 1.0
LONGEST_S = 3600.0  # that anybody waits for a frame


@click.command("screen", short_help="Show a plugin's screen.")
@click.argument("plugins", nargs=-1, metavar="PLUGIN…")
@fleet_options.root
@click.option(
    "--screen",
    "screens",
    multiple=True,
    metavar="ID",
    help="Which screen of a PLUGIN that has several; repeatable.",
)
@click.option("--once", is_flag=True, help="Print one frame and end; needs no terminal.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "svg"]),
    help="How --once prints it; text otherwise.",
)
@click.option("--size", metavar="WxH", help="How large it is with --once; 80x24 otherwise.")
@click.option(
    "--key", "keys", multiple=True, metavar="KEY", help="Press KEY before, with --once; repeatable, in order."
)
@click.option(
    "--settle",
    type=options.Seconds(0, LONGEST_S),
    metavar="SECONDS",
    help="How long --once waits at most for the screen to settle; it has when it stays the same for half of that. "
    "1 otherwise.",
)
@fleet_options.config
@fleet_options.logs
@fleet_options.log_level
@options.as_json
def command(
    plugins: tuple[str, ...],
    roots: tuple[Path, ...],
    screens: tuple[str, ...],
    once: bool,
    form: str | None,
    size: str | None,
    keys: tuple[str, ...],
    settle: float | None,
    config: tuple[str, ...],
    logs: tuple[str, ...],
    log_level: str | None,
    as_json: bool,
) -> None:
    """Show the screen of PLUGIN: a plugin's directory, or a name found under --root.

    Several are shown one at a time: ctrl+pgup and ctrl+pgdn, or ctrl+], change between them. Ctrl-C leaves; every
    other key is the plugin's. Esc is too, but leaves once a plugin has ignored it three times, or has been
    given it eight times in a row.

    --once prints a frame instead: `plughost screen burndown --root plugins --once --key down --key enter`. KEY is a
    character, or such as enter, esc, back_tab, page_up, f5, ctrl+x. --json means --once --format json.

    Exit status: 0, or 10 to 18 if the plugin failed or is left in quarantine (`plughost explain`), 1 for an error of
    its own, 2 for wrong words, 3 for a wrong manifest.
    """
    if as_json:
        if form not in (None, "json"):
            raise click.UsageError(f"--json means --format json, not {form}.")
        once, form = True, "json"
    if not plugins:
        raise click.UsageError("Which PLUGIN? A plugin's directory, or a name under --root.")
    named = [word for word in map(options.named_plugin, plugins) if not fleet_options.is_plugin(word)]
    found = fleet_options.places(roots) if roots or named else fleet_options.Places(())
    directories = [Path(word) for word in dict.fromkeys(plugins) if word not in named]
    where = replace(found, paths=(*found.paths, *directories))
    said = where.sorted_out(fleet_options.keywords(config, logs, log_level))
    if once:
        if len(plugins) > 1:
            raise click.UsageError("--once shows one PLUGIN.")
        frame = _size(USUAL_SIZE if size is None else size)
        settle = USUAL_SETTLE_S if settle is None else settle
        _show_once(
            plugins[0], where, said, screens, frame, _keys(keys), settle, form or "text", logs=bool(log_level)
        )
    else:
        if keys or (form, size, settle, log_level) != (None, None, None, None):
            raise click.UsageError("--key, --format, --size, --settle and --log-level go with --once.")
        _show_live(plugins, where, said, screens)


def _show_live(words: Sequence[str], where: Places, said: FleetKeywords, screens: Sequence[str]) -> None:
    import asyncio

    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):
        raise click.UsageError("This is no terminal. `--once` prints one frame without any.")
    try:
        from ...tui import live
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        raise click.ClickException(
            "A screen needs the library textual. Install it: pip install 'plughost[tui]'"
        ) from error

    def lingers() -> None:
        Terminal().progress("A plugin takes its time to end. Ctrl-C does not wait for it.")

    def choose(fleet: Any) -> list[tuple[Any, str]]:
        return _choose(fleet, words, screens, where.rejected)

    left = asyncio.run(live.run(where.paths, said, choose, lingers))
    if left.by_signal is not None:
        Terminal().exit(BY_SIGNAL + left.by_signal)
    if left.failure is not None:
        raise left.failure
    Terminal().exit(EXIT_OK if left.is_sound else EXIT_INTERNAL)


def _show_once(
    word: str,
    where: Places,
    said: FleetKeywords,
    screens: Sequence[str],
    size: tuple[int, int],
    keys: Sequence[KeyEvent],
    settle_s: float,
    form: str,
    *,
    logs: bool,
) -> None:
    from ....blocking import Host
    from ....errors import RemoteError
    from ....failures import PluginTimeout
    from ....host.duplex import painting
    from ....supervision.states import State
    from ...tui import once, room

    picture = _picture() if form == "svg" else None
    terminal, status = Terminal(as_json=form == "json"), EXIT_OK
    complaints = Complaints(logs_to=terminal if logs else None)
    with Host(on_event=complaints.hear) as host:
        fleet = host.fleet(*where.paths, **said)
        (plugin, screen), *_ = _choose(fleet, [word], screens, where.rejected)
        others = list(fleet.plugins.values())
        try:
            result = once.settle(
                plugin,
                screen,
                size,
                keys,
                settle_s,
                lambda: any(each.state is State.SPAWNING for each in others),
                at_once=room.keys_at_once(plugin.binding.limits.key_lane),
            )
        except RemoteError as error:
            complaints.report(terminal, error)
            status = EXIT_REMOTE_ERROR
        except PluginTimeout:
            fleet.abort()  # it has had its time: no grace for its end either
            raise
        else:  # at once: other plugins may take their time to end
            frame = {"plugin": plugin.name, "screen": screen, **painting.to_json(result.buffer, *size)}
            terminal.data({"ok": True, **frame})
            if picture is not None:
                drawn = picture(painting.rows(result.buffer, *size), plugin.name)
                raw_output.write(sys.stdout, drawn.encode())
            elif form == "text":
                raw_output.write(sys.stdout, f"{painting.text(result.buffer, *size)}\n".encode())
    complaints.tell(terminal)
    terminal.exit(status)


def _picture() -> Any:
    """Return what makes pictures. Raises an error that says how to get it."""
    try:
        from ...tui import looks
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        raise click.ClickException(
            "A picture needs the library rich. Install it: pip install 'plughost[tui]'"
        ) from error
    return looks.svg


def _choose(
    fleet: Any, words: Sequence[str], screens: Sequence[str], rejected: Sequence[Rejection]
) -> list[tuple[Any, str]]:
    """Return the plugins that *words* mean, each with the screen to show. Raises a usage error, or ManifestError."""
    chosen: list[tuple[Any, str]] = []
    known: list[str] = []
    for word in dict.fromkeys(words):
        plugin = fleet_options.pick(word, fleet.plugins, [*fleet.rejected, *rejected])
        # What a manifest provides is information: a plugin that lists no screen may draw one, under its own name.
        there = plugin.manifest.provides.screens or (plugin.name,)
        known += there
        chosen += [(plugin, screen) for screen in [each for each in screens if each in there] or there[:1]]
    for screen in screens:
        if screen not in known:
            raise click.UsageError(f"There is no screen {screen!r}. {fleet_options.near(screen, known)}")
    return chosen


def _size(word: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", word, re.ASCII)
    if found is None or not all(1 <= int(number) <= LARGEST for number in found.groups()):
        raise click.UsageError(f"--size wants WxH, of 1 to {LARGEST} columns and rows, not {word!r}.")
    return int(found[1]), int(found[2])


def _keys(words: Sequence[str]) -> list[KeyEvent]:
    from ....testkit.duplex_key import key_event

    for word in words:
        options.check_text(word, "--key")
    try:
        return [key_event(word) for word in words]
    except ValueError as error:
        raise click.UsageError(f"--key {error}.") from error
