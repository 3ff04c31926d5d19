"""Where pictures and whole outputs are kept: the user's directory, or a private one that is kept if it is used.

A private one that is empty goes, also where SIGTERM or SIGHUP ends us: they end us still, once it is gone.
"""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

PREFIX = "plughost-console-"
ENDS = (signal.SIGTERM, signal.SIGHUP)


class OutputDirectory:
    """Its *path*. A private one stays: whoever was told of a file in it may want to see it afterwards."""

    def __init__(self, named: Path | None) -> None:
        self._is_private = named is None
        self._held: list[signal.Signals] = []
        self._unwanted: Path | None = None
        self.path = named.absolute() if named is not None else Path(tempfile.mkdtemp(prefix=PREFIX))

    def __enter__(self) -> Self:
        # One that is ignored, as under nohup, or that somebody else holds, is left alone.
        self._held = [end for end in ENDS if self._is_private and signal.getsignal(end) is signal.SIG_DFL]
        for end in self._held:
            signal.signal(end, self._end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in self._held:
            signal.signal(end, signal.SIG_DFL)
        self._remove()

    def discard(self, path: Path | None) -> None:
        """Let a file of a private directory, which nobody was told of, go with it: until then it may be written to."""
        if path is not None and path.parent == self.path:
            self._unwanted = path

    def _remove(self) -> None:
        if self._is_private:
            if self._unwanted is not None:
                with suppress(OSError):
                    self._unwanted.unlink()
            with suppress(OSError):  # there is something in it
                os.rmdir(self.path)

    def _end(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._remove()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
