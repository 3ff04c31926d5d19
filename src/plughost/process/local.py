"""Local processes: direct exec of an argument list, own session, three pipes, and an exit that is watched by itself.

Theory of operation. `subprocess.Popen` is used only to start (it vforks, so a host of any size starts a
plugin in a third of a millisecond); everything after that is ours, because Popen's waiting mixes up
exit and pipes. An ended process is first looked at without being reaped: while it is a zombie its process
group cannot be taken by anyone else, so what it left behind can be signalled safely.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import re
import resource
import secrets
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from functools import partial

from ..autopsy import ExitStatus, Survivor
from ..contracts.base import Channel
from ..errors import Unsupported
from ..manifest.binding import Binding
from . import command, environment, landlock, limits, proc_file, process_table, survivors
from .background import Background, is_readable
from .guard import Guard
from .launcher import READ_SIZE

WIDE_PIPE = 1_048_576  # bytes; asked for when a frame does not fit the usual 64 KiB
# Bytes, of the contract whose keys are urgent: what is in a pipe cannot be overtaken, and takes a millisecond to be
# dealt with if it is 64 KiB and as many were read before.
NARROW_PIPE = 16_384
# Bytes, of the same, for a frame that is larger: what plugins read at once. So it is empty whenever one has read, and
# can be narrowed, while one of 1 MiB stays full as long as there is anything to say: then keys took 77 ms and not 3,
# behind chunks of a millisecond each. Large frames take up to a fifth longer for it.
LESS_NARROW_PIPE = 65_536
DUPLEX = "duplex"
SIDEBAND = "sideband"  # the contract that has two pipes more
# What the plugin reads, and what it writes.
READ = (Channel.STDIN, Channel.CONTROL_OUT)
WRITTEN = (Channel.STDOUT, Channel.STDERR, Channel.CONTROL_IN)
VARIABLES = {
    "MCP_CONSOLE_IPC_READ_FD": Channel.CONTROL_OUT,
    "MCP_CONSOLE_IPC_WRITE_FD": Channel.CONTROL_IN,
}
LAST_WAIT_S = 0.5  # for processes that were killed and had not ended, when their host is closed
_PEAK = re.compile(rb"^VmHWM:\s*(\d+) kB", re.M)
_MISSING = {errno.ENOENT, errno.ENOTDIR}


class LocalProcess:
    """A started plugin on this machine."""

    __slots__ = (
        "_fds",
        "_has_keys",
        "_inherited_kib",
        "_is_widened",
        "_keep_survivors",
        "_launched",
        "_launcher",
        "_run",
        "_search",
        "_searching",
        "command",
        "exit_fd",
        "pid",
    )

    def __init__(
        self,
        pid: int,
        words: tuple[str, ...],
        fds: dict[Channel, int],
        exit_fd: int | None,
        run: str,
        launcher: LocalLauncher,
        *,
        keep_survivors: bool,
        has_keys: bool,
    ) -> None:
        self.pid = pid
        self.command = words
        self.exit_fd = exit_fd
        self._fds = fds
        self._run = run
        self._launcher = launcher
        self._launched = time.monotonic()
        self._search: survivors.Search | None = None
        self._searching: Background | None = None
        self._keep_survivors = keep_survivors
        self._has_keys = has_keys
        self._inherited_kib = _kib(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        self._is_widened = False  # and is to be narrowed again
        if has_keys:
            self._resize(Channel.STDIN, NARROW_PIPE)

    def fileno(self, channel: Channel) -> int:
        return self._fds.get(channel, -1)

    def read(self, channel: Channel, size: int = READ_SIZE) -> bytes | None:
        try:
            return os.read(self._fds[channel], size)
        except BlockingIOError:
            return None
        except KeyError:  # it was disposed of: a signal handler has closed the host under its own call
            return b""

    def write(self, data: bytes | memoryview, channel: Channel = Channel.STDIN) -> int:
        if len(data) > READ_SIZE:
            self._widen(channel)
        elif self._is_widened:
            self._is_widened = not self._resize(channel, NARROW_PIPE)
        try:
            return os.write(self._fds[channel], data)
        except BlockingIOError:
            return 0
        except KeyError:
            raise BrokenPipeError from None

    def unread(self) -> int:
        count = array.array("i", [0])
        with suppress(OSError, KeyError):  # or it is closed here
            fcntl.ioctl(self._fds[Channel.STDIN], termios.FIONREAD, count)
        return count[0]

    def close(self, channel: Channel) -> None:
        fd = self._fds.pop(channel, -1)
        if fd >= 0:
            os.close(fd)

    def peak_memory_kib(self) -> int | None:
        try:
            found = _PEAK.search(proc_file.read(f"/proc/{self.pid}/status"))
        except OSError:
            return None
        return int(found[1]) if found else None

    def has_exited(self) -> bool:
        try:
            # A process that is traced cannot be waited for before its tracer lets it go.
            return self._is_waitable() or self._is_ended()
        except ChildProcessError:
            return True  # somebody else reaped it, for instance by ignoring SIGCHLD

    def _is_waitable(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _is_ended(self) -> bool:
        return self.exit_fd is not None and is_readable(self.exit_fd)

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def begin_search(self, *, held: bool) -> int | None:
        if not survivors.supported:
            if not self._keep_survivors:
                self.send_signal(signal.SIGKILL)
            return None
        trace = survivors.Trace(
            self._run,
            self.pid,
            written=self._pipe_names(*WRITTEN) if held else frozenset(),
            read=self._pipe_names(*READ) if held else frozenset(),
            age_s=time.monotonic() - self._launched,
        )
        self._search = survivors.Search(trace, self._launcher.alive(), end=not self._keep_survivors)
        if self._search.is_over_at_once():
            return None
        self._searching = Background(self._search.finish)
        return self._searching.fd

    def find_survivors(self, *, held: bool) -> list[Survivor]:
        if self._search is None:
            self.begin_search(held=held)
        if self._searching is not None:
            self._searching.join()
        return self._search.found if self._search is not None else []

    def _pipe_names(self, *channels: Channel) -> frozenset[str]:
        fds = [self._fds[channel] for channel in channels if channel in self._fds]
        return frozenset(f"pipe:[{os.fstat(fd).st_ino}]" for fd in fds)

    def reap(self) -> ExitStatus:
        self._launcher.forget(self._run, self.pid)
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid == 0 and self._is_ended():  # another process traces it, and keeps it
                self._launcher.reap_later(self.pid)
                return _exit_of_traced(self.pid)
            if pid == 0:
                _, status, usage = os.wait4(self.pid, 0)
        except ChildProcessError:
            return ExitStatus()
        code = os.waitstatus_to_exitcode(status)
        peak = _kib(usage.ru_maxrss)
        return ExitStatus(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            # A child begins with the peak of its parent, and keeps it through exec: one above that is its own.
            peak_memory_kib=peak if peak > self._inherited_kib else None,
            cpu_s=round(usage.ru_utime + usage.ru_stime, 6),
        )

    def dispose(self) -> None:
        for channel in tuple(self._fds):
            self.close(channel)
        if self.exit_fd is not None:
            os.close(self.exit_fd)
            self.exit_fd = None
        if self._searching is not None:
            self._searching.close()
        if self.pid in self._launcher.alive():  # it could not be ended, or could not be waited for
            self._launcher.reap_later(self.pid)

    def _widen(self, channel: Channel) -> None:
        if not self._has_keys:
            self._resize(channel, WIDE_PIPE)
        elif not self._is_widened:
            self._is_widened = self._resize(channel, LESS_NARROW_PIPE)

    def _resize(self, channel: Channel, size: int) -> bool:
        """Have the pipe of *channel* hold *size* bytes, where the system can. Returns whether it does."""
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            # Not allowed beyond the user's share: it only takes longer then. Not done while it holds more than that.
            # Or it is closed: whoever writes will see.
            with suppress(OSError, KeyError):
                fcntl.fcntl(self._fds[channel], fcntl.F_SETPIPE_SZ, size)
                return True
        return False


class LocalLauncher:
    """Starts plugins on this machine, and one guard before the first of them."""

    def __init__(self) -> None:
        if sys.platform == "win32":
            raise Unsupported("plughost runs on Linux and macOS; Windows is not supported yet")
        self._guard: Guard | None = None
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._marker = secrets.token_hex(8)
        self._runs = 0
        self._alive: set[int] = set()
        self._open: set[str] = set()  # runs that were begun and not yet reaped
        self._unreaped: set[int] = set()  # held by a tracer, or not ended when they should have

    def launch(self, binding: Binding) -> LocalProcess:
        if not binding.cwd.is_dir():
            code = errno.ENOTDIR if binding.cwd.exists() else errno.ENOENT
            raise OSError(code, "the working directory is not there", str(binding.cwd))
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            raise Unsupported(
                "this process ignores SIGCHLD, so no plugin's exit status can be known: "
                "set it to signal.SIG_DFL before using plughost"
            )
        if binding.writable is not None and not landlock.available():
            raise Unsupported("this kernel cannot keep a plugin from writing elsewhere: it has no Landlock")
        if self._owner != os.getpid():  # a forked copy of the host: its runs are its own
            self.close()
            self._begin()
        if self._unreaped:
            self._reap_unreaped()
        if self._guard is None:
            self._guard = Guard(self._marker)
        self._runs += 1
        run = f"{self._marker}.{self._runs}"
        variables = environment.build(binding.environment, os.environ, run)
        program = command.resolve(binding, variables.get("PATH", os.defpath))
        self._open.add(run)  # before there is a process: an interrupt may come before anyone knows its number
        start = partial(
            _spawn, program.words, variables, str(binding.cwd), beside=binding.contract == SIDEBAND
        )
        try:
            pid, fds, exit_fd = (
                start() if binding.writable is None else landlock.confined(binding.writable, start)
            )
        except OSError:
            self._open.discard(run)
            raise
        self._alive.add(pid)
        self._guard.tell_started(pid)
        limits.forbid_core_dumps(pid)
        return LocalProcess(
            pid,
            program.words,
            fds,
            exit_fd,
            run,
            self,
            keep_survivors=binding.survivors == "allow",
            has_keys=binding.contract == DUPLEX,
        )

    def diagnose(self, binding: Binding, error: Exception) -> str:
        if not isinstance(error, OSError):
            return str(error)
        subject = error.filename or binding.command[0]
        if error.errno in _MISSING and str(subject) == str(binding.cwd):
            return f"its working directory {subject} does not exist"
        match error.errno:
            case errno.ENOENT if "/" not in str(subject):
                return f"there is no program {subject!r} on the plugin's PATH"
            case errno.ENOENT if os.path.exists(subject):
                return f"{subject} is there, but the interpreter in its first line is not"
            case errno.ENOENT:
                return f"{subject} does not exist"
            case errno.EISDIR:
                return f"{subject} is a directory, not a program"
            case errno.EACCES if os.path.isdir(subject):
                return f"{subject} is a directory, not a program"
            case errno.EACCES:
                return f"{subject} is not executable: chmod +x it"
            case errno.ENOEXEC:
                return f"{subject} is not a program for this system: {error.strerror}"
            case errno.EMFILE | errno.ENFILE:
                return "this host has no descriptors left: raise its `ulimit -n`"
            case _:
                return f"{subject}: {error.strerror or error}"

    def close(self) -> None:
        if self._owner == os.getpid():
            for run in tuple(self._open):  # what an interrupt has torn from whoever was to end it
                self._sweep(run)
            self._await_unreaped()
            self._reap_unreaped()
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.close()

    def _sweep(self, run: str) -> None:
        self._open.discard(run)
        if survivors.supported:
            survivors.sweep(run)

    def reap_later(self, pid: int) -> None:
        """Take *pid* from the process table when that is possible."""
        self._unreaped.add(pid)

    def _await_unreaped(self) -> None:
        """Wait for those that were given up on, which may be about to end: later nobody would reap them. Bounded."""
        until = time.monotonic() + LAST_WAIT_S
        for pid in self._unreaped if survivors.supported else ():
            with suppress(OSError), survivors.pidfd_of(pid) as pidfd:
                is_readable(pidfd, max(0.0, until - time.monotonic()))

    def _reap_unreaped(self) -> None:
        for pid in tuple(self._unreaped):
            try:
                is_reaped = os.waitpid(pid, os.WNOHANG)[0] == pid
            except ChildProcessError:
                is_reaped = True
            if is_reaped:
                self._unreaped.discard(pid)
                self._alive.discard(pid)

    def alive(self) -> set[int]:
        """Return the process ids of those that were started and not yet reaped."""
        return self._alive

    def forget(self, run: str, pid: int) -> None:
        """Note that the process *pid* of *run* is about to be reaped."""
        self._open.discard(run)
        self._alive.discard(pid)
        if self._guard is not None:
            self._guard.tell_ended(pid)


def _spawn(
    words: tuple[str, ...], variables: dict[str, str], cwd: str, *, beside: bool
) -> tuple[int, dict[Channel, int], int | None]:
    """Start *words* with three fresh pipes, or with two more *beside* them, whose numbers it finds in variables.

    Returns the process id, our ends, and the descriptor of its exit. Leaks nothing on failure.
    """
    opened: list[int] = []
    theirs: dict[Channel, int] = {}
    fds: dict[Channel, int] = {}
    popen: subprocess.Popen[bytes] | None = None
    try:
        for channel in (*READ, *WRITTEN) if beside else (Channel.STDIN, Channel.STDOUT, Channel.STDERR):
            ends = os.pipe()
            opened += ends
            theirs[channel], fds[channel] = ends if channel in READ else reversed(ends)
        extra = {name: theirs[channel] for name, channel in VARIABLES.items() if channel in theirs}
        popen = subprocess.Popen(
            words,
            stdin=theirs[Channel.STDIN],
            stdout=theirs[Channel.STDOUT],
            stderr=theirs[Channel.STDERR],
            cwd=cwd,
            env=variables | {name: str(fd) for name, fd in extra.items()},
            start_new_session=True,
            close_fds=True,
            pass_fds=tuple(extra.values()),
        )
        popen.returncode = 0  # ours to wait for from here on: Popen's destructor must not
        exit_fd = _open_exit(popen.pid)
    except BaseException:
        for fd in opened:
            os.close(fd)
        if popen is not None:
            _end_child(popen.pid)
        raise
    for fd in theirs.values():
        os.close(fd)
    for fd in fds.values():
        os.set_blocking(fd, False)
    return popen.pid, fds, exit_fd


def _open_exit(pid: int) -> int | None:
    """Return a descriptor for the exit of our child *pid*, None where the system has none. Raises OSError."""
    if not hasattr(os, "pidfd_open"):
        return None
    return os.pidfd_open(pid)


def _end_child(pid: int) -> None:
    with suppress(ProcessLookupError, ChildProcessError):
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _exit_of_traced(pid: int) -> ExitStatus:
    status = process_table.exit_status_of(pid)
    if status is None:
        return ExitStatus()
    code = os.waitstatus_to_exitcode(status)
    return ExitStatus(code=code if code >= 0 else None, signal=-code if code < 0 else None)


def _kib(maxrss: int) -> int:
    return maxrss // 1024 if sys.platform == "darwin" else maxrss  # bytes there, KiB elsewhere
