"""How a fleet ends: by its host, a task, a thread, a signal or nobody; nothing is left and everybody is told."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plughost
from plughost import blocking
from plughost.errors import HostClosed
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import EVERY, QUICK, Lab, gone, is_alive

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

HERE = Path(__file__).parents[3]


@pytest.mark.parametrize("what", ["the host", "the fleet"])
def test_calls_under_way_are_over_when_it_is_closed(both: Lab, what: str) -> None:
    both.plugin("one", **QUICK)
    both.plugin("two", "init-never", **{**QUICK, "handshake_s": 60.0})
    both.plugin("three", backoff_s=[3600.0])
    fleet = both.fleet()
    both.pid("one")
    both.together(both.calling("exit", of="three"))
    calls = [both.calling("hold", of="one"), both.calling("echo", of="two"), both.calling("echo", of="three")]
    begun = both.begin(*calls, fleet["two"].start)
    both.until(lambda: sum(both.status(name).pending for name in ("one", "two", "three")) == 3)
    if what == "the fleet":
        both.run(fleet.close)
    else:
        both.run(both.host.close if both.kind == "blocking" else both.host.aclose)
    assert [type(each) for each in both.wait_for(begun)] == [HostClosed] * 4
    assert all(gone(pid) for pid in both.spawned())
    for verb in (fleet["one"].start, fleet["one"].reload, fleet["one"].stop, both.calling("echo", of="one")):
        (came,) = both.together(verb)
        assert came is None or isinstance(came, HostClosed)
    assert [plugin.state for plugin in fleet][:2] == [State.IDLE] * 2


def test_it_may_be_closed_twice_and_by_many_at_once(both: Lab) -> None:
    both.plugin("puppet", "stubborn", **QUICK)
    fleet = both.fleet()
    pid = both.pid()
    assert both.together(*[fleet.close] * 5) == [None] * 5
    assert not is_alive(pid)
    both.run(fleet.close)


def test_a_host_may_have_several_fleets_and_close_them_one_by_one(both: Lab) -> None:
    one, two = both.plugin("one"), both.plugin("two")
    first, second = both.fleet(one), both.fleet(two)
    both.run(first["one"].start)
    both.run(second["two"].start)
    both.run(first.close)
    assert both.call("echo", of="two")


def test_a_fleet_of_nothing_is_a_fleet(both: Lab) -> None:
    (both.home / "empty").mkdir()
    fleet = both.fleet(both.home / "empty")
    assert (len(fleet), fleet.rejected) == (0, ())


def test_eager_plugins_that_crash_all_the_time_do_not_hold_up_the_end(both: Lab) -> None:
    both.plugin("puppet", "exits=1", life={"spawn": "eager"}, backoff_s=[0.001], failures_to_quarantine=1000)
    both.fleet()
    both.until(lambda: both.status().starts > 3)
    both.close()
    assert all(gone(pid) for pid in both.spawned())


def test_what_waits_for_a_disk_does_not_hold_up_the_end(both: Lab) -> None:
    release = threading.Event()
    both.plugin()
    both.fleet(actions={"own": lambda payload: bytes(release.wait(200))})
    ask = {"method": "host/action/invoke", "params": {"action": "own", "payload": ""}}
    begun = both.begin(both.calling("ask", ask))
    both.until(lambda: both.status().unanswered == 1)
    both.run(both._fleet.close)
    assert [type(each) for each in both.wait_for(begun)] == [HostClosed]
    release.set()


# Without a close

SCRIPT = """
    import os, signal, sys, threading, warnings
    from plughost import blocking
    import plughost

    def pids(fleet):
        for plugin in fleet:
            plugin.start()
        print(*[plugin.status.pid for plugin in fleet], flush=True)
