"""What outlives a plugin: found by its marker, its session, or the pipe it holds, and ended. Linux only.

Theory of operation. A descendant can leave the process group (setsid), lose its parent (double fork) and
close its pipes, but its environment still carries the run's marker, and its process id is newer than the
plugin's. So only processes newer than the plugin are looked at. One that also wipes its environment is
found while it stays in the plugin's session or holds one of its pipes; one that does all of it is found by
nothing short of a sandbox. Signals go through pidfds, so a recycled process id is never hit.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress

from ..autopsy import Survivor
from .environment import MARKER

PASSES = 20  # a survivor may fork while it is being ended: look again, this often at most
RANGE_LIMIT = 4_096  # process ids given out since the plugin started that are looked through as a range
FEW = 64  # of them that are tried out one by one
COMMAND_SHOWN = 120  # characters of a survivor's command line

supported = os.path.isdir("/proc/self") and hasattr(os, "pidfd_open")


def find(
    run: str, plugin_pid: int, skip: Collection[int], pipes: Collection[str], *, end: bool
) -> list[Survivor]:
    """Return what outlived the plugin, and end it if *end*.

    *skip* are processes known to be innocent; *pipes* are the names, as in /proc/PID/fd, of the plugin's
    pipes that somebody still holds.
    """
    found: dict[int, Survivor] = {}
    for _ in range(PASSES):
        fresh = [pid for pid in _candidates(plugin_pid, skip) if pid not in found or end]
        hits = [pid for pid in fresh if _belongs(pid, run, plugin_pid) or (pipes and _holds(pid, pipes))]
        if not hits or (not end and found):
            break
        for pid in hits:
            found.setdefault(pid, Survivor(pid, _command(pid), ended=end))
            if end:
                _kill(pid, run, plugin_pid, pipes)
    return list(found.values())


def _candidates(plugin_pid: int, skip: Collection[int]) -> list[int]:
    """Return the processes that are newer than the plugin, and not known to be innocent.

    Process ids rise, so where few were given out since the plugin started, those few are tried out one by one;
    listing a process table of hundreds would cost more than the call.
    """
    newest = _last_pid()
    if plugin_pid < newest <= plugin_pid + RANGE_LIMIT:
        few = [pid for pid in range(plugin_pid + 1, newest + 1) if pid not in skip]
        if len(few) <= FEW:
            return few
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    wrapped = newest < plugin_pid
    return [pid for pid in pids if (wrapped or pid > plugin_pid) and pid != plugin_pid and pid not in skip]


def _last_pid() -> int:
    with open("/proc/loadavg") as file:
        return int(file.read().rsplit(None, 1)[-1])


def _belongs(pid: int, run: str, plugin_pid: int) -> bool:
    with suppress(OSError, ValueError, IndexError):
        state, _, group, session = _stat(pid)
        return state not in b"ZX" and (plugin_pid in (group, session) or _marked(pid, run))
    return False


def _marked(pid: int, run: str) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return f"{MARKER}={run}".encode() in file.read().split(b"\0")
    return False  # not ours to read: another user's, or one that made itself unreadable


def _stat(pid: int) -> tuple[bytes, int, int, int]:
    """Return state, parent, process group and session of *pid*."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return fields[0], int(fields[1]), int(fields[2]), int(fields[3])


def _holds(pid: int, pipes: Collection[str]) -> bool:
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{name}") in pipes:
                    return True
    return False


def _command(pid: int) -> str:
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read(4096).replace(b"\0", b" ").decode("utf-8", "replace").strip()
        return "".join(c if c.isprintable() else "?" for c in words)[:COMMAND_SHOWN] or "?"
    return "?"


def _kill(pid: int, run: str, plugin_pid: int, pipes: Collection[str]) -> None:
    with suppress(OSError):
        pidfd = os.pidfd_open(pid)
        try:  # look again: only now is it certain that the number still means the same process
            if _belongs(pid, run, plugin_pid) or (pipes and _holds(pid, pipes)):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        finally:
            os.close(pidfd)
