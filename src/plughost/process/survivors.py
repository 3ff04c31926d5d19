"""What outlives a plugin: found by its marker, its session, or the pipe it holds, and ended. Linux only.

Theory of operation. A descendant can leave the process group (setsid), lose its parent (double fork) and
close its pipes, but its environment still carries the run's marker, and it started after the plugin. One that
also wipes its environment is found while it stays in the plugin's session or holds the plugin's end of
one of its pipes; one that does all of it is found by nothing short of a sandbox.

A process that forks and exits all the time has another number whenever it is looked for, so the whole group of
whatever is found is killed: the kernel does that at once for all members, also for those being forked. The plugin's own
group is killed as well, if anything was started since the plugin.

A plugin can make children of its host (CLONE_PARENT). The dead ones among the plugin's group and session are reaped
here. Children of the application cannot be in either, so they are never reaped. One that left both and died cannot be
told from a child of the application, and stays a zombie.

Innocents must never be hit: this process is never looked at, and our own ends of the pipes (which a forked copy of the
application also holds) do not count. A single process is killed through a pidfd, whoever has its number by then. A
group can be killed only by its number. That of the plugin is not given out again while the plugin is a zombie of ours;
if the application has reaped it, the group is left alone. The group of a survivor is killed only if its pidfd shows,
right before, that it is not yet reaped, which keeps the number of its group as well.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache

from ..autopsy import Survivor
from . import proc_file
from .environment import MARKER
from .process_table import Entry, every_pid, look_up, newest_pid, started_at

PASSES = 20  # a survivor may fork while it is being ended: look again, this often at most
CHASES = 2  # looks at the newest processes, at most, as long as newer ones appear: elsewhere they always do
OVERLAP = 2  # processes that are looked at again: a number is given out before its process can be seen
GONE_MS = 500  # how long the killed are waited for, each pass, so that they are gone when a call returns
TRACED_S = 0.5  # how long a plugin that has ended is left to its tracer, which may be a debugger
FEW = 64  # process ids given out since the plugin started that are tried out one by one
PIDS_PER_S = 200_000  # process ids that one processor can use up: a thread takes five microseconds at least
MAX_REPORTED = 100  # survivors of one plugin that are named: a fork bomb has thousands
EXEC_S = 0.2  # an exec takes a millisecond; a child that has no environment at all costs this once
COMMAND_SHOWN = 120  # characters of a survivor's command line

_LOOK_ONLY = os.WEXITED | os.WNOHANG | os.WNOWAIT

supported = os.path.isdir("/proc/self") and hasattr(os, "pidfd_open")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a run's descendants can be known by.

    *written* and *read* are the pipes, as named in /proc/PID/fd, that the plugin writes to and reads from and that
    somebody still holds. *since* is when the plugin started, in the kernel's ticks; 0 if that is not known, or does not
    matter because the process ids tell. *age_s* is how long the plugin lived. *is_reaped* says that the application has
    reaped it, and that its number may be another's.
    """

    run: str
    plugin_pid: int
    written: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    since: int = 0
    age_s: float = 0.0
    is_reaped: bool = False

    def are_ids_in_order(self, newest: int) -> bool:
        """Tell whether all that was started since the plugin has a higher process id, as *newest* is the latest."""
        return self.plugin_pid <= newest and not _may_have_come_round(self.age_s)


