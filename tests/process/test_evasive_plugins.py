"""Plugins that hide what they leave behind: all of it is ended and reaped, and nobody else is."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import plughost
from plughost import blocking
from plughost.manifest.binding import Binding
from plughost.process import survivors

EVASIVE = Path(__file__).with_name("evasive.py")
PATIENCE_S = 100
pytestmark = pytest.mark.skipif(not survivors.supported, reason="survivors are searched for on Linux only")


class Fifo:
    """A FIFO that everything a plugin leaves behind holds open, and without whose reader it ends."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def ends(self) -> bool:
        """Wait until nobody holds it any more; False if somebody still does after a long time."""
        poll = select.poll()
        poll.register(self._fd, select.POLLHUP)
        return bool(poll.poll(PATIENCE_S * 1000))

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    made = Fifo(tmp_path / "fifo")
    yield made
    made.close()


@pytest.fixture
def evasive(tmp_path: Path, fifo: Fifo) -> Callable[..., Binding]:
    """Return bindings of evasive.py by fault; keywords are those of a binding."""

    def make(fault: str, *words: str, **options: object) -> Binding:
        command = (sys.executable, "-I", str(EVASIVE), fault, fifo.path, *words)
        return Binding("hostile", "execute", command, tmp_path, tmp_path, **options)  # type: ignore[arg-type]

    return make


Make = Callable[..., Binding]


def children() -> set[int]:
    """Return our children, zombies included."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def test_children_that_a_plugin_gives_its_host_are_reaped_and_the_applications_are_not(
    evasive: Make, fifo: Fifo
) -> None:
    before = children()
    with blocking.Host() as host:
        plugin = host.add(evasive("dead-children-of-host", "20"))
        applications = subprocess.Popen([sys.executable, "-I", "-c", "raise SystemExit(7)"])
        os.waitid(os.P_PID, applications.pid, os.WEXITED | os.WNOWAIT)
        assert plugin.call("echo") == 1
        assert len(children() - before) == 2  # the guard, and the application's own
        assert applications.wait() == 7
    assert children() <= before
    assert fifo.ends()


def test_living_children_that_a_plugin_gives_its_host_are_reported_ended_and_reaped(
    evasive: Make, fifo: Fifo
) -> None:
    before = children()
    with blocking.Host() as host:
        plugin = host.add(evasive("live-children-of-host", "3"))
        assert len(plugin.invoke("echo").warnings) == 3
        assert len(children() - before) == 1  # the guard
    assert fifo.ends()


async def test_children_that_a_plugin_gives_a_host_on_a_loop_are_reaped_too(
    evasive: Make, fifo: Fifo
) -> None:
    before = children()
    async with plughost.Host() as host:
        assert await (await host.add(evasive("live-children-of-host", "3"))).call("echo") == 1
        assert await (await host.add(evasive("dead-children-of-host", "20"))).call("echo") == 1
        assert len(children() - before) == 1
    assert fifo.ends()


async def test_children_that_take_long_to_exit_are_reaped_too(evasive: Make, fifo: Fifo) -> None:
    before = children()
    async with plughost.Host() as host:
        assert await (await host.add(evasive("large-children-of-host", "3"))).call("echo") == 1
        assert len(children() - before) == 1
    assert fifo.ends()


@pytest.mark.parametrize("fault", ["first-thread-ended", "first-thread-ended-and-holds-stdout"])
def test_a_survivor_whose_first_thread_has_ended_is_reported_and_ended(
    fault: str, evasive: Make, fifo: Fifo
) -> None:
    with blocking.Host() as host:
        result = host.add(evasive(fault)).invoke("echo")
    assert any("outlived" in warning for warning in result.warnings)
    assert fifo.ends()


HOST = """
import sys
from pathlib import Path
from plughost import blocking
from plughost.manifest.binding import Binding
here = Path()
host = blocking.Host()
plugin = host.add(Binding("hostile", "execute", tuple(sys.argv[1:]), here, here, survivors="allow"))
plugin.call("echo")
print("called", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("fault", ["first-thread-ended", "forks-and-exits-in-a-session-of-its-own"])
def test_a_killed_hosts_guard_ends_it_too(fault: str, evasive: Make, fifo: Fifo) -> None:
    command = [sys.executable, "-c", HOST, *evasive(fault).command]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"called\n"
        host.kill()
    assert fifo.ends()


@pytest.mark.parametrize("fault", ["forks-and-exits", "forks-and-exits-in-a-session-of-its-own"])
def test_a_survivor_that_forks_and_exits_all_the_time_is_ended(fault: str, evasive: Make, fifo: Fifo) -> None:
    with blocking.Host() as host:
        plugin = host.add(evasive(fault))
        for _ in range(10):
            assert plugin.call("echo") == 1
            assert fifo.ends()


def test_an_answer_of_a_plugin_that_its_own_grandchild_traces_is_an_answer(evasive: Make, fifo: Fifo) -> None:
    with blocking.Host() as host:
        result = host.add(evasive("traced")).invoke("echo")
    assert result.output == 1
    assert any("outlived" in warning for warning in result.warnings)
    assert fifo.ends()


async def test_the_same_on_a_loop(evasive: Make, fifo: Fifo) -> None:
    async with plughost.Host() as host:
        assert await (await host.add(evasive("traced"))).call("echo") == 1
    assert fifo.ends()


def tracer_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("TracerPid:")[2].split()[0])


