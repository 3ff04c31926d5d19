"""Lines for whoever has started us -> standard error, by a thread of its own. Holds up nobody; drops what is too much.

Somebody may start the server and never read what it says, or go away: neither is a reason to stop serving. So lines
wait in a bounded queue, those that find it full are counted, and a descriptor that is lost is not used again.
"""

from __future__ import annotations

import fcntl
import logging
import os
import queue
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...messages.quoting import one_line

LINES = 256  # that wait to be written
LINE_CHARS = 1_000  # of one: some say what a client or a plugin has said
TRACEBACK_LINES = 60  # of a bug, the last ones
FLUSH_S = 1.0  # for the last lines to be taken when all is over


class StandardError:
    """The descriptor *fd*, written to in the background."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
        self._waiting: queue.Queue[bytes | threading.Event | None] = queue.Queue(LINES)
        self._dropped = 0
        self._counting = threading.Lock()
        threading.Thread(target=self._run, name="mcp-stderr", daemon=True).start()

    def report(self, line: str) -> None:
        """Write *line*, soon, on one line of the server's."""
        shown = one_line(line)
        if len(shown) > LINE_CHARS:
            shown = f"{shown[:LINE_CHARS]}…"
        try:
            self._waiting.put_nowait(f"plughost mcp: {shown}\n".encode(errors="backslashreplace"))
        except queue.Full:
            with self._counting:
                self._dropped += 1

    def flush(self, seconds: float = FLUSH_S) -> bool:
        """Wait until all that was reported is written, or lost; tell whether it is."""
        written = threading.Event()
        try:
            self._waiting.put(written, timeout=seconds)
        except queue.Full:
            return False
        return written.wait(seconds)

    def close(self) -> None:
        """End, once what waits is written. Whoever does not read that keeps it from its end, and us from nothing."""
        with suppress(queue.Full):
            self._waiting.put_nowait(None)

    def _run(self) -> None:
        usable = True
        while (item := self._waiting.get()) is not None:
            with self._counting:
                dropped, self._dropped = self._dropped, 0
            if dropped:
                usable = usable and self._written(f"plughost mcp: {dropped} lines were dropped\n".encode())
            if isinstance(item, bytes):
                usable = usable and self._written(item)
            else:
                item.set()
        os.close(self._fd)

    def _written(self, data: bytes) -> bool:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                waiting = select.poll()
                waiting.register(self._fd, select.POLLOUT)
                waiting.poll()
            except OSError:
                return False
        return True


class _Handler(logging.Handler):
    """What the SDK and the web server log, as lines of ours: clients decide what some of it says."""

    def __init__(self, lines: StandardError) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.report(record.getMessage())
            if record.exc_info:
                traceback = logging.Formatter().formatException(record.exc_info)
                for line in traceback.splitlines()[-TRACEBACK_LINES:]:
                    self._lines.report(line)
        except Exception:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's own name
        """Say that there was something to say: logging would write to standard error itself."""
        self._lines.report(f"a remark of {record.name} could not be spelled")


@contextmanager
def taken() -> Iterator[StandardError]:
    """Yield standard error, with all that is logged on it too. What nobody reads in the end is lost."""
    lines = StandardError()
    handler = _Handler(lines)
    root = logging.getLogger()
    root.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield lines
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        lines.flush()
        lines.close()