class Search:
    """A search for what outlived one plugin, and its end if *end*. *skip* are processes known to be innocent.

    Where the system does not let us look, nothing is found.
    """

    __slots__ = ("_end", "_found", "_seen", "_skip", "_trace")

    def __init__(self, trace: Trace, skip: Collection[int], *, end: bool) -> None:
        self._trace = trace
        self._skip = skip
        self._end = end
        self._found: dict[int, Survivor] = {}
        self._seen: dict[int, int] = {}  # when each that belonged to the run had started

    @property
    def found(self) -> list[Survivor]:
        return list(self._found.values())

    def is_over_at_once(self) -> bool:
        """Look, and tell whether nothing is left to be done that takes time."""
        with suppress(OSError, ValueError):
            newest = newest_pid()
            hits = not self._is_plugin_newest(newest) and self._look_after_new_ones(newest)
            return not self._is_traced() and not (hits and self._end)
        return True

    def finish(self) -> None:
        """End whatever is there until nothing is left; bounded. May take seconds."""
        with suppress(OSError, ValueError):
            for _ in range(PASSES if self._end else 0):
                hits = self._look_after_new_ones(newest_pid())
                if not hits:
                    break
                _kill(hits, self._trace)
        self._wait_for_tracer()

    def _is_plugin_newest(self, newest: int) -> bool:
        """Tell whether nothing at all was started since the plugin, which has ended and cannot start anything now."""
        return newest == self._trace.plugin_pid and self._trace.are_ids_in_order(newest)

    def _look_after_new_ones(self, newest: int) -> list[Entry]:
        """Look, kill the plugin's group, and look at what was started meanwhile: a fork may have slipped away."""
        hits = self._look(newest)
        if self._end:
            self._kill_plugins_group()
            for _ in range(CHASES):
                seen, newest = newest, newest_pid()
                if hits or newest == seen:
                    break
                hits = self._look(newest, after=seen - OVERLAP)
        return hits

    def _look(self, newest: int, after: int | None = None) -> list[Entry]:
        """Return what belongs to the run, and reap what of it is dead and ours to reap."""
        if not self._trace.since and not self._trace.are_ids_in_order(newest):
            since = started_at(self._trace.plugin_pid)
            is_reaped = self._is_reaped()
            self._trace = replace(self._trace, since=0 if is_reaped else since, is_reaped=is_reaped)
        candidates = _candidates(self._trace, self._skip, newest, after)
        return [entry for pid in candidates if (entry := self._look_at(pid)) is not None]

    def _look_at(self, pid: int) -> Entry | None:
        """Return the entry of *pid* if it is a survivor, whose group is killed at once if it is to be ended."""
        # The descriptor comes first: as long as it is of a process that is not reaped, the entry is of that process.
        with suppress(OSError), pidfd_of(pid) as pidfd:
            entry = look_up(pid)
            if entry is None:
                return None
            if entry.is_dead:
                if entry.parent == os.getpid() and self._is_known(entry):
                    _reap(os.P_PIDFD, pidfd)
            elif _belongs(entry, self._trace, pidfd if self._end else None) or self._was_seen(entry):
                self._note(entry)
                return entry
        return None

    def _note(self, entry: Entry) -> None:
        self._seen[entry.pid] = entry.started
        if entry.pid not in self._found and len(self._found) < MAX_REPORTED:
            self._found[entry.pid] = Survivor(entry.pid, _command(entry), ended=self._end)

    def _kill_plugins_group(self) -> None:
        """Kill the plugin's group, unless the application has reaped the plugin: its number may be another's then."""
        with suppress(OSError):
            if not self._is_reaped():
                os.killpg(self._trace.plugin_pid, signal.SIGKILL)

    def _is_reaped(self) -> bool:
        try:
            os.waitid(os.P_PID, self._trace.plugin_pid, _LOOK_ONLY)
        except ChildProcessError:
            return True
        return False

    def _is_known(self, entry: Entry) -> bool:
        """Tell whether *entry*, which is dead, was of the run."""
        in_session = self._trace.plugin_pid in (entry.group, entry.session) and not self._trace.is_reaped
        return in_session or self._was_seen(entry)

    def _was_seen(self, entry: Entry) -> bool:
        """Tell whether *entry* was found before. A process that is exiting shows no environment any more."""
        return self._seen.get(entry.pid) == entry.started

    def _is_traced(self) -> bool:
        """Tell whether the plugin, which has ended, cannot be waited for: another process traces it."""
        with suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._trace.plugin_pid, _LOOK_ONLY) is None
        return False

    def _wait_for_tracer(self) -> None:
        until = time.monotonic() + TRACED_S
        while self._is_traced() and time.monotonic() < until:
            time.sleep(0.005)


def sweep(run: str) -> list[int]:
    """End every process that carries the marker of *run*, and return their ids: a launch was interrupted."""
    trace = Trace(run, plugin_pid=-1)
    marked: list[Entry] = []
    with suppress(OSError, ValueError):
        _await_execs()
        entries = [look_up(pid) for pid in every_pid() if pid != os.getpid()]
        marked = [entry for entry in entries if entry is not None and _belongs(entry, trace)]
        _kill(marked, trace)
    return [entry.pid for entry in marked]


@contextmanager
def pidfd_of(pid: int) -> Iterator[int]:
    """Open a descriptor of the process *pid*. Raises OSError if there is none, or if that is a thread."""
    pidfd = os.pidfd_open(pid)
    try:
        yield pidfd
    finally:
        os.close(pidfd)


def _reap(kind: int, number: int) -> None:
    """Take our dead child from the process table. Whoever is not dead, or not our child, is left alone."""
    with suppress(ChildProcessError):
        os.waitid(kind, number, os.WEXITED | os.WNOHANG)


def _await_execs() -> None:
    """Wait until no child of ours is in the middle of its exec, where it shows no environment yet; bounded.

    A vfork gives us back control when the child has let go of our memory, which is before it has its own variables.
    """
    until = time.monotonic() + EXEC_S
    while time.monotonic() < until and any(map(_in_exec, every_pid())):
        time.sleep(0.001)


def _in_exec(pid: int) -> bool:
    entry = look_up(pid)
    if entry is None or entry.parent != os.getpid() or entry.is_dead:
        return False
    return not entry.read("environ")


