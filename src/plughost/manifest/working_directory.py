"""Whether the working directory, which a path is relative to, is still there. Changes to no other."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ManifestError


def require(path: Path) -> None:
    """Raise ManifestError if *path* is relative to a directory that was removed: that still looks like an empty one."""
    if path.is_absolute():
        return
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise ManifestError(str(path), "", "the working directory is gone", "Change to another") from error
