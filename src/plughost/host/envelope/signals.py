"""Signals that would end us, put off while something is put right that must not be left by halves."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from ...files.checkpoints import checked

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put off what asks this thread to end; it is delivered afterwards. SIGKILL cannot be put off."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        with checked(None):
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