def _candidates(trace: Trace, skip: Collection[int], newest: int, after: int | None = None) -> list[int]:
    """Return the processes that may be newer than the plugin, and are not known to be innocent, newest first.

    Process ids rise, so where few were given out since the plugin started (or *after* that number), those few are tried
    out one by one; listing a process table of hundreds would cost more than the call.
    """
    first, innocent = trace.plugin_pid if after is None else after, {*skip, trace.plugin_pid, os.getpid()}
    pids: Sequence[int] = range(newest, first, -1)
    is_range = first <= newest and (after is not None or trace.are_ids_in_order(newest))
    if not is_range or len(pids) > FEW + len(innocent):
        pids = [pid for pid in reversed(every_pid()) if first < pid <= newest or not is_range]
    return list(_in_new_sessions((pid for pid in pids if pid not in innocent), trace, newest))


def _may_have_come_round(age_s: float) -> bool:
    """Tell whether every process id can have been given out once in *age_s* seconds. Then their order says nothing."""
    return age_s >= _shortest_round_s()


@cache
def _shortest_round_s() -> float:
    return _pid_max() / (PIDS_PER_S * (os.cpu_count() or 1))


def _pid_max() -> int:
    with suppress(OSError, ValueError):
        return int(proc_file.read("/proc/sys/kernel/pid_max"))
    return 0


def _in_new_sessions(pids: Iterable[int], trace: Trace, newest: int) -> Iterator[int]:
    """Leave out the members of sessions that are older than the plugin: none of its descendants can be in one."""
    old: dict[int, bool] = {}
    for pid in pids:
        try:
            session = os.getsid(pid)
        except ProcessLookupError:
            continue
        if session not in old:
            old[session] = _is_old(session, trace, newest)
        if not old[session]:
            yield pid


def _is_old(session: int, trace: Trace, newest: int) -> bool:
    """Tell whether *session* is older than the plugin. It has the process id of its first member."""
    if trace.are_ids_in_order(newest):
        return not trace.plugin_pid <= session <= newest
    return 0 < started_at(session) < trace.since


def _belongs(entry: Entry, trace: Trace, pidfd: int | None = None) -> bool:
    """Tell whether *entry* is a living process of the run. If so, and its *pidfd* is given, kill its group at once."""
    if entry.is_dead or entry.started < trace.since:
        return False
    with suppress(OSError):
        is_kin = _is_kin(entry, trace)
        # At once: a moment later it may have forked and be gone. All members of its session descend from the plugin.
        if is_kin and pidfd is not None and entry.session != os.getsid(0):
            signal.pidfd_send_signal(pidfd, 0)  # raises OSError if it is reaped
            os.killpg(entry.group, signal.SIGKILL)
        return (is_kin or _holds(entry, trace)) and entry.is_process()
    return False


def _is_kin(entry: Entry, trace: Trace) -> bool:
    """Tell whether *entry* is in the plugin's group or session, or carries the marker of its run."""
    if trace.plugin_pid in (entry.group, entry.session) and not trace.is_reaped:
        return True
    # Nothing is shown of another user's process, or of one that made itself unreadable.
    return f"{MARKER}={trace.run}".encode() in entry.read("environ").split(b"\0")


def _holds(entry: Entry, trace: Trace) -> bool:
    """Tell whether *entry* holds the plugin's end, not ours, of one of its pipes."""
    if not trace.written and not trace.read:
        return False
    return any(_holds_in(directory, trace) for directory in entry.directories())


def _holds_in(directory: str, trace: Trace) -> bool:
    with suppress(OSError):
        for name in os.listdir(f"{directory}/fd"):
            with suppress(OSError, ValueError):
                pipe = os.readlink(f"{directory}/fd/{name}")
                if (pipe in trace.written and _mode(directory, name) != os.O_RDONLY) or (
                    pipe in trace.read and _mode(directory, name) != os.O_WRONLY
                ):
                    return True
    return False


def _mode(directory: str, fd: str) -> int:
    with open(f"{directory}/fdinfo/{fd}", "rb") as file:
        flags = next(line.split()[1] for line in file if line.startswith(b"flags:"))
    return int(flags, 8) & os.O_ACCMODE


def _command(entry: Entry) -> str:
    words = entry.read("cmdline")[:4096].replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return "".join(c if c.isprintable() else "?" for c in words)[:COMMAND_SHOWN] or "?"


def _kill(entries: list[Entry], trace: Trace) -> None:
    """Kill *entries*, wait a moment until they are gone, and reap those that are our children."""
    poll = select.poll()
    with ExitStack() as opened:
        dying: list[int] = []
        for before in entries:
            with suppress(OSError):
                pidfd = opened.enter_context(pidfd_of(before.pid))
                entry = look_up(before.pid)
                # Only now is it certain that the number still means the same process.
                if entry is None or entry.started != before.started:
                    continue
                if _belongs(entry, trace):  # else it is exiting
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                poll.register(pidfd, select.POLLIN)
                dying.append(pidfd)
        left = len(dying)
        while left and (gone := poll.poll(GONE_MS)):
            for pidfd, _ in gone:
                poll.unregister(pidfd)
            left -= len(gone)
        for pidfd in dying:
            _reap(os.P_PIDFD, pidfd)
