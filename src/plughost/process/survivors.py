"""What outlives a plugin: found by its marker, its session, or the pipe it holds, and ended. Linux only.

Theory of operation. A descendant can leave the process group (setsid), lose its parent (double fork) and
close its pipes, but its environment still carries the run's marker, and it started after the plugin. One that
also wipes its environment is found while it stays in the plugin's session or holds the plugin's end of
one of its pipes; one that does all of it is found by nothing short of a sandbox. Innocents must never be hit:
this process is never looked at, our own ends of the pipes (which a forked copy of the application also holds) do
not count, and signals go through pidfds, so a recycled process id means nothing.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from ..autopsy import Survivor
from . import proc_file
from .environment import MARKER

PASSES = 20  # a survivor may fork while it is being ended: look again, this often at most
GONE_MS = 500  # how long the killed are waited for, each pass, so that they are gone when a call returns
RANGE_LIMIT = 4_096  # process ids given out since the plugin started that are looked through as a range
FEW = 64  # of them that are tried out one by one
EXEC_S = 0.2  # an exec takes a millisecond; a child that has no environment at all costs this once
COMMAND_SHOWN = 120  # characters of a survivor's command line

supported = os.path.isdir("/proc/self") and hasattr(os, "pidfd_open")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a run's descendants can be known by.

    *written* and *read* are the pipes, as named in /proc/PID/fd, that the plugin writes to and reads from and that
    somebody still holds. *since* is when the plugin started, in the kernel's ticks; 0 if that is not known.
    """

    run: str
    plugin_pid: int
    written: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    since: int = 0


def find(trace: Trace, skip: Collection[int], *, end: bool) -> list[Survivor]:
    """Return what outlived the plugin, and end it if *end*. *skip* are processes known to be innocent.

    Where the system does not let us look, nothing is found.
    """
    found: dict[int, Survivor] = {}
    with suppress(OSError, ValueError):
        for _ in range(PASSES):
            hits = [pid for pid in _candidates(trace.plugin_pid, skip) if _belongs(pid, trace)]
            fresh = [pid for pid in hits if pid not in found]
            found |= {pid: Survivor(pid, _command(pid), ended=end) for pid in fresh}
            if not hits or not end:
                break
            _end(hits, trace)
    return list(found.values())


def sweep(run: str) -> list[int]:
    """End every process that carries the marker of *run*, and return their ids: a launch was interrupted."""
    trace = Trace(run, plugin_pid=-1)
    marked: list[int] = []
    with suppress(OSError, ValueError):
        _await_execs()
        marked = [pid for pid in _every_pid() if pid != os.getpid() and _belongs(pid, trace)]
        _end(marked, trace)
    return marked


def _await_execs() -> None:
    """Wait until no child of ours is in the middle of its exec, where it shows no environment yet; bounded.

    A vfork gives us back control when the child has let go of our memory, which is before it has its own variables.
    """
    until = time.monotonic() + EXEC_S
    while time.monotonic() < until and any(map(_in_exec, _every_pid())):
        time.sleep(0.001)


def _in_exec(pid: int) -> bool:
    with suppress(OSError, ValueError, IndexError):
        fields = _stat(pid)
        if int(fields[1]) == os.getpid() and fields[0] not in b"ZX":
            return not proc_file.read(f"/proc/{pid}/environ")
    return False


def started_at(pid: int) -> int:
    """Return when *pid* started, in the kernel's ticks; 0 if nobody can tell. Zombies still can."""
    with suppress(OSError, ValueError, IndexError):
        return int(_stat(pid)[19])
    return 0


def _candidates(plugin_pid: int, skip: Collection[int]) -> list[int]:
    """Return the processes that may be newer than the plugin, and are not known to be innocent.

    Process ids rise, so where few were given out since the plugin started, those few are tried out one by one;
    listing a process table of hundreds would cost more than the call.
    """
    newest, ours = _last_pid(), os.getpid()
    # If it is the newest itself, there is nobody to look at: its number is not given out again while it is not reaped.
    if plugin_pid <= newest <= plugin_pid + RANGE_LIMIT:
        few = [pid for pid in range(plugin_pid + 1, newest + 1) if pid not in skip and pid != ours]
        if len(few) <= FEW:
            return few
    wrapped = newest < plugin_pid
    return [
        pid
        for pid in _every_pid()
        if (wrapped or pid > plugin_pid) and pid not in (plugin_pid, ours) and pid not in skip
    ]


def _every_pid() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _last_pid() -> int:
    return int(proc_file.read("/proc/loadavg").rsplit(None, 1)[-1])


def _belongs(pid: int, trace: Trace) -> bool:
    with suppress(OSError, ValueError, IndexError):
        fields = _stat(pid)
        state, group, session, started = fields[0], int(fields[2]), int(fields[3]), int(fields[19])
        if state in b"ZX" or started < trace.since:
            return False
        related = trace.plugin_pid in (group, session) or _marked(pid, trace.run) or _holds(pid, trace)
        return related and _is_process(pid)
    return False


def _stat(pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat after the command: state, parent, group, session, …"""
    return proc_file.read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _is_process(pid: int) -> bool:
    """Tell a process from a thread, which has a number of the same kind."""
    return f"\nTgid:\t{pid}\n".encode() in proc_file.read(f"/proc/{pid}/status")


def _marked(pid: int, run: str) -> bool:
    with suppress(OSError):
        return f"{MARKER}={run}".encode() in proc_file.read(f"/proc/{pid}/environ").split(b"\0")
    return False  # not ours to read: another user's, or one that made itself unreadable


def _holds(pid: int, trace: Trace) -> bool:
    """Tell whether *pid* holds the plugin's end, not ours, of one of its pipes."""
    if not trace.written and not trace.read:
        return False
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError, ValueError):
                pipe = os.readlink(f"/proc/{pid}/fd/{name}")
                if (pipe in trace.written and _mode(pid, name) != os.O_RDONLY) or (
                    pipe in trace.read and _mode(pid, name) != os.O_WRONLY
                ):
                    return True
    return False


def _mode(pid: int, fd: str) -> int:
    with open(f"/proc/{pid}/fdinfo/{fd}", "rb") as file:
        flags = next(line.split()[1] for line in file if line.startswith(b"flags:"))
    return int(flags, 8) & os.O_ACCMODE


def _command(pid: int) -> str:
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read(4096).replace(b"\0", b" ").decode("utf-8", "replace").strip()
        return "".join(c if c.isprintable() else "?" for c in words)[:COMMAND_SHOWN] or "?"
    return "?"


def _end(pids: list[int], trace: Trace) -> None:
    """Kill *pids*, and wait a moment until they are gone."""
    poll = select.poll()
    opened = []
    try:
        for pid in pids:
            with suppress(OSError):
                opened.append(pidfd := os.pidfd_open(pid))
                if _belongs(
                    pid, trace
                ):  # only now is it certain that the number still means the same process
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                    poll.register(pidfd, select.POLLIN)
        waiting = len(opened)
        while waiting > 0 and (gone := poll.poll(GONE_MS)):
            for fd, _ in gone:
                poll.unregister(fd)
            waiting -= len(gone)
    finally:
        for fd in opened:
            os.close(fd)
