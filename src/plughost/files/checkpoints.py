"""Checkpoints: the places where long work on files may be broken off by Ctrl-C, with nothing half done.

Theory of operation. An exception that comes between any two instructions, as that of Ctrl-C usually does, can come
between the opening of a descriptor and its being noted, and then nobody ever closes it. So the signal is put off while
work is done, and the work asks now and then whether it is to go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Here(threading.local):
    check: Callable[[], None] | None = None


_here = _Here()


def checkpoint() -> None:
    """Let this thread's work be broken off here: raises what whoever ordered it has to raise, if anything."""
    if _here.check is not None:
        _here.check()


@contextmanager
def checked(check: Callable[[], None] | None) -> Iterator[None]:
    """Have every checkpoint of this thread call *check* meanwhile, or nothing if it is None."""
    before, _here.check = _here.check, check
    try:
        yield
    finally:
        _here.check = before
