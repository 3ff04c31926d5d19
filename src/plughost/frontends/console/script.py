"""A file, or standard input, as one request -> what it shows, or one JSON object; and an exit status.

Nobody is asked where nobody is: code that asks for input without a terminal is stopped, and its prompt is named.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ...contracts.sideband.host import LONGEST_TIMEOUT_S
from ...failures import EXPLANATIONS, FailureCode
from ...host.sideband.blocking_console import BlockingConsole
from ...host.sideband.reply import Reply, ReplyState
from ...manifest.sideband_limits import LINE_BYTES
from ...messages.quoting import quote
from ..cli.terminal import EXIT_OK, EXIT_REMOTE_ERROR
from .album import Album
from .keyboard import Keyboard
from .picture import size
from .turn import LATE_S, Ending, Outcome, give_up

STDIN = "-"
EXIT_INTERRUPTED = 130  # as shells have it


def read(name: str) -> str:
    """Return the text of the file *name*, or of standard input. Raises a usage error."""
    try:
        if name == STDIN:
            data = b"" if sys.stdin is None else sys.stdin.buffer.read(LINE_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(LINE_BYTES + 1)
        if len(data) > LINE_BYTES:
            raise click.UsageError(f"--run {name}: it is larger than {LINE_BYTES} bytes.")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"--run {name}: it is not UTF-8, at byte {error.start}.") from error
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--run {name}: it cannot be read: {error}") from error


def status(outcome: Outcome) -> int:
    """Return the exit status that goes with *outcome*: a script's own, if it gave one."""
    reply = outcome.reply
    match outcome.ending:
        case Ending.INTERRUPTED:
            return EXIT_INTERRUPTED
        case Ending.LATE:
            return EXPLANATIONS[FailureCode.TIMEOUT].exit_status
        case Ending.UNANSWERED:
            return EXIT_REMOTE_ERROR
    if reply.failure is not None:
        return EXPLANATIONS[reply.failure.code].exit_status
    return outcome.exit_status or (EXIT_REMOTE_ERROR if reply.error else EXIT_OK)


def problem(outcome: Outcome, timeout: float | None) -> str | None:
    """Say why a script was stopped, None if it was not."""
    match outcome.ending:
        case Ending.LATE:
            return f"it was not over in {timeout:g} s, and was stopped"
        case Ending.UNANSWERED:
            return f"it asks for input, {quote(outcome.asked)}, and there is no terminal to ask at"
        case Ending.INTERRUPTED:
            return "interrupted"
    return None


def run_at_once(console: BlockingConsole, keyboard: Keyboard, text: str, timeout: float | None) -> Outcome:
    """Run *text* and return all of it as one reply. Raises what `Console.run` raises."""
    try:
        with keyboard.raising():
            reply = console.run(text, LONGEST_TIMEOUT_S if timeout is None else timeout)
    except KeyboardInterrupt:  # which has interrupted the request, too
        return Outcome(_stop(console, None), Ending.INTERRUPTED)
    if reply.state is ReplyState.RUNNING:
        return Outcome(_joined(reply, give_up(console)[1]), Ending.LATE)
    if reply.state is ReplyState.WAITING:
        return Outcome(_stop(console, reply), Ending.UNANSWERED, reply.prompt)
    own = console.exit_status if reply.state is ReplyState.ENDED else None
    return Outcome(reply, exit_status=own)


def _stop(console: BlockingConsole, reply: Reply | None) -> Reply:
    """Stop the request, by force if need be, and return *reply* and what there is to add to it, as one."""
    console.interrupt(LATE_S, force=True)
    last = console.poll(LATE_S)
    return last if reply is None else _joined(reply, last)


def _joined(reply: Reply, last: Reply) -> Reply:
    """Return *reply* and what *last* adds to it, as one."""
    return replace(
        last,
        items=(*reply.items, *last.items),
        request_id=reply.request_id,
        full_output=last.full_output or reply.full_output,
    )


def to_json(outcome: Outcome, album: Album | None, timeout: float | None) -> dict[str, Any]:
    """Return the JSON object of a request. Pictures are paths in it."""
    reply = outcome.reply
    values = reply.to_dict()
    for item, value in zip(reply.items, values["items"], strict=True):
        if value["kind"] == "image":
            value.pop("data")
            value.update(_picture(item, album))
    stopped = problem(outcome, timeout)
    return {"ok": status(outcome) == EXIT_OK, **values, **({} if stopped is None else {"problem": stopped})}


def _picture(image: Any, album: Album | None) -> dict[str, Any]:
    path = None if album is None else album.keep(image)
    found = size(image.data)
    width, height = (None, None) if found is None else found
    return {"path": None if path is None else str(path), "width": width, "height": height}