def test_a_tracer_that_nobody_knows_does_not_spoil_the_answer(evasive: Make, fifo: Fifo) -> None:
    spawned: list[int] = []
    before = children()

    def listen(event: plughost.Event) -> None:
        if event.name == "spawned" and event.pid is not None:
            spawned.append(event.pid)

    with blocking.Host(on_event=listen) as host:
        assert host.add(evasive("traced-by-nobody-knows-whom")).call("echo") == 1
        os.kill(tracer_of(spawned[0]), signal.SIGKILL)
        assert fifo.ends()
        os.waitid(os.P_PID, spawned[0], os.WEXITED | os.WNOWAIT)  # the tracer has let it go
    assert children() <= before


async def test_others_are_served_while_survivors_are_ended(
    evasive: Make, hostile: Make, fifo: Fifo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search does not end before a neighbour has answered, so it can end only if the loop goes on meanwhile."""
    begun, answered = threading.Event(), threading.Event()
    finish = survivors.Search.finish

    def wait_and_finish(search: survivors.Search) -> None:
        begun.set()
        assert answered.wait(PATIENCE_S)
        finish(search)

    monkeypatch.setattr(survivors.Search, "finish", wait_and_finish)
    async with plughost.Host() as host:
        neighbour = await host.add(hostile("well"))
        call = asyncio.ensure_future((await host.add(evasive("live-children-of-host"))).call("echo"))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        assert await neighbour.call("echo", 5) == 5
        assert not call.done()
        answered.set()
        assert await call == 1
    assert fifo.ends()


WRAPPING = """
import os, sys
from pathlib import Path
Path("/proc/sys/kernel/pid_max").write_text("600")  # of this namespace
while os.spawnlp(os.P_WAIT, "sh", "sh", "-c", "exit $(( $$ > 500 ))") == 0:
    pass
from plughost import blocking
from plughost.manifest.binding import Binding, Limits
here = Path()
with blocking.Host() as host:
    plugin = host.add(Binding("hostile", "execute", tuple(sys.argv[1:]), here, here, limits=Limits(timeout_s=100)))
    print(len(plugin.invoke("echo").warnings))
"""


def test_a_survivor_below_a_wrapped_process_id_is_ended(evasive: Make, fifo: Fifo) -> None:
    namespace = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    settable = [*namespace, "sh", "-c", "echo 600 > /proc/sys/kernel/pid_max"]
    if subprocess.run(settable, capture_output=True, check=False).returncode:
        pytest.skip(
            "this kernel has no process ids of a namespace's own to use up (Linux 6.14 and later have)"
        )
    command = [*namespace, sys.executable, "-c", WRAPPING, *evasive("below-a-wrapped-pid").command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert fifo.ends()
