"""Something that is done -> the same, stopped as if killed at a chosen call to the system."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

STEPS_LIMIT = 1000  # far more calls than any of this takes
CALLS = [
    "mkdir", "rename", "replace", "unlink", "rmdir", "link", "symlink", "fchmod", "utime", "fchown", "ftruncate",
    "copy_file_range", "pwrite", "fsync", "open",
]  # fmt: skip


def finishes(do: Callable[[], object], step: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Do it, but stop as if killed at call number *step* to the system. Returns whether that many were made."""
    calls = 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > step:
                raise KeyboardInterrupt
            return real(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for name in CALLS:
            if hasattr(os, name):
                patch.setattr(os, name, dying(getattr(os, name)))
        try:
            do()
        except KeyboardInterrupt:
            return False
    return True
