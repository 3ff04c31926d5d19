"""A directory -> whether there is a file in it of a wanted kind, by a short look. Promises nothing, refuses nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from .directories import ROOT, join

PATHS = 256  # looked at: few enough to look at while others wait


def may_hold(root: Path, wanted: Callable[[str], bool]) -> bool:
    """Tell whether a regular file below *root* is *wanted*, by its path; where there is too much to see, it may be."""
    waiting, seen = [ROOT], 0
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(root / path) as entries:
                for entry in entries:
                    below = join(path, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(below)
                    elif entry.is_file(follow_symlinks=False) and wanted(below):
                        return True
                    seen += 1
                    if seen >= PATHS:
                        return True
        except OSError:  # whoever has to read it will say so
            continue
    return False
