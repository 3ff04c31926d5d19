"""What `--worker` says -> a binding that is ready to be started. Starts nothing."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from ...errors import ManifestError
from ...manifest import sideband_binding
from ...manifest.binding import IN_CODE, Binding

# Of what a script prints that goes to a file and not to a person: it comes faster than it is asked for, and whoever
# wrote `> FILE` wants all of it there.
HEAD_CHARS = 33_554_432


def bind(word: str | None, cwd: Path | None, *, for_file: bool = False) -> Binding:
    """Return the binding of the worker that *word* names. *for_file*: what it prints is for no person to read.

    Raises ManifestError, and a usage error for a command in quotes.
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
    if not for_file:
        return binding
    limits = sideband_binding.limits_of(binding)
    roomy = msgspec.structs.replace(limits, head_chars=max(limits.head_chars, HEAD_CHARS))
    changed: Binding = msgspec.structs.replace(binding, limits=roomy)
    return changed
