"""Ctrl-C -> KeyboardInterrupt while a person types, a number while code runs. Never comes between two lines of ours."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self


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
