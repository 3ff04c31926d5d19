"""The values that are merged in one run, one by one -> whether there may be more. Refuses those over the limit.

YAML is read and written at some five thousand values a second, because what was written is read once more. So it is
values that are counted, not bytes: a list of digits takes forty times as long as a text of its length.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from .structure import Text

VALUES_LIMIT = (
    15_000  # values and keys of one run: three seconds, or six where comments or quotes are given up
)
TEXT_VALUES = 5  # what a text costs besides: setting the reader up takes as long as five values


class Budget:
    """What one run may still merge. *check* is called with every value; what it raises is let through."""

    def __init__(self, check: Callable[[], None] | None = None) -> None:
        self._check = check
        self._left = VALUES_LIMIT
        self.stop: BaseException | None = None  # what the check raised: no fault of any text

    def spend(self, text: Text, values: int = 1) -> None:
        """Count *values* of *text*. Raises FragmentError if there are too many, and what the check raises."""
        self.foresee(text, values)
        self._left -= values

    def foresee(self, text: Text, values: int) -> None:
        """Do as `spend` would, and count nothing yet."""
        if self._check is not None:
            try:
                self._check()
            except BaseException as stop:
                self.stop = stop
                raise
        if values > self._left:
            problem = f"over {VALUES_LIMIT} values and keys to be merged in one run, aliases written out"
            raise text.wrong(problem, "Generate less, or append or replace")

    def unlimited(self) -> Budget:
        """Return a budget with the same check, for what has been counted before."""
        budget = Budget(self._check)
        budget._left = sys.maxsize
        return budget
