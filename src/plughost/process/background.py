"""Background thread whose end can be polled through a descriptor. Linux only."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable


class Background:
    """Runs *work*, which must not raise. Without a thread or a descriptor to be had, at once and here."""

    __slots__ = ("_thread", "fd")

    def __init__(self, work: Callable[[], None]) -> None:
        self.fd: int | None = None
        self._thread: threading.Thread | None = None
        try:
            self.fd = fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._thread = threading.Thread(target=_run, args=(work, fd), name="plughost-search", daemon=True)
            self._thread.start()
        except (OSError, RuntimeError):
            self._thread = None
            self.close()
            work()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Let go of the descriptor, when the work is over."""
        self.join()
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def _run(work: Callable[[], None], fd: int) -> None:
    try:
        work()
    finally:
        os.eventfd_write(fd, 1)


def is_readable(fd: int, within_s: float = 0.0) -> bool:
    """Tell whether *fd* can be read from now, or *within_s* seconds."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(within_s * 1000))
