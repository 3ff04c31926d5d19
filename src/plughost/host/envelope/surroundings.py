"""What lies around a tree, before and after a plugin that could not be confined. It notices; it mends nothing.

Only what a plugin would most likely hit is looked at: what stands beside the tree, and the plugin's own directory.
Somebody else may be at work there, so a change is a warning and never a verdict.
"""

from __future__ import annotations

import os
from pathlib import Path

MOST = 10_000  # paths looked at
SHOWN = 5


class Surroundings:
    """The surroundings as they were when this was made."""

    def __init__(self, root: Path, plugin: Path) -> None:
        self._root = root
        self._plugin = plugin
        self._before = self._look()

    def changed(self) -> list[str]:
        """Return a warning if anything is different now."""
        after = self._look()
        paths = sorted({*self._before, *after})
        changed = [path for path in paths if self._before.get(path) != after.get(path)]
        if not changed:
            return []
        shown = ", ".join(changed[:SHOWN]) + (
            f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        )
        return [f"outside the directory, while it ran, these changed: {shown}"]

    def _look(self) -> dict[str, tuple[int, ...]]:
        paths = [entry.path for entry in _entries(self._root.parent) if entry.path != str(self._root)]
        for directory, names, files in os.walk(self._plugin):
            names[:] = [name for name in names if name != "__pycache__"]
            paths += [os.path.join(directory, name) for name in files]
            if len(paths) > MOST:
                break
        found: dict[str, tuple[int, ...]] = {}
        for path in paths[:MOST]:
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if os.path.basename(path).startswith(f".{self._root.name}.plughost"):
                continue  # our own store
            found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)
        return found


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []
