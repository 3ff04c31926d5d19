"""A signal in the middle of work -> the same signal when nothing is half done. Touches only SIGINT, and puts it back.

The exception that follows Ctrl-C may come between any two lines of ours, for instance after something was written and
before that was noted; then nothing would ever be written again.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable
from threading import get_ident, main_thread
from types import FrameType
from typing import Any, Self

from msgspec import Struct

try:  # what `signal` wraps: the names that it puts around numbers cost more than all the rest of a call
    _signal = importlib.import_module("_signal")
except ImportError:
    _signal = signal
_set, _get = _signal.signal, _signal.getsignal
SIGINT = int(signal.SIGINT)


def _find_main() -> None:
    global _main  # asked for with every call
    _main = main_thread().ident


_main: int | None
_find_main()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_find_main)  # whoever forks is the main thread of the copy


class Deferral(Struct, eq=False):
    """While it is entered by the main thread, SIGINT waits until it is delivered, at its end at the latest.

    *wake* ends a wait.
    """

    wake: Callable[[], None]
    is_pending: bool = False
    _before: Callable[[int, FrameType | None], Any] | None = None

    def __enter__(self) -> Self:
        if get_ident() == _main:
            before = _get(SIGINT)
            if callable(before):  # else it is ignored, or ends this process, or is no business of Python's
                _set(SIGINT, self._note)
                self._before = before
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _set(SIGINT, self._before)
            if self.is_pending:
                self.deliver()

    def deliver(self) -> None:
        """Do now what the signal was to do: usually, raise KeyboardInterrupt."""
        if self.is_pending and self._before is not None:
            self.is_pending = False
            self._before(SIGINT, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.is_pending = True
        self.wake()
