"""Where pictures and whole outputs are kept: the user's directory, or a private one that is kept if it is used."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

PREFIX = "plughost-console-"


class OutputDirectory:
    """Its *path*. A private one stays: whoever was told of a file in it may want to see it afterwards."""

    def __init__(self, named: Path | None) -> None:
        self._is_private = named is None
        self.path = named.absolute() if named is not None else Path(tempfile.mkdtemp(prefix=PREFIX))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_private:
            with suppress(OSError):  # there is something in it
                os.rmdir(self.path)
