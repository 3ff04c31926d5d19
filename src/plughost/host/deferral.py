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
from typing import Any, ParamSpec, Self, TypeVar

from msgspec import Struct

from ..files.checkpoints import checked

try:  # what `signal` wraps: the names that it puts around numbers cost more than all the rest of a call
    _signal = importlib.import_module("_signal")
except ImportError:
    _signal = signal
P = ParamSpec("P")
T = TypeVar("T")

_set, _get = _signal.signal, _signal.getsignal
SIGINT = int(signal.SIGINT)


def _find_main() -> None:
    global _main  # asked for with every call
    _main = main_thread().ident


_main: int | None
_find_main()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_find_main)  # whoever forks is the main thread of the copy


def _nothing() -> None:
    """Do nothing: no wait has to be ended."""


class Deferral(Struct, eq=False):
    """While it is entered by the main thread, SIGINT waits until it is delivered, at its end at the latest.

    *wake* ends a wait.
    """

    wake: Callable[[], None] = _nothing
    is_pending: bool = False
    _is_open: bool = False
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

    def at_checkpoints(self, work: Callable[[], T]) -> T:
        """Return what *work* returns, which may be interrupted at its checkpoints, and before and after it.

        For the thread that has entered.
        """
        self.deliver()
        with checked(self.deliver):
            result = work()
        self.deliver()
        return result

    def interruptible(self, work: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
        """Return what *work* returns, which may be interrupted at any moment, and so may open nothing.

        For the thread that has entered.
        """
        self._is_open = True  # first: a signal that comes after this line is delivered at once
        try:
            self.deliver()
            return work(*args, **keywords)
        finally:
            self._is_open = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.is_pending = True
        if self._is_open:
            self.deliver()
        else:
            self.wake()
