"""Entries of the process table, read from /proc. Linux only.

A process whose first thread has ended is a zombie by its state, and /proc shows neither its environment nor its
descriptors. It is alive as long as it has another thread, and the files of that thread show both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from . import proc_file

_DEAD = b"ZX"


class Entry(NamedTuple):
    """One process, or one thread, which has a number of the same kind."""

    pid: int
    state: bytes
    parent: int
    group: int
    session: int
    threads: int
    started: int  # in the kernel's ticks

    @property
    def is_dead(self) -> bool:
        return self.state in _DEAD and self.threads < 2

    def read(self, name: str) -> bytes:
        """Return the file *name* below /proc/PID, or that of another thread; b"" if none may be seen."""
        for directory in self.directories():
            with suppress(OSError):
                if data := proc_file.read(f"{directory}/{name}"):
                    return data
        return b""

    def directories(self) -> Iterator[str]:
        """Yield where the files of this process are: those of every other thread if the first has ended."""
        if self.state not in _DEAD:
            yield f"/proc/{self.pid}"
            return
        for task in os.listdir(f"/proc/{self.pid}/task"):
            if int(task) != self.pid:
                yield f"/proc/{self.pid}/task/{task}"

    def is_process(self) -> bool:
        """Tell a process from a thread. Raises OSError if it is gone."""
        return f"\nTgid:\t{self.pid}\n".encode() in proc_file.read(f"/proc/{self.pid}/status")


def look_up(pid: int) -> Entry | None:
    """Return the entry of *pid*, None if there is none that we may see."""
    try:
        fields = _fields(pid)
        return Entry(
            pid,
            state=fields[0],
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            threads=int(fields[17]),
            started=int(fields[19]),
        )
    except (OSError, ValueError, IndexError):
        return None


def started_at(pid: int) -> int:
    """Return when *pid* started, in the kernel's ticks; 0 if nobody can tell. Zombies still can."""
    entry = look_up(pid)
    return entry.started if entry is not None else 0


def exit_status_of(pid: int) -> int | None:
    """Return the wait status of the zombie *pid*, None if nobody can tell: it need not be ours to wait for now."""
    with suppress(OSError, ValueError, IndexError):
        fields = _fields(pid)
        return int(fields[49]) if fields[0] in _DEAD else None
    return None


def every_pid() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def newest_pid() -> int:
    """Return the process id that was given out last."""
    return int(proc_file.read_line("/proc/loadavg").rsplit(None, 1)[-1])


def _fields(pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat after the command: state, parent, group, session, …"""
    return proc_file.read_line(f"/proc/{pid}/stat").rpartition(b")")[2].split()