"""


def run(
    lab: Lab, script: str, *, then: Callable[[subprocess.Popen[str]], Any] | None = None
) -> tuple[int, str]:
    """Run a host in a process of its own; returns its exit status and what it printed. Its plugins are gone."""
    lab.plugin("one", **QUICK)
    lab.plugin("two", "stubborn", **QUICK)
    whole = textwrap.dedent(SCRIPT) + textwrap.dedent(script)
    with subprocess.Popen(
        [sys.executable, "-Wignore", "-c", whole, str(lab.root)], stdout=subprocess.PIPE, text=True, cwd=HERE
    ) as process:
        assert process.stdout is not None
        try:
            started = [int(word) for word in process.stdout.readline().split()]
            assert len(started) == 2
            if then is not None:
                then(process)
            rest = process.stdout.read()
            status = process.wait(200)
        finally:
            process.kill()
    assert all(gone(pid) for pid in started)
    return status, rest


def test_a_program_that_ends_without_closing_leaves_nothing(lab: Lab) -> None:
    assert run(lab, "host = blocking.Host(); pids(host.fleet(sys.argv[1]))") == (0, "")


def test_an_interrupt_ends_a_call_and_the_block_ends_the_rest(lab: Lab) -> None:
    script = """
        with blocking.Host() as host:
            fleet = host.fleet(sys.argv[1])
            pids(fleet)
            try:
                fleet["one"].call("do/hold", {"pipe": sys.argv[1] + "/../holding"})
            except KeyboardInterrupt:
                print(fleet["one"].status.pending, fleet["one"].call("do/echo", {}))
    """
    pipe = lab.pipe("holding")

    def interrupt(process: subprocess.Popen[str]) -> None:
        os.close(os.open(pipe, os.O_RDONLY))
        process.send_signal(signal.SIGINT)

    assert run(lab, script, then=interrupt) == (0, "0 {'echo': {}}\n")


def test_a_handler_that_returns_lets_the_call_go_on_to_its_answer(lab: Lab) -> None:
    script = """
        handled = threading.Event()
        signal.signal(signal.SIGINT, lambda *_: handled.set())
        with blocking.Host() as host:
            fleet = host.fleet(sys.argv[1])
            pids(fleet)
            threading.Thread(target=lambda: (handled.wait(), fleet["one"].call("do/release", {}))).start()
            print(fleet["one"].call("do/hold", {"pipe": sys.argv[1] + "/../holding"}))
    """
    pipe = lab.pipe("holding")

    def interrupt(process: subprocess.Popen[str]) -> None:
        os.close(os.open(pipe, os.O_RDONLY))
        process.send_signal(signal.SIGINT)

    assert run(lab, script, then=interrupt) == (0, "{'late': True}\n")


def test_a_signal_handler_may_close_the_host_under_a_call(lab: Lab) -> None:
    script = """
        host = blocking.Host()
        fleet = host.fleet(sys.argv[1])
        signal.signal(signal.SIGUSR1, lambda *_: host.close())
        pids(fleet)
        try:
            fleet["one"].call("do/hold", {"pipe": sys.argv[1] + "/../holding"})
        except plughost.HostClosed:
            print("closed")
        host.close()
        print(threading.active_count())
    """
    pipe = lab.pipe("holding")

    def tell(process: subprocess.Popen[str]) -> None:
        os.close(os.open(pipe, os.O_RDONLY))
        process.send_signal(signal.SIGUSR1)

    assert run(lab, script, then=tell) == (0, "closed\n1\n")


def test_a_forked_copy_leaves_the_plugins_alone(lab: Lab) -> None:
    script = """
        host = blocking.Host()
        fleet = host.fleet(sys.argv[1])
        pids(fleet)
        child = os.fork()
        if not child:
            try:
                fleet["one"].call("do/echo", {})
            except plughost.HostClosed:
                fleet.close(), host.close()
                os._exit(7)
            os._exit(8)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(fleet["one"].call("do/echo", {}), fleet["one"].status.starts)
        host.close()
    """
    assert run(lab, script) == (0, "7\n{'echo': {}} 1\n")


def test_a_callback_may_close_the_host(lab: Lab) -> None:
    script = """
        host = blocking.Host()
        fleet = host.fleet(sys.argv[1])
        pids(fleet)
        fleet.subscribe(None, lambda snapshot: None)
        host._engine.bus.subscribe(lambda event: event.name == "frame" and host.close())
        try:
            fleet["one"].call("do/echo", {})
        except plughost.HostClosed:
            pass
        host.close()
        print(threading.active_count())
    """
    assert run(lab, script) == (0, "1\n")


@pytest.mark.filterwarnings("ignore:a plughost:ResourceWarning")
def test_a_blocking_host_that_is_forgotten_takes_its_plugins_with_it(lab: Lab, leak_check: None) -> None:
    lab.plugin("puppet", life={"spawn": "eager"})
    before = set(threading.enumerate())
    host = blocking.Host()
    fleet = host.fleet(lab.root)
    pid = fleet["puppet"].call("do/pid", {})["pid"]
    del host, fleet
    gc.collect()
    assert gone(pid)
    for thread in set(threading.enumerate()) - before:
        thread.join(200)
        assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore:a plughost:ResourceWarning")
def test_an_asyncio_host_that_is_forgotten_takes_its_plugins_with_it(lab: Lab) -> None:
    lab.plugin("puppet")

    async def forget() -> int:
        host = plughost.Host()
        fleet = await host.fleet(lab.root)
        return int((await fleet["puppet"].call("do/pid", {}))["pid"])

    pid = asyncio.run(forget())
    gc.collect()
    assert gone(pid)
