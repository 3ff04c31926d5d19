"""A lock that one thread holds nearly all the time -> a turn for whoever else wants it. Knows nothing of the work.

Theory of operation. Whoever gives a lock up for a moment and takes it again has it back before anybody who slept has
woken: that takes ten times as long. So a plugin that talks without end would keep the thread that reads it in
possession, and all others waiting for tenths of a second. Therefore whoever is about to take the lock says so, and the
holder, when it has given it up, waits until one of them is in.

The lock itself is taken and given back by its own `with`, which no exception of a signal's handler can come between; a
wish that is torn from its owner so is forgotten when nobody comes.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident

WAY_S = (
    0.01  # for which the holder waits at most: waking takes a hundredth of that, unless the machine is busy
)


class Turn:
    """Who wants a lock, and whether one of them has it."""

    __slots__ = ("_entered", "_wanting")

    def __init__(self) -> None:
        self._wanting: set[object] = set()  # those who are about to take it
        self._entered = allocate_lock()  # taken, until somebody is in
        self._entered.acquire()

    def want(self, one: object = None) -> None:
        """This thread, or whoever else *one* is, takes the lock next, and says `has_come` then."""
        self._wanting.add(get_ident() if one is None else one)

    def has_come(self, one: object = None) -> None:
        """Let the holder take the lock again, as soon as it is free. The lock is held."""
        if self._wanting:
            me = get_ident() if one is None else one
            if me in self._wanting:
                self._wanting.discard(me)
                if self._entered.locked():
                    self._entered.release()

    def make_way(self) -> None:
        """Let one of those in who want it. For the usual holder, who has just given the lock up."""
        if self._wanting and not self._entered.acquire(timeout=WAY_S):
            self._wanting.clear()
