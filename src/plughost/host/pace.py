"""How much is written -> when to look at something else. Writes nothing, and waits for nothing.

A plugin that reads as fast as it is written to would otherwise have the thread for itself until it knows everything
that was ever published for it: meanwhile nobody is heard, not even what it says itself.
"""

from __future__ import annotations

TURN_BYTES = 12_288  # about one chunk as the SDK cuts them, or a hundred calls


class Pace:
    """What was written since others last came first, by all that share it."""

    __slots__ = ("_written",)

    def __init__(self) -> None:
        self._written = 0

    def is_kept(self, written: int) -> bool:
        """Count what was *written*, and tell whether more may follow at once."""
        self._written += written
        if self._written < TURN_BYTES:
            return True
        self._written = 0
        return False
