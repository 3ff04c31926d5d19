"""Whether a file can be made or changed where it belongs, found out before anything depends on it. Makes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import TreeError

_EFFECTIVE = os.access in os.supports_effective_ids


def check_directory(directory: Path, *, levels: int) -> None:
    """Raise TreeError unless we may write to *directory*, or to the one it is to be made in, *levels* above at most."""
    for _ in range(levels):
        if os.path.lexists(directory):
            break
        directory = directory.parent
    if os.path.islink(directory) or not os.path.isdir(directory):
        raise TreeError(
            str(directory),
            "no directory, or a link to one",
            "Put a real directory there, or name another place",
        )
    if not may(directory, os.W_OK | os.X_OK):
        raise TreeError(
            str(directory), "nothing can be written there", "Let yourself write there, or name another place"
        )


def check_file(path: Path) -> None:
    """Raise TreeError if *path* is there, and is not a regular file that we may write to."""
    if not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isfile(path):
        raise TreeError(str(path), "not a regular file", "Move it away, or name another place for it")
    if not may(path, os.W_OK):
        raise TreeError(str(path), "cannot be written to", "Let yourself write to it, or name another place")


def may(path: Path, mode: int) -> bool:
    """Tell whether we may do *mode* with *path*, as whom we act now."""
    return os.access(path, mode, effective_ids=_EFFECTIVE)
