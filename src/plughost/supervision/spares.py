"""How many spares to start, and when those that wait are out of date. Turns counts and file facts into decisions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

FAILURES_UNTIL_PAUSE = 3  # spares that failed in a row: a broken plugin must not be started for ever
CODE_SUFFIXES = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".awk", ".lua", ".pl", ".toml", ".so")
FILES_WATCHED = 256  # in the plugin's own directory; more would make taking a spare dear

Fingerprint = tuple[tuple[str, int, int, int], ...]


@dataclass(slots=True)
class Spares:
    """The arithmetic of one plugin's spares."""

    wanted: int
    failed_in_a_row: int = 0

    def missing(self, waiting: int) -> int:
        """Return how many to start now."""
        if self.failed_in_a_row >= FAILURES_UNTIL_PAUSE:
            return 0
        return max(0, self.wanted - waiting)

    def note_failure(self) -> None:
        self.failed_in_a_row += 1

    def note_success(self) -> None:
        self.failed_in_a_row = 0


def fingerprint(command: tuple[str, ...], directory: Path) -> Fingerprint:
    """Return what tells whether the plugin on disk is still the one that was started.

    It covers the files named in the command, and the code directly in the plugin's directory.
    """
    paths = {word if os.path.isabs(word) else str(directory / word) for word in command}
    try:
        with os.scandir(directory) as entries:
            # Code and bindings only: a plugin may well write logs and results beside itself.
            beside = (entry.path for entry in entries if entry.name.endswith(CODE_SUFFIXES))
            paths |= {path for path, _ in zip(beside, range(FILES_WATCHED), strict=False)}
    except OSError:
        pass
    return tuple(sorted(fact for fact in map(_fact, paths) if fact is not None))


def _fact(path: str) -> tuple[str, int, int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if os.path.isdir(path):  # its time changes with every .pyc written beside the plugin
        return None
    return path, found.st_mtime_ns, found.st_size, found.st_ino
