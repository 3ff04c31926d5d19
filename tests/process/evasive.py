"""A plugin that leaves processes behind in ways that hide them, chosen by its first argument. No SDK.

Whatever is left behind holds the FIFO that the second argument names open for writing: its reader sees the end of file
when the last of them is gone. They in turn end by themselves when nobody reads from it any more, however the tests were
ended, and after LIFE_S in any case.
"""

import _thread
import ctypes
import json
import os
import platform
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

LIFE_S = 120  # longer than a test waits for it to be ended
LARGE = 256 * 2**20
BEGUN = time.monotonic()
IS_ARM = platform.machine() == "aarch64"
CLONE, EXIT = (220, 93) if IS_ARM else (56, 60)  # system calls
CLONE_PARENT = 0x8000
PTRACE_SEIZE = 0x4206
PR_SET_PTRACER, ANY_PROCESS = 0x59616D61, ctypes.c_ulong(-1)

libc = ctypes.CDLL(None)


def write(message: dict) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def answer(asked: dict, output: object = 1) -> None:
    write({"type": "response", "request_id": asked["request_id"], "status": "ok", "output": output})


def shake() -> dict:
    sys.stdin.buffer.readline()
    manifest = {
        "plugin_id": "hostile",
        "plugin_version": "1",
        "protocol_version": "rterm.plugin.v1",
        "exposed_tools": ["echo"],
    }
    write({"type": "handshake", "manifest": manifest})
    return json.loads(sys.stdin.buffer.readline())


def close_pipes() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


class Ready:
    """Lets one process wait until another says that it is ready."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def say(self) -> None:
        os.write(self._write, b"!")

    def wait(self) -> None:
        os.read(self._read, 1)


def stay(held: int) -> None:
    """Do nothing until the FIFO has no reader any more, or for LIFE_S."""
    poll = select.poll()
    poll.register(held, 0)  # which is POLLERR alone
    poll.poll(LIFE_S * 1000)


def is_to_go_on(held: int) -> bool:
    """Tell whether the FIFO still has a reader, and LIFE_S are not over."""
    poll = select.poll()
    poll.register(held, 0)
    return not poll.poll(0) and time.monotonic() < BEGUN + LIFE_S


def fork_child_of_host() -> int:
    """Fork, but make the child one of our parent's."""
    return libc.syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)


def end_first_thread(ready: Ready, held: int) -> None:
    """Go on in another thread only."""

    def go_on() -> None:
        while Path("/proc/self/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.001)
        ready.say()
        stay(held)

    threading.Thread(target=go_on).start()
    libc.syscall(EXIT, 0)


def fork_and_exit_all_the_time(ready: Ready, held: int) -> None:
    for number in range(1_000_000):
        if number == 10:
            ready.say()
        if os.fork() or (number % 16 == 0 and not is_to_go_on(held)):
            os._exit(0)


def trace(pid: int, ready: Ready, held: int) -> None:
    assert libc.ptrace(PTRACE_SEIZE, pid, 0, 0) == 0
    ready.say()
    stay(held)


def become(code: str, *words: str) -> None:
    """Become a Python without our marker."""
    os.execve(sys.executable, [sys.executable, "-I", "-c", code, *words], {})


STAY = f"""
poll = select.poll()
poll.register(int(sys.argv[1]), 0)
poll.poll({LIFE_S * 1000})
"""
HOLDER = f"""
import ctypes, os, select, sys, threading, time
def go_on():
    while open("/proc/self/stat").read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.001)
    os.write(int(sys.argv[2]), b"!")
    exec({STAY!r})
threading.Thread(target=go_on).start()
ctypes.CDLL(None).syscall({EXIT}, 0)
"""
TRACER = f"""
import ctypes, os, select, sys
assert ctypes.CDLL(None).ptrace({PTRACE_SEIZE}, int(sys.argv[3]), 0, 0) == 0
os.write(int(sys.argv[2]), b"!")
{STAY}
"""


def use_up_pids(until: Callable[[int], bool]) -> None:
    """Use up process ids, by way of threads, which are cheap, until one is given out of which *until* is true."""
    given: list[int] = []

    def note(done: threading.Event) -> None:
        given.append(threading.get_native_id())
        done.set()

    while not given or not until(given[-1]):
        _thread.start_new_thread(note, (done := threading.Event(),))
        done.wait()


def main(fault: str, fifo: str, count: str = "1") -> None:
    asked = shake()
    held = os.open(fifo, os.O_WRONLY)
    os.set_inheritable(held, True)
    ready, plugin = Ready(), os.getpid()
    match fault:
        case "dead-children-of-host":
            for _ in range(int(count)):
                if fork_child_of_host() == 0:
                    os._exit(0)
        case "live-children-of-host":
            for _ in range(int(count)):
                if fork_child_of_host() == 0:
                    os.setsid()
                    ready.say()
                    stay(held)
                    os._exit(0)
                ready.wait()
        case "large-children-of-host":
            for _ in range(int(count)):
                if fork_child_of_host() == 0:
                    os.setsid()
                    close_pipes()
                    # The kernel frees its memory before it is a zombie, and so much takes a while.
                    memory = bytearray(b"!") * LARGE
                    ready.say()
                    stay(held)
                    os._exit(memory[0])
                ready.wait()
        case "first-thread-ended":
            if os.fork() == 0:
                os.setsid()
                close_pipes()
                end_first_thread(ready, held)
            ready.wait()
        case "first-thread-ended-and-holds-stdout":
            if os.fork() == 0:
                os.setsid()
                os.set_inheritable(ready._write, True)
                become(HOLDER, str(held), str(ready._write))
            ready.wait()
        case "forks-and-exits":
            if os.fork() == 0:
                fork_and_exit_all_the_time(ready, held)
            ready.wait()
        case "forks-and-exits-in-a-session-of-its-own":
            if os.fork() == 0:
                os.setsid()
                close_pipes()
                fork_and_exit_all_the_time(ready, held)
            ready.wait()
        case "traced":
            libc.prctl(PR_SET_PTRACER, ANY_PROCESS, 0, 0, 0)
            if os.fork() == 0:
                os.setsid()
                trace(plugin, ready, held)
                os._exit(0)
            ready.wait()
        case "traced-by-nobody-knows-whom":
            libc.prctl(PR_SET_PTRACER, ANY_PROCESS, 0, 0, 0)
            if os.fork() == 0:
                os.setsid()
                close_pipes()
                os.set_inheritable(ready._write, True)
                become(TRACER, str(held), str(ready._write), str(plugin))
            ready.wait()
        case "below-a-wrapped-pid":
            use_up_pids(lambda pid: pid < plugin)
            if os.fork() == 0:
                os.setsid()
                close_pipes()
                ready.say()
                stay(held)
                os._exit(0)
            ready.wait()
            use_up_pids(lambda pid: pid > plugin)
        case _:
            raise ValueError(fault)
    answer(asked)


if __name__ == "__main__":
    main(*sys.argv[1:])
