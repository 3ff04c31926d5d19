"""What lies around a tree, before and after a plugin that could not be confined. It notices; it mends nothing.

Only what a plugin would most likely hit is looked at: what stands beside the tree, what links in the tree lead
to, and the plugin's own directory. Somebody else may be at work there, so a change is a warning and never a verdict.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from ...messages.quoting import one_line

MOST = 10_000  # paths looked at
SHOWN = 5


class Surroundings:
    """The surroundings as they were when this was made. *links* are symbolic links in the tree, relative to *root*.

    *ours* are paths that the host itself writes to.
    """

    def __init__(self, root: Path, plugin: Path, links: Sequence[str], ours: Sequence[str] = ()) -> None:
        self._root = root
        self._plugin = plugin
        self._ours = frozenset(ours)
        self._targets = [os.path.realpath(root / link) for link in links[:MOST]]
        self._before = self._look()

    def changed(self) -> list[str]:
        """Return a warning if anything is different now."""
        after = self._look()
        paths = sorted({*self._before, *after})
        changed = [one_line(path) for path in paths if self._before.get(path) != after.get(path)]
        if not changed:
            return []
        more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        return [f"outside the directory, while it ran, these changed: {', '.join(changed[:SHOWN])}{more}"]

    def _look(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        for path in islice(self._paths(), MOST):
            if path in self._ours:
                continue
            try:
                status = os.lstat(path)
            except OSError:
                continue
            found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)
        return found

    def _paths(self) -> Iterator[str]:
        for target in self._targets:
            if not Path(target).is_relative_to(self._root):
                yield target
                yield from (entry.path for entry in _entries(target))
        for entry in _entries(self._root.parent):
            # Neither the tree itself, nor where we save it to.
            if entry.path != str(self._root) and not entry.name.startswith(f".{self._root.name}.plughost"):
                yield entry.path
        for directory, names, files in os.walk(self._plugin):
            names[:] = [name for name in names if name != "__pycache__"]
            yield from (os.path.join(directory, name) for name in files)


def _entries(directory: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []
