"""`plughost simulate`: what a restart policy makes of a plugin that fails, before it does."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..terminal import Terminal

if TYPE_CHECKING:
    from ....supervision.restart import RestartPolicy
    from ....supervision.simulation import Timeline

MOST_FAILURES = 1_000  # as many processes as a pattern may have
DECIMALS = 6  # of a second: sums of seconds are shown without the noise of their last bits


def _waits(ctx: click.Context, parameter: click.Parameter, words: str) -> tuple[float, ...]:
    """Return `1,4,16` as seconds."""
    return tuple(_seconds(ctx, parameter, word) for word in words.split(","))


def _seconds(ctx: click.Context, parameter: click.Parameter, word: str) -> float:
    from ....supervision.pattern import LONGEST_S

    try:
        seconds = float(word)
    except ValueError as error:
        raise click.BadParameter(f"{word!r} is no number of seconds", ctx, parameter) from error
    if not 0 <= seconds <= LONGEST_S:
        raise click.BadParameter(f"{word!r} is not between 0 and {LONGEST_S:.0f} seconds", ctx, parameter)
    return seconds


@click.command("simulate", short_help="Show what a restart policy makes of a plugin that fails.")
@click.argument("pattern", nargs=-1, required=True)
@click.option(
    "--policy",
    type=click.Choice(["lazy", "eager"]),
    default="lazy",
    show_default=True,
    help="When the plugin is started: for the first request, or with the host.",
)
@click.option(
    "--backoff",
    callback=_waits,
    default="1,4,16",
    show_default=True,
    metavar="S,S,…",
    help="Seconds to wait after the first, second, … failure in a row; the last repeats.",
)
@click.option(
    "--failures",
    type=click.IntRange(1, MOST_FAILURES),
    default=3,
    show_default=True,
    help="So many failures inside the window quarantine the plugin.",
)
@click.option(
    "--window",
    callback=_seconds,
    default="60",
    show_default=True,
    metavar="S",
    help="That window, in seconds.",
)
@click.option(
    "--stable",
    callback=_seconds,
    default="60",
    show_default=True,
    metavar="S",
    help="Seconds of running after which the next wait is the first again.",
)
@click.option(
    "--idle-reap",
    callback=_seconds,
    default="600",
    show_default=True,
    metavar="S",
    help="Seconds without use after which the process is let go; 0 keeps it.",
)
@click.option("--exit-zero-ok", is_flag=True, help="An exit with 0 is no crash.")
@click.option(
    "--ask-after",
    callback=_seconds,
    default="0",
    show_default=True,
    metavar="S",
    help="Seconds from the end of a process to the next request.",
)
@options.as_json
def command(
    pattern: tuple[str, ...],
    policy: str,
    backoff: tuple[float, ...],
    failures: int,
    window: float,
    stable: float,
    idle_reap: float,
    exit_zero_ok: bool,
    ask_after: float,
    as_json: bool,
) -> None:
    """Show when a long-lived plugin would be started, kept waiting, quarantined or let go. Nothing is started.

    PATTERN has a word for each process, in the order in which they are started:

    \b
    crash@S       crashes after S seconds
    exit0@S       exits with 0 after S seconds
    init-fails@S  fails its init after S seconds
    exec-fails    cannot be executed
    ok@S          is in use for S seconds, then idle
    idle          is idle from the beginning
    3xcrash@S     three processes that do the same

    and words for what happens T seconds after the beginning:

    \b
    reload@T      somebody has mended the plugin
    ask@T         a request comes
    shutdown@T    the host closes

    Without @S it happens at once. For example: plughost simulate "2xcrash@0.5 ok@120 crash@1 reload@900"
    """
    from ....supervision.pattern import parse
    from ....supervision.restart import RestartPolicy, SpawnMode
    from ....supervision.simulation import simulate

    terminal = Terminal(as_json=as_json)
    try:
        parsed = parse(pattern)
    except ValueError as error:
        raise click.UsageError(f"PATTERN: {error}.") from error
    chosen = RestartPolicy(
        spawn=SpawnMode(policy),
        backoff_s=backoff,
        failure_window_s=window,
        failures_to_quarantine=failures,
        stable_s=stable,
        exit_zero_is_crash=not exit_zero_ok,
        idle_reap_s=idle_reap,
    )
    timeline = simulate(chosen, parsed, ask_after_s=ask_after)
    terminal.data(_data(chosen, timeline))
    rows = [(f"{_rounded(moment.at_s):.12g} s", moment.state, moment.what) for moment in timeline.moments]
    terminal.table(("time", "state", "what happens"), rows)
    words = f"\nIn the end: {timeline.state}. Processes started: {timeline.started}"
    terminal.text(f"{words}; never started: {timeline.unused}." if timeline.unused else f"{words}.")


def _data(policy: RestartPolicy, timeline: Timeline) -> dict[str, Any]:
    moments = [{**asdict(moment), "at_s": _rounded(moment.at_s)} for moment in timeline.moments]
    return {
        "ok": True,
        "policy": asdict(policy),
        "timeline": moments,
        "state": timeline.state,
        "started": timeline.started,
        "unused": timeline.unused,
    }


def _rounded(seconds: float) -> float:
    return round(seconds, DECIMALS)
