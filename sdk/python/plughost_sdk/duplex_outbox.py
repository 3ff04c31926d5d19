"""Frames on their way to the host: writes them whole and in order, whoever is interrupted. Knows nothing of messages.

Theory of operation: what is to be sent is put into `unsent` by an assignment, and stays there until it was written. So
an exception, which a signal handler may raise at any call, leaves a frame to be begun or finished by whoever writes
next. The lock is held for as long as the pipe takes something, never while it is full: nobody waits for the lock long,
and no frame waits for a thread that waits for something else. See `duplex_step` on where a signal handler may come.
"""

from __future__ import annotations

import os
import stat
import sys
from _thread import allocate_lock

from .duplex_error import HostGone, is_of_the_sdk
from .duplex_inbox import QUEUE_LIMIT
from .duplex_step import step, step_with

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .duplex_inbox import Inbox

WRITE_SIZE = 4_096  # bytes: PIPE_BUF. What is ready takes so many without blocking
CLOSED = -1  # in place of a descriptor
ALONE_WAIT = 1  # milliseconds between two looks at what another thread is doing
NOBODY = 0  # in place of a thread: no thread has this number


class Outbox:
    """What goes out over *fd*. A frame is put in with `unsent += (frame,)`; then `write`, and `drain` what is left."""

    __slots__ = (
        "_done",
        "_drainers",
        "_held",
        "_holder",
        "_promised",
        "_sink",
        "_turn",
        "fd",
        "is_lost",
        "is_shared",
        "unsent",
    )

    def __init__(self, fd: int) -> None:
        self.fd = fd
        # What cannot be written at once is written while we read. A file or a terminal is always ready, and a
        # terminal is not ours alone to change.
        if stat.S_IFMT(os.fstat(fd).st_mode) in (stat.S_IFIFO, stat.S_IFSOCK):
            os.set_blocking(fd, False)
            self._sink = step_with(fd, os.write)
        else:
            self._sink = step_with(fd, _write_if_ready)
        # Threads write in turn. The one that serves takes no lock as long as it is the only one: looking and going on
        # is one step, if no two threads run at once.
        self.is_shared = not getattr(sys, "_is_gil_enabled", _always)()
        self.is_lost = False  # the host does not read any more
        self.unsent: list[bytes | memoryview] = []  # the first may have been begun
        self._done = 0  # frames that were sent
        self._promised = 0  # frames to be sent before a thread that was interrupted goes on
        self._held = 0  # bytes of those
        self._turn = _turn()
        self._holder = NOBODY  # the thread that writes: its number, or that below 0 if it has the lock
        self._drainers: set[int] = set()

    def is_busy(self, me: int) -> bool:
        """Tell whether the thread *me* is writing: this is a signal handler that has interrupted it."""
        return self._holder in (me, -me) or me in self._drainers

    def hold(self, frame: bytes) -> None:
        """Have *frame* sent by this thread, which is writing, before it goes on."""
        if len(self.unsent) < 2:
            self._held = 0
        if self._held > QUEUE_LIMIT:
            raise RuntimeError(
                f"signal handlers have written over {QUEUE_LIMIT} bytes that the host does not read"
            )
        self._held += len(frame)
        self.unsent += (frame,)
        self._promised = self._done + len(self.unsent)

    def write(self, me: int) -> None:
        """Write what can be written without waiting, nearly always all of it."""
        unsent = self.unsent
        if not self.is_shared:
            self._holder = me
        elif self._holder != -me:
            self._write_in_turn(me)
            return
        try:
            while unsent:
                first = unsent[0]
                size = len(first)
                written = self._sink @ first
                if written < size:
                    unsent[0] = first[written:]
                    unsent[0] = memoryview(unsent[0])  # which is cut without copying
                    return
                del unsent[0]
                self._done += 1
        except OSError as error:
            if not is_of_the_sdk(error):
                raise  # it has nothing to do with the wire: a signal handler raised it
            if self.fd == CLOSED:
                raise HostGone("this is a fork of the plugin, which does not hold the wire") from None
            if not isinstance(error, BlockingIOError):
                self.is_lost = True
                del unsent[:]
                raise
        finally:
            self._holder = NOBODY

    def _write_in_turn(self, me: int) -> None:
        import select

        while self._holder > NOBODY:  # the thread that was alone has begun to write without the lock
            select.poll().poll(ALONE_WAIT)
        take, release = self._turn
        if take @ True:
            self._holder = -me
            try:
                self.write(me)
            finally:
                self._holder = NOBODY
                release()

    def drain(self, me: int, inbox: Inbox | None) -> None:
        """Write all that is there now, waiting for the host to read; and take in what it sends meanwhile."""
        import select

        outlet, both = select.poll(), select.poll()
        outlet.register(self.fd, select.POLLOUT)
        both.register(self.fd, select.POLLOUT)
        if inbox is not None:
            both.register(inbox.fd, select.POLLIN)
        end = self._done + len(self.unsent)  # others may put in more, without end
        self._drainers |= {me}
        try:
            while self.unsent and (self._done < end or self._done < self._promised):
                reads = inbox is not None and not inbox.has_ended and not inbox.is_full
                ready = dict((both if reads else outlet).poll())
                if self.fd in ready or inbox is None:
                    self.write(me)
                else:
                    inbox.read()
        finally:
            self._drainers -= {me}

    def let_go(self) -> None:
        """Forget all of it: in a fork, what is unsent is another process's, and whoever held the lock is not there."""
        self.fd = CLOSED
        self._sink = step_with(CLOSED, os.write)
        del self.unsent[:]
        self._turn = _turn()
        self._holder = NOBODY
        self._drainers = set()


def _always() -> bool:
    return True


def _turn() -> tuple[Any, Callable[[], None]]:
    """Return how to take a lock and how to give it back."""
    lock = allocate_lock()
    return step(lock.acquire), lock.release


def _write_if_ready(fd: int, data: bytes | memoryview) -> int:
    """Like os.write of a descriptor that does not block."""
    import select

    outlet = select.poll()
    outlet.register(fd, select.POLLOUT)
    if outlet.poll(0):
        return step_with(fd, os.write) @ data[:WRITE_SIZE]  # type: ignore[no-any-return]
    raise BlockingIOError
