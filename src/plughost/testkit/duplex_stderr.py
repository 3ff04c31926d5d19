"""What the SDK writes to standard error, kept as text beside being written. Collects nothing of the plugin's own."""

from __future__ import annotations

import sys
from typing import Any, Self


class Stderr:
    """Stands in for standard error while it is entered: `text` is what was written.

    It is `sys.__stderr__` that the SDK writes to, since a command's output may be collected in `sys.stderr`.
    """

    def __init__(self) -> None:
        self.text = ""
        self._below: Any = None

    def __enter__(self) -> Self:
        self._below, sys.__stderr__ = sys.__stderr__, self  # type: ignore[misc, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        if sys.__stderr__ is self:  # type: ignore[comparison-overlap]
            sys.__stderr__ = self._below  # type: ignore[misc]

    def write(self, text: str) -> None:
        self.text += text
        if self._below is not None:
            self._below.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)
