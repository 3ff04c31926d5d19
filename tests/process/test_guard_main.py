"""What the guard ends when its host is gone: what carries the host's mark, however late it shows it. Nobody else."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from plughost.process import guard_main
from plughost.process.environment import MARKER

# A program that ignores the end of its input. It takes its variable, as by an exec, only when it is told to.
LATE = 'read go && exec env "$0" sh -c "echo shown; exec sleep 3600"'
PATIENCE_S = 250

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def marker() -> str:
    return secrets.token_hex(8)


@pytest.fixture
def late() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def start(variable: str) -> subprocess.Popen[bytes]:
        command = ["sh", "-c", LATE, variable]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.communicate()


def show(child: subprocess.Popen[bytes]) -> None:
    """Have *child* take its variable."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"\n")
    child.stdin.flush()
    assert child.stdout.readline() == b"shown\n"


def pauses(monkeypatch: pytest.MonkeyPatch, during: Callable[[float], None] = lambda pause: None) -> None:
    """Let the guard's pauses take no time: *during* is what happens in them."""
    clock = SimpleNamespace(sleep=during, monotonic=time.monotonic)
    monkeypatch.setattr(guard_main, "time", clock)


@pytest.mark.parametrize("pause", guard_main.LATE_PAUSES_S)
def test_a_child_that_shows_its_mark_late_is_ended(
    pause: float, marker: str, late: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = late(f"{MARKER}={marker}.1")
    pauses(monkeypatch, lambda passed: show(child) if passed == pause else None)
    mark = f"{MARKER}={marker}.".encode()
    assert guard_main.end_all(mark, set())
    assert child.poll() is None
    guard_main.end_latecomers(mark)
    assert child.wait(PATIENCE_S) == -signal.SIGKILL


@pytest.mark.parametrize(
    "variable", [MARKER + "={}0.1", MARKER + "={}", "OTHER={}.1", "X" + MARKER + "={}.1", MARKER + "=0{}.1"]
)
def test_who_only_looks_like_the_hosts_own_is_left_alone(
    variable: str, marker: str, late: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = late(variable.format(marker))
    show(child)
    pauses(monkeypatch)
    guard_main.end_all(f"{MARKER}={marker}.".encode(), set())
    guard_main.end_latecomers(f"{MARKER}={marker}.".encode())
    assert child.poll() is None


# A guard whose host is gone at once, and which is asked to end at a given moment. A late look would come after an hour.
ASKED = """
import os, signal, sys
from plughost.process import guard_main

def ask(*_):
    os.kill(os.getpid(), signal.SIGTERM)

guard_main.LATE_PAUSES_S = (3600.0,)
if sys.argv[1] == "before":
    guard_main._wait = ask
else:
    guard_main._wait = lambda host, groups: None
    guard_main.end_latecomers = ask
sys.argv[1:] = ["1", "PLUGHOST_RUN=nobody."]
guard_main.main()
"""


@pytest.mark.parametrize(("moment", "status"), [("before", 0), ("meanwhile", -signal.SIGTERM)])
def test_a_guard_that_is_asked_to_end_does_not_wait_for_latecomers(moment: str, status: int) -> None:
    done = subprocess.run([sys.executable, "-c", ASKED, moment], timeout=PATIENCE_S, check=False)
    assert done.returncode == status
