"""Ctrl-C -> KeyboardInterrupt while a person types, a number while code runs. Never comes between two lines of ours."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

LOOK_S = 0.1  # a person takes it for at once, and it costs next to nothing


class Keyboard:
    """Holds SIGINT while it is entered, by the main thread."""

    def __init__(self) -> None:
        self._presses = 0
        self._raises = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def typing(self) -> Iterator[None]:
        """Let Ctrl-C raise KeyboardInterrupt, as `raising` does, while C code waits for a key.

        Python sees to a signal that interrupts such a wait, and not to one that comes just before: that one would be
        felt with the next key. So the wait is interrupted now and then.
        """
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        alarm = signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
        try:
            with self.raising():
                yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)  # first: one that nobody holds would end us
            signal.signal(signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, *alarm)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Let Ctrl-C raise KeyboardInterrupt, once: a second one must not come into the midst of what follows."""
        self._presses = 0
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    @property
    def is_pressed(self) -> bool:
        """Whether it was pressed since it was last taken."""
        return self._presses > 0

    def take(self) -> int:
        """Return how often it was pressed since the last time."""
        presses, self._presses = self._presses, 0
        return presses

    def _press(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._raises:
            self._raises = False
            raise KeyboardInterrupt
        self._presses += 1
