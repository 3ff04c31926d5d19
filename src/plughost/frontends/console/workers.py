"""What `--worker` says -> a binding that is ready to be started, and what is known of who it is. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from ...autopsy import Stage
from ...contracts.sideband.messages import BackendInfo
from ...errors import ManifestError, PlughostError
from ...failures import PluginFailure
from ...manifest import sideband_binding
from ...manifest.binding import IN_CODE, Binding
from ...messages.quoting import quote

# Of what a script prints that goes to a file and not to a person: it comes faster than it is asked for, and whoever
# wrote `> FILE` wants all of it there.
HEAD_CHARS = 33_554_432
START_S = 3.0  # that a worker has to start in any case, however short the time of the command is


OLDEST = "3.9"  # the Python that runs our worker
_TOO_OLD = ("SyntaxError: ", "ImportError: ")  # of our own files, the last words of one that is older
_PYTHON = "python"  # what our worker in that language calls itself


def knows_end(backend: BackendInfo | None) -> bool:
    """Tell whether that worker takes Ctrl-D for the end of its input; the contract itself has no word for it."""
    return backend is not None and backend.plughost.worker == _PYTHON


@contextmanager
def plainly() -> Iterator[None]:
    """Let errors of ours out in the words of `explain`."""
    try:
        yield
    except PlughostError as error:
        raise explain(error) from error.__cause__


def explain(error: PlughostError) -> PlughostError:
    """Return *error*, or what is wrong in plain words: an interpreter that cannot run our worker is too old."""
    if not isinstance(error, PluginFailure):
        return error
    command, last = error.autopsy.command, error.autopsy.stderr_tail.rstrip().rpartition("\n")[2].strip()
    is_ours = command[1:] == (sideband_binding.WORKER,)
    if not is_ours or error.autopsy.stage is not Stage.HANDSHAKE or not last.startswith(_TOO_OLD):
        return error
    problem = f"{command[0]} is too old, or no whole Python: it says {quote(last)}"
    return ManifestError("--worker", "", problem, f"Name a Python of {OLDEST} or later")


def bind(
    word: str | None, cwd: Path | None, *, for_file: bool = False, start_s: float | None = None
) -> Binding:
    """Return the binding of the worker that *word* names. *for_file*: what it prints is for no person to read.

    *start_s* shortens the time for its start, down to START_S. Raises ManifestError, and a usage error for a command
    in quotes.
    """
    if word is not None and len(word.split()) > 1 and not os.path.exists(word):
        raise click.UsageError(
            f"--worker {word!r}: it takes a name or a path, not a command. Write a plugin.toml with "
            f'contract = "sideband" and the command, and give its directory.'
        )
    try:
        binding = sideband_binding.bind(word, cwd=cwd)
    except ManifestError as error:
        if error.source != IN_CODE:
            raise
        raise ManifestError("--worker", "", error.problem, error.remedy) from error
    limits = sideband_binding.limits_of(binding)
    if for_file:
        limits = msgspec.structs.replace(limits, head_chars=max(limits.head_chars, HEAD_CHARS))
    if start_s is not None:
        soon = max(start_s, START_S)
        limits = msgspec.structs.replace(limits, handshake_s=min(limits.handshake_s, soon))
    changed: Binding = msgspec.structs.replace(binding, limits=limits)
    return changed
