"""The guard's program: waits for its host to end, then ends what the host had started. Started by path.

    python -I -S guard_main.py HOST_PID MARK

It reads lines from standard input: +GROUP and -GROUP as plugins come and go. The end of
input, or of the host, is its signal to act; a host that closes in peace kills it. MARK is
how a variable begins that the host's own processes carry, and nobody else.
"""

import os
import select
import signal
import sys
import time

CHASES = 100  # looks at the newest processes, at most, as long as newer ones appear
NEWEST = 8  # processes that are looked at each time
CLEAN_PASSES = 3  # looks at the process table that must find nothing
PASS_PAUSE_S = 0.02  # a process that was being started when its host died needs a moment to show its mark
LIMIT_S = 10.0  # for a process that cannot be ended: the kernel holds it
# Where the machine is busy, or a program lies on a slow disk, it may need longer, so there are looks after these pauses
# too: 0.3, 1 and 3 seconds after the host. They keep nobody: a guard has no pipe but its own, no terminal and no
# directory, it goes when it is asked to, and where a container's first process ends, the kernel ends the guard.
LATE_PAUSES_S = (0.3, 0.7, 2.0)
ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main() -> None:
    host, mark = int(sys.argv[1]), sys.argv[2].encode()
    asked: list[int] = []  # signals that were meant for the host as well: first our work
    for number in ASKING:
        signal.signal(number, lambda number, _: asked.append(number))
    groups: set[int] = set()
    _wait(host, groups)
    if not end_all(mark, groups):
        return
    for number in ASKING:
        signal.signal(number, signal.SIG_DFL)
    # Who asks, such as a service manager, waits for us, and looks after the latecomers itself.
    if not asked and os.path.isdir("/proc/self"):
        end_latecomers(mark)


def end_all(mark: bytes, groups: set[int]) -> bool:
    """End *groups* and what carries *mark* until nothing is left of them; False if something stays for LIMIT_S."""
    until = time.monotonic() + LIMIT_S
    clean = 0
    while clean < CLEAN_PASSES and time.monotonic() < until:
        clean = 0 if _sweep(mark, groups) else clean + 1
        time.sleep(PASS_PAUSE_S)
    return clean == CLEAN_PASSES


def end_latecomers(mark: bytes) -> None:
    """End what shows *mark* only now. Groups are told apart no more: their numbers may be others' by now."""
    for pause in LATE_PAUSES_S:
        time.sleep(pause)
        if not end_all(mark, set()):
            return


def _wait(host: int, groups: set[int]) -> None:
    """Follow what the host says until it is gone."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    pidfd = -1
    if hasattr(os, "pidfd_open"):
        try:
            pidfd = os.pidfd_open(host)
            poll.register(pidfd, select.POLLIN)
        except OSError:
            pass
    if os.getppid() != host:
        return  # it died before we could look
    rest = b""
    while True:
        ready = dict(poll.poll())
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
        elif pidfd in ready:
            return


def _sweep(mark: bytes, groups: set[int]) -> bool:
    """End everything that is left once; True if there was anything."""
    found = False
    for group in list(groups):
        try:
            os.killpg(group, signal.SIGKILL)
            found = True
        except OSError:
            groups.discard(group)
    if not os.path.isdir("/proc/self"):
        return found
    return (
        _end_newest(mark)
        or _end_marked([int(name) for name in os.listdir("/proc") if name.isdigit()], mark)
        or found
    )


def _end_newest(mark: bytes) -> bool:
    """End what carries *mark* among the newest processes: one that forks and exits all the time is never in a list."""
    found = False
    for _ in range(CHASES):
        newest = _newest_pid()
        found = _end_marked(range(newest, max(newest - NEWEST, 1), -1), mark) or found
        if _newest_pid() == newest:
            break
    return found


def _end_marked(pids: range | list[int], mark: bytes) -> bool:
    found, mine = False, os.getpid()
    for pid in pids:
        if pid != mine and _end(pid, mark):
            found = True
    return found


def _newest_pid() -> int:
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[-1])


def _end(pid: int, mark: bytes) -> bool:
    """Kill *pid* and its group if it carries *mark*; True if it does.

    Numbers are recycled. While a pidfd that was opened first shows that its process is not yet reaped, what was read is
    of that process, and neither its number nor that of its group is another's.
    """
    try:
        pidfd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        return False
    except OSError:
        pidfd = -1
    try:
        if not _marked(pid, mark):
            return False
        try:
            _kill(pid, pidfd)
        except OSError:
            pass
        return True
    finally:
        if pidfd >= 0:
            os.close(pidfd)


def _kill(pid: int, pidfd: int) -> None:
    """Kill *pid* and its group, at once: a moment later it may have forked and be gone. Raises OSError."""
    if os.getsid(pid) != os.getsid(0):  # as always: all members of its session descend from a plugin
        group = os.getpgid(pid)
        if pidfd >= 0:
            signal.pidfd_send_signal(pidfd, 0)  # raises OSError if it is reaped
        os.killpg(group, signal.SIGKILL)
    if pidfd >= 0:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)


def _marked(pid: int, mark: bytes) -> bool:
    """Tell whether *pid* carries *mark*. If its first thread has ended, the others still show its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if environment := file.read():
                return _holds(environment, mark)
    except OSError:
        pass
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            if int(task) != pid:
                with open(f"/proc/{pid}/task/{task}/environ", "rb") as file:
                    return _holds(file.read(), mark)
    except OSError:
        pass
    return False


def _holds(environment: bytes, mark: bytes) -> bool:
    return any(variable.startswith(mark) for variable in environment.split(b"\0"))


if __name__ == "__main__":
    main()
