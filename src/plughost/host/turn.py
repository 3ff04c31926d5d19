"""A lock that one thread holds nearly all the time -> a turn for whoever else wants it. Knows nothing of the work.

Theory of operation. Whoever gives a lock up for a moment and takes it again has it back before anybody who slept has
woken: that takes ten times as long. So a plugin that talks without end would keep the thread that reads it in
possession, and all others waiting for tenths of a second. Therefore who finds the lock taken says so, and the holder,
when it has given it up, waits until one of them is in.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock

WAY_S = (
    0.01  # for which the holder waits at most: waking takes a hundredth of that, unless the machine is busy
)


class Turn:
    """The way to *guard* for threads other than its usual holder. A context manager, for the thread that enters."""

    def __init__(self, guard: threading.RLock) -> None:
        self._guard = guard
        self._wanting: set[object] = set()  # those who are about to take it
        self._entered = allocate_lock()  # taken: until somebody is in
        self._entered.acquire()

    def __enter__(self) -> None:
        if self._guard.acquire(False):
            return
        me = object()
        self._wanting.add(me)
        try:
            self._guard.acquire()
        finally:
            self.has_come(me)

    def __exit__(self, *_: object) -> None:
        self._guard.release()

    def expect(self, one: object) -> None:
        """Somebody was woken who takes the guard next, and says then that this *one* has come."""
        self._wanting.add(one)

    def has_come(self, one: object) -> None:
        """Let the holder take the guard again, as soon as it is free. The guard is held."""
        if one in self._wanting:
            self._wanting.discard(one)
            if self._entered.locked():
                self._entered.release()

    def make_way(self) -> None:
        """Let one of those in who want it. For the usual holder, who has just given the guard up."""
        if self._wanting:
            self._entered.acquire(timeout=WAY_S)
