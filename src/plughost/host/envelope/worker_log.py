"""A worker's stderr in three places: a raw file, events, and lines for the log. Bounded in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from ...contracts.envelope.host import Attempt
from ...errors import TreeError
from ...messages.quoting import one_line
from ...process.news import StderrLine
from ...record.log_file import StderrFile
from ...record.log_lines import RENDER_LIMIT, LogLine, LogSplitter, line_of, said
from ...record.redaction import redact
from ..events import FileProgress, Logged

LINES_HEARD = 50_000  # of one attempt; hearing more would cost the host more than the plugin its writing
LINES_KEPT = 10_000  # of them for the log; the raw file has more
RAW_SHOWN = 8_192  # bytes of a line that is no log line, in an event

READ_SIZE = 65_536  # bytes of a raw file that are heard at a time

News = Logged | FileProgress | StderrLine
Timed = tuple[datetime, LogLine]


class WorkerLog:
    """What one attempt writes to stderr. Call it with the bytes, and with none at their end.

    *say* takes a worker's process and the lines that are not in the log yet, and returns whether they are there now.
    """

    def __init__(
        self,
        path: Path,
        publish: Callable[[News], None],
        say: Callable[[int, Iterable[Timed]], bool] | None = None,
    ) -> None:
        self.path = path
        self.pid = 0
        self.lines: list[Timed] = []
        self.written = 0  # of the lines: so many are in the log
        self._say = say
        self._dropped = 0  # log lines that were too many to keep
        self._unheard = 0  # bytes behind the last line that was heard
        self._heard = 0
        self.problem: str | None = None
        self.last_error: str | None = None  # that it logged
        self._publish = publish
        self._splitter = LogSplitter()
        self._file: StderrFile | None = None

    def __call__(self, data: bytes) -> None:
        if not data:
            self.close()
            return
        if self._file is None and self.problem is None:
            try:
                self._file = StderrFile(self.path)
            except TreeError as error:  # a log that cannot be kept is no reason to fail
                self.problem = f"its stderr could not be kept: {error.path}: {error.problem}"
        if self._file is not None:
            self._file.write(data)
        self.hear(data)

    def hear(self, data: bytes) -> None:
        """Take *data* without keeping it in the raw file."""
        if self._heard < LINES_HEARD:
            self._take(self._splitter.receive_data(data))
        else:
            self._unheard += len(data)

    @property
    def left_out(self) -> str | None:
        """What the log does not have, in words."""
        if not self._dropped and not self._unheard:
            return None
        return f"{self._dropped} more log lines and {self._unheard} bytes of stderr are in the raw file only"

    def blamed(self, attempt: Attempt) -> str:
        """Return why *attempt* failed, with the last error that was logged: of an uncaught exception it is the name."""
        assert attempt.failure is not None
        message = attempt.failure.message
        last = self.last_error if attempt.crashed else None
        return message if last is None else f"{message}: {last}"

    def close(self) -> None:
        """Hear the end of it. Idempotent."""
        self._take(self._splitter.receive_eof())
        if self._file is not None:
            self._file.close()

    def _take(self, items: list[LogLine | bytes]) -> None:
        self._heard += len(items)
        for item in items:
            if isinstance(item, bytes):
                self._publish(StderrLine(one_line(item[:RAW_SHOWN].decode("utf-8", "backslashreplace"))))
            elif (progress := _progress(item)) is not None:
                self._publish(progress)
            else:
                self._keep(item)
        if self._say is not None and self.written < len(self.lines) and self._say(self.pid, self.unwritten):
            self.written = len(self.lines)

    @property
    def unwritten(self) -> Iterable[Timed]:
        """The lines that are not in the log yet, to be gone through once. Nothing is copied if nobody does."""
        return islice(self.lines, self.written, None)

    def add(self, records: Iterable[Any]) -> None:
        """Take the log records of a reply, behind all that came by stderr. One without a message is shown whole."""
        for record in records:
            self._keep(line_of(record) or LogLine("INFO", "log record", {"record": record}))

    def _keep(self, line: LogLine) -> None:
        self._publish(Logged(line.level, one_line(line.message), line.context))
        if line.level in ("ERROR", "CRITICAL"):
            self.last_error = redact(one_line(line.message[:RAW_SHOWN]))
        if len(self.lines) < LINES_KEPT:  # as much of each as the log will show
            self.lines.append((datetime.now(UTC), LogLine(line.level, said(line)[: RENDER_LIMIT + 1])))
        else:
            self._dropped += 1


def replayed(path: Path) -> list[LogLine]:
    """Return the lines for the log that the raw file *path* holds. Raises OSError."""
    log = WorkerLog(path, lambda _: None)
    with path.open("rb") as file:
        while data := file.read(READ_SIZE):
            log.hear(data)
    log.close()
    return [line for _, line in log.lines]


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
            return FileProgress(one_line(path), one_line(status), index + 1, count)
        case _:
            return None
