"""The guard's program: waits for its host to end, then ends what the host had started. Started by path.

    python -I -S guard_main.py HOST_PID MARKER

It reads lines from standard input: +GROUP and -GROUP as plugins come and go. The end of
input, or of the host, is its signal to act; a host that closes in peace kills it.
"""

import os
import select
import signal
import sys
import time

CLEAN_PASSES = 3  # looks at the process table that must find nothing
PASS_PAUSE_S = 0.02  # a process that was being started when its host died needs a moment to show its marker
LIMIT_S = 10.0


def main() -> None:
    host, marker = int(sys.argv[1]), sys.argv[2].encode()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    _wait(host, groups)
    until = time.monotonic() + LIMIT_S
    clean = 0
    while clean < CLEAN_PASSES and time.monotonic() < until:
        clean = 0 if _sweep(marker, groups) else clean + 1
        time.sleep(PASS_PAUSE_S)


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


def _sweep(marker: bytes, groups: set[int]) -> bool:
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
    mine = os.getpid()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != mine and _marked(name, marker):
            found = True
            try:
                os.kill(int(name), signal.SIGKILL)
            except OSError:
                pass
    return found


def _marked(name: str, marker: bytes) -> bool:
    try:
        with open("/proc/" + name + "/environ", "rb") as file:
            return marker in file.read()
    except OSError:
        return False


if __name__ == "__main__":
    main()
