"""Nothing outlives a plugin unnoticed: not a daemon, not a holder of its pipes, not the child of a killed host."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import plughost
from plughost import FailureCode, blocking
from plughost.manifest.binding import Binding

Make = Callable[..., Binding]
Gone = Callable[[int], bool]


@pytest.mark.requirement("execute:exit:gone")
@pytest.mark.parametrize("fault", ["daemon", "daemon-scrubbed", "daemon-closed", "undumpable-child"])
async def test_a_daemon_that_outlives_its_plugin_is_reported_and_ended(
    fault: str, hostile: Make, tmp_path: Path, wait_gone: Gone
) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(hostile(fault, str(tmp_path / "pid")))
        result = await plugin.invoke("echo", 1)
    pid = int((tmp_path / "pid").read_text())
    assert result.output == 1
    assert wait_gone(pid)
    assert any(str(pid) in warning for warning in result.warnings)


async def test_a_daemon_of_a_plugin_that_crashed_is_in_the_autopsy(
    hostile: Make, tmp_path: Path, wait_gone: Gone
) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(hostile("daemon-and-crash", str(tmp_path / "pid")))
        with pytest.raises(plughost.PluginCrashed) as caught:
            await plugin.call("echo")
    pid = int((tmp_path / "pid").read_text())
    assert [survivor.pid for survivor in caught.value.autopsy.survivors] == [pid]
    assert caught.value.autopsy.survivors[0].ended
    assert wait_gone(pid)


async def test_a_daemon_of_a_plugin_that_was_killed_is_ended_too(
    hostile: Make, tmp_path: Path, wait_gone: Gone
) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(hostile("daemon-and-hang", str(tmp_path / "pid"), timeout_s=1.0))
        with pytest.raises(plughost.PluginTimeout):
            await plugin.call("echo")
    assert wait_gone(int((tmp_path / "pid").read_text()))


async def test_a_binding_may_allow_survivors(
    hostile: Make, tmp_path: Path, alive: Gone, wait_gone: Gone
) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(hostile("daemon-closed", str(tmp_path / "pid"), survivors="allow"))
        result = await plugin.invoke("echo", 1)
    pid = int((tmp_path / "pid").read_text())
    try:
        assert alive(pid)
        assert any(str(pid) in warning for warning in result.warnings)
    finally:
        os.kill(pid, signal.SIGKILL)
    assert wait_gone(pid)


async def test_a_grandchild_that_floods_stdout_does_not_keep_the_call(hostile: Make) -> None:
    async with plughost.Host() as host:
        result = await (await host.add(hostile("child-floods"))).invoke("echo", 1)
    assert result.output == 1
    assert any("outlived" in warning for warning in result.warnings)


def test_a_grandchild_that_holds_stdout_does_not_keep_a_blocking_call(hostile: Make, tmp_path: Path) -> None:
    with blocking.Host() as host:
        assert host.add(hostile("daemon", str(tmp_path / "pid"))).call("echo", 1) == 1


HOST_PROGRAM = """
import sys, threading, plughost
from pathlib import Path
from plughost import blocking
from plughost.manifest import binding

kind, hostile, directory = sys.argv[1:4]
def bind(fault, *rest):
    return binding.Binding(name="hostile", contract="execute", command=(sys.executable, "-I", hostile, fault, *rest),
        directory=Path(directory), cwd=Path(directory), execute=binding.ExecuteOptions(spares=3),
        limits=binding.Limits(timeout_s=60))
host = blocking.Host()
spares = host.add(bind("well"))
daemon = host.add(binding.replace(bind("daemon-and-hang", directory + "/pid"), execute=binding.ExecuteOptions()))
thread = threading.Thread(target=lambda: daemon.call("echo"), daemon=True)
thread.start()
print("ready", flush=True)
while True:
    spares.call("echo", 1)
"""


def carriers(mark: str) -> list[int]:
    """Return the living processes whose environment holds *mark*."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if mark.encode() in Path(f"/proc/{name}/environ").read_bytes():
                    found.append(int(name))
            except OSError:
                continue
    return found


def kill_a_host(directory: Path, delay: float, gone: Gone) -> None:
    """Start a busy host, SIGKILL it after *delay* seconds of work, and assert that nothing is left of it."""
    directory.mkdir()
    mark = f"PLUGHOST_TEST_ROUND={directory}"
    hostile = Path(__file__).with_name("hostile.py")
    env = {**os.environ, mark.split("=")[0]: mark.split("=")[1]}
    program = HOST_PROGRAM.replace(
        'name="hostile"', 'environment=binding.Environment(inherit=("PLUGHOST_TEST_ROUND",)), name="hostile"'
    )
    command = [sys.executable, "-c", program, "busy", str(hostile), str(directory)]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, env=env)
    assert host.stdout is not None
    try:
        assert host.stdout.readline() == b"ready\n"
        threading.Event().wait(delay)  # the random instant is the point of the test, not a wait for a state
    finally:
        host.kill()
        host.wait()
        host.stdout.close()
    for _ in range(100):  # one that was being started when its host died shows up a moment later
        left = carriers(mark)
        if not left:
            return
        for pid in left:
            assert gone(pid), f"process {pid} outlived its host"
    raise AssertionError(f"processes keep coming: {left}")


@pytest.mark.parametrize("round_number", range(4))
def test_nothing_is_left_of_a_host_that_was_killed_at_a_random_instant(
    round_number: int, tmp_path: Path, wait_gone: Gone
) -> None:
    kill_a_host(tmp_path / "round", random.Random(round_number).uniform(0, 0.2), wait_gone)


@pytest.mark.long
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("batch", range(2))
def test_nothing_is_left_of_a_thousand_killed_hosts(batch: int, tmp_path: Path, wait_gone: Gone) -> None:
    instants = random.Random(batch)
    for number in range(500):
        kill_a_host(tmp_path / str(number), instants.uniform(0, 0.12), wait_gone)


def test_a_spare_survives_the_thread_that_started_it(hostile: Make) -> None:
    with blocking.Host() as host:
        plugins = []
        thread = threading.Thread(target=lambda: plugins.append(host.add(hostile("well", spares=1))))
        thread.start()
        thread.join()
        assert plugins[0].call("echo", 1) == 1


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> list[str]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [pid for task in tasks for pid in task.read_text().split()]


@pytest.mark.parametrize("cycles", [20, pytest.param(300, marks=pytest.mark.long)])
async def test_crash_after_crash_costs_no_descriptor_and_leaves_no_zombie(cycles: int, hostile: Make) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(hostile("exits-after-request", "9"))
        with pytest.raises(plughost.PluginCrashed):
            await plugin.call("echo")
        before = descriptors()
        for _ in range(cycles):
            with pytest.raises(plughost.PluginCrashed) as caught:
                await plugin.call("echo")
            assert caught.value.code is FailureCode.CRASHED
        assert descriptors() == before
        assert len(children()) == 1  # the guard
