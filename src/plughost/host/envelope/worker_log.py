"""A worker's stderr to three places: a raw file, events, and lines for the log. Bounded in all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from ...messages.quoting import one_line
from ...process.news import StderrLine
from ...record.log_file import StderrFile
from ...record.log_lines import LogLine, LogSplitter
from ..events import FileProgress, Logged

LINES_KEPT = 10_000  # of one attempt for the log; the raw file has more
RAW_SHOWN = 8_192  # bytes of a line that is no log line, in an event
PROGRESS = "plughost"  # the key in a log line's context that marks it as news for the host, not for people

News = Logged | FileProgress | StderrLine


class WorkerLog:
    """What one attempt writes to stderr. Call it with the bytes, and with none at their end."""

    def __init__(self, path: Path, publish: Callable[[News], None]) -> None:
        self.path = path
        self.lines: list[tuple[datetime, LogLine]] = []
        self.dropped = 0  # log lines that were too many
        self._publish = publish
        self._splitter = LogSplitter()
        self._file: StderrFile | None = None

    def __call__(self, data: bytes) -> None:
        if not data:
            self.close()
            return
        if self._file is None:
            self._file = StderrFile(self.path)
        self._file.write(data)
        self._take(self._splitter.receive_data(data))

    def close(self) -> None:
        """Hear the end of it. Idempotent."""
        self._take(self._splitter.receive_eof())
        if self._file is not None:
            self._file.close()

    def _take(self, items: list[LogLine | bytes]) -> None:
        for item in items:
            if isinstance(item, bytes):
                self._publish(StderrLine(one_line(item[:RAW_SHOWN].decode("utf-8", "backslashreplace"))))
            elif (progress := _progress(item)) is not None:
                self._publish(progress)
            else:
                self._keep(item)

    def _keep(self, line: LogLine) -> None:
        self._publish(Logged(line.level, one_line(line.message), line.context))
        if len(self.lines) < LINES_KEPT:
            self.lines.append((datetime.now(UTC), line))
        else:
            self.dropped += 1


def _progress(line: LogLine) -> FileProgress | None:
    """Return what *line* tells the host about the worker's progress, or None if it is for people."""
    match line.context:
        case {
            "plughost": "file",
            "path": str(path),
            "status": str(status),
            "index": int(index),
            "count": int(count),
        }:
            return FileProgress(one_line(path), one_line(status), index, count)
        case _:
            return None
