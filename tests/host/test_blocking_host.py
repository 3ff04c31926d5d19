"""The blocking host: the same verbs on the caller's thread, from many threads, through Ctrl-C and interpreter exit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import plughost
from plughost import blocking
from plughost.manifest.binding import Binding

Make = Callable[..., Binding]


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


def test_a_call_needs_no_event_loop_and_no_thread(hostile: Make) -> None:
    threads = threading.active_count()
    with blocking.Host() as host:
        assert host.add(hostile("well")).call("echo", {"a": 1}) == {"a": 1}
        assert threading.active_count() == threads


def test_threads_share_a_host(hostile: Make) -> None:
    with blocking.Host() as host, ThreadPoolExecutor(4) as pool:
        plugin = host.add(hostile("well", spares=2))
        assert list(pool.map(lambda n: plugin.call("echo", n), range(20))) == list(range(20))


def test_a_spare_that_waited_longer_than_the_handshake_time_is_still_good(hostile: Make) -> None:
    with blocking.Host() as host:
        plugin = host.add(hostile("well", spares=1, handshake_s=0.5))
        threading.Event().wait(0.8)  # longer than its handshake may take, while nobody listens
        assert plugin.call("echo", 1) == 1


def test_a_failing_call_raises_its_code(hostile: Make) -> None:
    with blocking.Host() as host:
        with pytest.raises(plughost.PluginCrashed):
            host.add(hostile("exit-3")).call("echo")
        with pytest.raises(plughost.PluginTimeout):
            host.add(hostile("silent")).call("echo", timeout=0.1)


def test_describe_returns_the_manifest(hostile: Make) -> None:
    with blocking.Host() as host:
        assert host.add(hostile("well")).describe().plugin_id == "hostile"
        with pytest.raises(plughost.HandshakeFailed):
            host.add(hostile('manifest-{"type": "x"}')).describe()


def test_closing_from_another_thread_ends_a_call_with_host_closed(hostile: Make) -> None:
    seen = threading.Event()
    host = blocking.Host(on_event=lambda event: seen.set() if event.name == "frame" else None)
    plugin = host.add(hostile("silent-after-handshake", timeout_s=60))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(plugin.call, "echo")
        assert seen.wait(200)
        host.close()
        with pytest.raises(plughost.HostClosed):
            call.result(10)
    host.close()
    with pytest.raises(plughost.HostClosed):
        plugin.call("echo")


PROGRAM = """
import os, signal, sys, threading
from pathlib import Path
from plughost import blocking
from plughost.manifest import binding

fault, hostile, pids, ending = sys.argv[1:5]
def note(event):
    if event.name == "spawned":
        with open(pids, "a") as file:
            file.write(f"{event.pid}\\n")
    if event.name == "frame" and event.what.direction == "in":
        print("shaken", flush=True)
command = (sys.executable, "-I", hostile, fault)
host = blocking.Host(on_event=note)
bound = binding.Binding(name="hostile", contract="execute", command=command, directory=Path(), cwd=Path(),
    execute=binding.ExecuteOptions(spares=2), limits=binding.Limits(timeout_s=60))
plugin = host.add(bound)
if ending == "elsewhere":  # a signal that the kernel hands to another thread does not wake the one that waits
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
if ending == "exit":
    print("shaken", flush=True)
    sys.exit(0)
if ending == "fork":
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    assert plugin.call("echo", 7) == 7
    print("shaken", flush=True)
    host.close()
    sys.exit(0)
plugin.call("echo")
"""


@contextmanager
def run_program(fault: str, ending: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    hostile = Path(__file__).parent.parent / "process/hostile.py"
    pids = tmp_path / "pids"
    command = [sys.executable, "-X", "dev", "-c", PROGRAM, fault, str(hostile), str(pids), ending]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        try:
            yield program, pids
        finally:
            program.kill()


def living(pids: Path) -> list[int]:
    found = []
    for word in pids.read_text().split():
        try:
            os.kill(int(word), 0)
            found.append(int(word))
        except ProcessLookupError:
            continue
    return found


def test_a_host_that_was_never_closed_leaves_nothing_at_interpreter_exit(tmp_path: Path) -> None:
    with run_program("well", "exit", tmp_path) as (program, pids):
        _, stderr = program.communicate(timeout=250)
        assert program.returncode == 0, stderr
        assert b"Traceback" not in stderr
        assert pids.read_text()
        assert living(pids) == []


@pytest.mark.parametrize("ending", ["call", "elsewhere"])
def test_ctrl_c_during_a_call_is_a_plain_keyboard_interrupt_and_leaves_nothing(
    ending: str, tmp_path: Path
) -> None:
    with run_program("silent-after-handshake", ending, tmp_path) as (program, pids):
        assert program.stdout is not None
        assert program.stdout.readline() == b"shaken\n"
        program.send_signal(signal.SIGINT)
        _, stderr = program.communicate(timeout=250)
        assert program.returncode in (-signal.SIGINT, 1, 130)
        assert stderr.count(b"Traceback") == 1
        assert stderr.rstrip().endswith(b"KeyboardInterrupt")
        assert living(pids) == []


def test_a_forked_copy_of_the_host_does_not_touch_its_plugins(tmp_path: Path) -> None:
    with run_program("well", "fork", tmp_path) as (program, pids):
        stdout, stderr = program.communicate(timeout=250)
        assert program.returncode == 0, stderr
        assert stdout.endswith(b"shaken\n")
        assert living(pids) == []
