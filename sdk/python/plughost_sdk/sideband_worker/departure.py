"""Turns the end of a session into an exit that takes place: threads and exit handlers get their time, and no more."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, start_new_thread
from time import sleep  # now: user code may put something else in its place

from .interrupt import invoke, wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ASKED_S = 1.5  # from the host's session_end, or its own end, to the exit: it waits for two
EXIT_S = 10.0  # from the user's own sys.exit: threads may have something to finish
THREADS_S = 0.5  # of the former, for threads that are no daemons; what is left is for exit handlers
OWN_THREADS_S = 8.0  # of the latter
BACKSTOP_S = 0.3  # after that, for code that lets no other thread run


def leave_by(seconds: float, last_words: Callable[[], None], status: int) -> None:
    """Exit with *status* after *seconds* at the latest, after *last_words*."""

    def leave() -> None:
        sleep(seconds)
        last_words()
        os._exit(status)

    start_new_thread(leave, ())
    try:
        import faulthandler

        nowhere = open(os.devnull, "w")  # noqa: SIM115  - it is needed to the end
        _kept.append(nowhere)
        faulthandler.dump_traceback_later(seconds + BACKSTOP_S, exit=True, file=nowhere)
    except (ImportError, OSError, RuntimeError):
        pass


_kept: list[object] = []


def depart(*, in_haste: bool) -> None:
    """Wait for threads, a while; then run the exit handlers. An interrupt ends it."""
    if "threading" in sys.modules:
        done = allocate_lock()
        done.acquire()
        start_new_thread(_await_threads, (done,))
        wait(done.acquire, True, THREADS_S if in_haste else OWN_THREADS_S)
    import atexit

    invoke(atexit._run_exitfuncs)


def _await_threads(done: object) -> None:
    import threading

    try:
        for call in reversed(getattr(threading, "_threading_atexits", ())):
            call()  # what the executors of concurrent.futures rely on to stop their threads
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.main_thread():
                thread.join()
    finally:
        done.release()  # type: ignore[attr-defined]
