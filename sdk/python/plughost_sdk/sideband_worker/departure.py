"""Turns the end of a session into an exit that takes place: threads and exit handlers get their time, and no more."""

from __future__ import annotations

import atexit
import faulthandler
import sys
from _thread import allocate_lock, start_new_thread
from os import O_WRONLY, _exit, devnull  # now, as the next: user code may put something else in their place
from os import open as open_file
from sys import modules
from time import sleep

from .interrupt import invoke, wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

ASKED_S = 1.5  # from the host's session_end, or its own end, to the exit: it waits for two
EXIT_S = 10.0  # from the user's own sys.exit: threads may have something to finish
THREADS_S = 0.5  # of the former, for threads that are no daemons; what is left is for exit handlers
OWN_THREADS_S = 8.0  # of the latter
BACKSTOP_S = 1.0  # after that, for code that lets no other thread run; a machine may stand still for less


def leave_by(seconds: float, last_words: Callable[[], None], status: int) -> None:
    """Exit with *status* after *seconds* at the latest, after *last_words*."""
    stop_by(seconds)
    try:
        start_new_thread(leave_after, (seconds, last_words, status))
    except (
        RuntimeError
    ):  # no more threads: the exit takes as long as user code wants, unless the backstop has one
        pass


def leave_after(seconds: float, last_words: Callable[[], None], status: int) -> None:
    """Wait *seconds*, then exit with *status* after *last_words*. Does not return."""
    sleep(seconds)
    try:
        last_words()
    finally:
        _exit(status)


def stop_by(seconds: float) -> None:
    """Let the process end soon after *seconds*, even where no other thread of Python's comes to run."""
    try:
        nowhere = open_file(devnull, O_WRONLY)  # never closed: it is needed to the end
        faulthandler.dump_traceback_later(seconds + BACKSTOP_S, exit=True, file=nowhere)
    except Exception:  # noqa: S110  - no descriptor, thread or memory is left for it
        pass


def depart(*, in_haste: bool) -> None:
    """Wait for threads, a while; then run the exit handlers. An interrupt ends it."""
    threading = modules.get("threading")
    if threading is not None:
        done = allocate_lock()
        done.acquire()
        try:
            start_new_thread(_await_threads, (threading, done))
        except RuntimeError:  # no more threads: nobody can wait for those there are
            done.release()
        wait(done.acquire, True, THREADS_S if in_haste else OWN_THREADS_S)
    invoke(atexit._run_exitfuncs)


def _await_threads(threading: ModuleType, done: object) -> None:
    try:
        for call in reversed(getattr(threading, "_threading_atexits", ())):
            call()  # what the executors of concurrent.futures rely on to stop their threads
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.main_thread():
                thread.join()
    finally:
        done.release()  # type: ignore[attr-defined]


def status_of(problem: Any) -> int:
    """Return the status that an exit asks for, as Python does: what is no number is a message, and an error."""
    try:
        code = invoke(getattr, problem, "code")
        if code is None:
            return 0
        if issubclass(type(code), int):
            return int.__and__(code, 0xFF)
        invoke(sys.stderr.write, invoke(str, code) + "\n")
    except BaseException:  # noqa: S110  - nowhere to say it, or nothing to say; it is an exit all the same
        pass
    return 1
