"""The log of a pass that was killed: what is in it already, and what the raw stderr files add to it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...files.directories import Directories, parent_of
from ...files.overlooked import Appended
from ...files.snapshot import Snapshot
from ...files.tree import describe
from ...record.live_log import below
from ...record.log_file import TAIL_LIMIT, WizardLog
from ...record.log_lines import LogLine, render
from ...record.schema import Applied
from . import scratch
from .ledger import keep_stderr, summary
from .worker_log import replayed

_WORKER = re.compile(r"\[worker:\d+\]")
_PLUGIN = re.compile(r"\[plugin:([^\]]*)\]")


class KilledLog:
    """The log that *note* speaks of, and what was left of it in the temporary directory of the pass."""

    def __init__(self, note: dict[str, Any]) -> None:
        self._tags: dict[str, str] = note["tags"]
        self._directory = Path(note["logs"])
        self._log = WizardLog(self._directory, self._tags["host"])
        self._raw = _raw_files(Path(note.get("scratch", "")))

    def ours(self, snapshot: Snapshot) -> Appended | None:
        """Return what the killed host had appended to a log in the tree, or None if that is not beyond doubt."""
        path = below(self._log.path, snapshot.root)
        if path is None:
            return None
        was = snapshot.paths.get(path)
        try:
            with Directories(snapshot.root) as directories:
                data = _read_from(directories.open_file(path), 0 if was is None else was.size)
                made = {
                    each: describe(os.fstat(directories.open(each))).mode
                    for each in _above(path)
                    if each not in snapshot.paths
                }
        except OSError:
            return None
        return Appended(path, data, made=made) if self._is_ours(data) else None

    def _is_ours(self, data: bytes) -> bool:
        """Tell whether *data* is made of lines that workers wrote to stderr, in their order."""
        *lines, rest = data.decode("utf-8", "replace").split("\n")
        if rest:
            return False
        expected = {plugin: iter(self._cores(plugin, said)) for plugin, said in self._said().items()}
        for line in lines:
            plugin = _PLUGIN.search(line)
            told = None if plugin is None else expected.get(plugin[1])
            if told is None or next(told, None) != _core(line):
                return False
        return True

    def write(self, applied: Sequence[Applied]) -> None:
        """Add what workers said and how the plugins came out, as far as it is missing. Raises TreeError.

        The raw files are kept where people look for them.
        """
        there = [_core(line) for line in self._log.tail()]
        lines: list[str] = []
        for plugin, said in self._said().items():
            written = _matched(self._cores(plugin, said), there)
            lines += [self._line(line, plugin, at) for at, line in said[written:]]
        now, known = datetime.now(UTC), set(there)
        ends = [self._line(summary(each), each.plugin, now) for each in applied]
        self._log.append([*lines, *(line for line in ends if _core(line) not in known)])
        for plugin, path in self._raw:
            keep_stderr(path, self._directory, plugin)

    def _said(self) -> dict[str, list[tuple[datetime, LogLine]]]:
        """Return what the workers of each plugin said. Of when they said it, the end is known at most."""
        said: dict[str, list[tuple[datetime, LogLine]]] = {}
        for plugin, path in self._raw:
            if not _attempt(path)[1]:  # it only looked at variables, of which nothing is logged
                continue
            at = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
            said.setdefault(plugin, []).extend((at, line) for line in replayed(path))
        return said

    def _cores(self, plugin: str, said: Iterable[tuple[datetime, LogLine]]) -> list[str]:
        return [_core(self._line(line, plugin, at)) for at, line in said]

    def _line(self, line: LogLine, plugin: str, at: datetime) -> str:
        return render(line, at=at, plugin=plugin, pid=0, **self._tags)


def _core(line: str) -> str:
    """Return *line* of a log without what differs from writer to writer: the time and the worker."""
    return _WORKER.sub("", line.partition(" ")[2], count=1)


def _matched(expected: Sequence[str], there: Iterable[str]) -> int:
    """Return how many of the *expected* lines are *there*, from the first on and in order."""
    count = 0
    for line in there:
        if count < len(expected) and line == expected[count]:
            count += 1
    return count


def _raw_files(temporary: Path) -> list[tuple[str, Path]]:
    """Return the raw stderr files of a pass with the names of their plugins, in the order they were written."""
    if not scratch.is_one(temporary):
        return []
    scratch.regain(temporary)
    found = [
        path
        for path in temporary.glob(f"{scratch.LOGS}/*/*.stderr")
        if not path.parent.is_symlink() and stat.S_ISREG(path.lstat().st_mode)
    ]
    return [(path.parent.name, path) for path in sorted(found, key=_attempt)]


def _attempt(path: Path) -> tuple[str, int, str]:
    number = path.stem.rpartition("-")[2]
    return path.parent.name, int(number) if number.isdecimal() else 0, path.name


def _read_from(fd: int, offset: int) -> bytes:
    """Return what the file *fd* holds behind *offset*, and close it. Raises OSError, also for too much."""
    with open(fd, "rb") as file:
        file.seek(offset)
        data = file.read(TAIL_LIMIT + 1)
    if len(data) > TAIL_LIMIT:
        raise OSError("more than a pass can have written")
    return data


def _above(path: str) -> list[str]:
    """Return the directories that lead to *path*."""
    above = []
    while (path := parent_of(path)) != ".":
        above.append(path)
    return above
