"""Keeps a process from writing outside given directories: Landlock, on Linux, without privileges.

Theory of operation. Landlock confines a thread, and whatever that thread starts. So a confined plugin is started by
a thread of its own, which confines itself, starts the plugin and ends: the host itself is never confined, and the
plugin is from before its first instruction, whatever language it is written in. Only writing is governed: creating,
changing, removing and truncating files. Reading is not, nor are the mode, times and attributes of files elsewhere.
Where the kernel can, a confined plugin can also send no signal to its host, or to anybody but its own children.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

SCOPES = 6  # the first version that can keep a process from signalling others
NO_THREAD_S = 1.0  # to wait for a thread of which nobody can tell whether it was started
LOWEST = 3  # the first version that also governs truncation; without that a file can still be emptied

# System calls, the same numbers on every architecture, and the constants they take.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_SIGNALS = 1 << 1  # to processes that are not confined like itself
_NO_NEW_PRIVILEGES = 38  # to prctl: the kernel insists

_WRITE, _TRUNCATE = 1 << 1, 1 << 14
# Beside these: remove (4, 5), make a directory, file, socket, FIFO, device or link (6 to 12), move between (13).
_CHANGE = _WRITE | _TRUNCATE | sum(1 << bit for bit in range(4, 14))


@cache
def version() -> int:
    """Return the version of Landlock that the kernel speaks, 0 for none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)))


def available() -> bool:
    """Tell whether a plugin can be confined here."""
    return version() >= LOWEST


def confined(writable: Sequence[Path], start: Callable[[], T]) -> T:
    """Return what *start* returns; what it starts can write to *writable* and below only.

    Raises OSError if the kernel refuses, and what *start* raises.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    running = _thread.allocate_lock()

    def run() -> None:
        try:
            _confine_thread(writable)
            results.append(start())
        except BaseException as error:  # raised where it can be caught
            errors.append(error)
        finally:
            running.release()

    # By hand: `threading` wakes us once more, when the thread has begun, and on a busy machine we then wait our turn.
    running.acquire()
    try:  # from here on an interrupt finds a thread, unless there are too many already
        _thread.start_new_thread(run, ())
        running.acquire()
    except BaseException as error:  # an interrupt: the thread ends all the same, and soon
        if not results and not errors:
            running.acquire(timeout=NO_THREAD_S if isinstance(error, RuntimeError) else -1)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _confine_thread(writable: Sequence[Path]) -> None:
    import ctypes

    libc = _libc()
    scoped = _SIGNALS if version() >= SCOPES else None
    fields = (_CHANGE,) if scoped is None else (_CHANGE, 0, scoped)  # files, network, scopes
    handled = (ctypes.c_uint64 * len(fields))(*fields)
    size = ctypes.c_size_t(ctypes.sizeof(handled))
    ruleset = _checked(libc.syscall(_CREATE_RULESET, ctypes.byref(handled), size, 0))
    try:
        for path in writable:
            _allow(ruleset, path)
        _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path) -> None:
    import ctypes

    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = _CHANGE if os.path.isdir(path) else _WRITE | _TRUNCATE
        rule = rights.to_bytes(8, sys.byteorder) + fd.to_bytes(4, sys.byteorder)
        _checked(_libc().syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0))
    finally:
        os.close(fd)


@cache
def _libc() -> Any:
    import ctypes

    # PyDLL: the calls take microseconds, and whoever lets go of the interpreter meanwhile may wait to get it back.
    return ctypes.PyDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        import ctypes

        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result
