"""`plughost console`: a session at a worker of the `sideband` contract, for a person or for one script."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from .. import options
from ..terminal import EXIT_INTERNAL, EXIT_OK, Terminal

if TYPE_CHECKING:
    from ....host.sideband.blocking_console import BlockingConsole
    from ...console.album import Album
    from ...console.display import Display
    from ...console.full_output import FullOutput
    from ...console.keyboard import Keyboard

NONE = "none"


@click.command("console", short_help="Run code in a session of its own process.")
@click.option(
    "--worker",
    metavar="W",
    help="Who runs the code: a Python interpreter, a virtual environment, `python`, `r`, a plugin's directory or its "
    "name in plughost.toml. Otherwise the nearest .venv, or python3.",
)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where it runs; here otherwise.",
)
@click.option("--run", "script", metavar="FILE", help="Run FILE, or standard input for -, and end.")
@click.option(
    "--timeout",
    type=options.Seconds(0, options.LONGEST_TIMEOUT_S, min_open=True),
    metavar="S",
    help="Seconds for one request, which is stopped then; a script's worker is killed if it does not stop. "
    "None otherwise.",
)
@click.option(
    "--output-dir",
    metavar="DIR",
    help="Where pictures and large outputs are kept; a new directory for temporary files otherwise.",
)
@click.option(
    "--images",
    type=click.Choice(["inline", "path", "none"]),
    default="inline",
    show_default=True,
    help="Show pictures where the terminal can, and say where they are; only say it; or do not keep them.",
)
@click.option(
    "--history",
    metavar="FILE",
    help="Where to remember what is typed, or `none`; in the user's state directory otherwise.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object for the request of --run, and no text."
)
def command(
    worker: str | None,
    cwd: Path | None,
    script: str | None,
    timeout: float | None,
    output_dir: str | None,
    images: str,
    history: str | None,
    as_json: bool,
) -> None:
    """Run code in a process that keeps its state: line by line, or a whole file with --run.

    Ctrl-C stops what runs, and nothing else; pressed again, it replaces the worker. Ctrl-D leaves, and where code reads
    standard input ends that. `:help` lists what else there is. A worker that dies is reported and replaced. Where
    standard input is no terminal, it is the script. A script's output is whole, however slowly it is read; what has to
    wait too long comes to standard output, whichever of the two it was for.

    With --json: {ok, items, state, prompt, request_id, generation, error, elapsed_ms, full_output, failure}, and
    `problem` if it was stopped. Items are in order, each with its `kind`: text {stream, text}, image {id, mime_type,
    path, width, height, is_new}, prompt {prompt}, notice {text}, omitted {chars, lines, entries, images,
    image_bytes, spooled}; and each but the last with its request_id.

    Exit status: 0, 1 if the script raised or asked for input without a terminal, its own if it ended itself with one,
    as `sys.exit(5)` does, 10 to 18 if its worker failed or it took too long (`plughost explain`), 130 if it was
    interrupted, 2 for wrong words, 3 for a wrong binding, 70 if part of its output was lost: the file that keeps what
    a slow reader has not taken was removed or full.
    """
    from ....blocking import Host
    from ...console import script as scripts
    from ...console import workers
    from ...console.album import Album
    from ...console.full_output import FullOutput
    from ...console.keyboard import Keyboard
    from ...console.output_directory import OutputDirectory

    interactive = script is None and _is_terminal(sys.stdin)
    if as_json and interactive:
        raise click.UsageError("--json goes with --run.")
    text = None if interactive else scripts.read(scripts.STDIN if script is None else script)
    start_s = None if interactive else timeout
    binding = workers.bind(worker, cwd, for_file=not interactive and not as_json, start_s=start_s)
    terminal = Terminal(as_json=as_json)
    with (
        workers.plainly(),
        OutputDirectory(None if output_dir is None else options.named_path(output_dir)) as directory,
        Host() as host,
        host.console(binding, name="console", output_directory=directory.path) as console,
        Keyboard() as keyboard,
    ):
        album = None if images == NONE else Album(directory.path)
        if text is None:
            _converse(terminal, console, keyboard, _display(album, images, None), timeout, history)
            status = EXIT_OK
        elif as_json:
            outcome = scripts.run_at_once(console, keyboard, text, timeout)
            terminal.data(scripts.to_json(outcome, album, timeout))
            status = scripts.status(outcome)
        else:
            full = FullOutput()
            status = _perform(terminal, console, keyboard, _display(album, images, full), text, timeout)
            if full.lost:
                terminal.error(f"{full.lost} characters of its output are lost")
                status = status or EXIT_INTERNAL
            else:
                directory.discard(full.path)  # all of it was shown, and nobody was told of it
            full.close()
    terminal.exit(status)


def _converse(
    terminal: Terminal,
    console: BlockingConsole,
    keyboard: Keyboard,
    display: Display,
    timeout: float | None,
    history: str | None,
) -> None:
    """Serve a person until the person leaves."""
    from ...console.history import History, usual_path
    from ...console.line_editor import LineEditor
    from ...console.session import Session
    from ..main import report

    if history is None:
        kept = History(usual_path(os.environ))
    else:
        kept = History(None if history == NONE else options.named_path(history).absolute())
    editor = LineEditor(keyboard, terminal, kept.load())
    Session(
        console,
        display,
        keyboard,
        editor,
        kept,
        timeout=timeout,
        tell=lambda error: report(terminal, error),
        say=terminal.note,
    ).run()


def _perform(
    terminal: Terminal,
    console: BlockingConsole,
    keyboard: Keyboard,
    display: Display,
    text: str,
    timeout: float | None,
) -> int:
    """Run a script, show what it shows as it comes, and return the exit status."""
    from ...console import script as scripts
    from ...console.asking import Asking
    from ...console.line_editor import LineEditor
    from ...console.turn import Turn
    from ...console.workers import knows_end

    there = _is_terminal(sys.stdin) and _is_terminal(sys.stderr)
    asking = None
    if there:
        editor = LineEditor(keyboard, terminal)
        asking = Asking(editor, display, terminal.note, lambda: knows_end(console.backend))
    ask = None if asking is None else asking.ask
    outcome = Turn(console, display, keyboard, ask, timeout, is_script=True).run(text)
    display.settle()
    stopped = scripts.problem(outcome, timeout)
    if stopped is not None:
        terminal.error(stopped)
    return scripts.status(outcome)


def _display(album: Album | None, images: str, full: FullOutput | None) -> Display:
    from ...console.display import Display
    from ...console.inline import protocol

    is_terminal = _is_terminal(sys.stdout) and _is_terminal(sys.stderr)
    by = protocol(os.environ) if is_terminal and images == "inline" else None
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "dumb") == "dumb"
    return Display(album, by, colours=is_terminal and not plain, full=full)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
