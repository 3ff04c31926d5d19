"""A run that is cancelled, interrupted or closed at any moment: nothing is left of it, and nothing half-written.

A moment is an event: what a host tells while it works. A first run counts them; then there is one run for each.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from plughost_sdk import hook_messages as wire

import plughost
from plughost import HostClosed, blocking
from plughost.manifest.binding import Binding
from tests.host.hook.lab import PLAYER, SCHEMA, Lab, generated, gone, info, is_alive, rounds, write

ALL = "detect,plan,generate,validate"
FILE = {"ci.yml": "on: push\n"}
MOMENTS = 26  # of a run of one provider that answers all phases; see the test below
STAYING = {"handshake_s": 600, "timeout_s": 600}


def good(lab: Lab) -> Binding:
    results = (wire.DetectResult(), wire.PlanResult(), generated(*FILE.items()), wire.ValidateResult())
    return lab.play(*rounds(*results, introduction=info(phases=ALL)))


class Moment:
    """Does something at one of the events of a run."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self.number = number
        self.act = act
        self.count = 0
        self.pids: list[int] = []

    def __call__(self, event: Any) -> None:
        if event.name == "spawned":
            self.pids.append(event.pid)
        self.count += 1
        if self.count - 1 == self.number:
            self.act()


def untouched_or_done(lab: Lab) -> bool:
    return lab.files() in ({}, FILE)


def test_a_run_has_as_many_moments_as_these_tests_believe(both: Lab) -> None:
    both.generate(good(both))
    assert len(both.events) == MOMENTS


# Cancelled


@pytest.mark.thin(5)
@pytest.mark.parametrize("moment", range(MOMENTS))
async def test_a_run_that_is_cancelled_at_any_moment_leaves_nothing(moment: int, lab: Lab) -> None:
    at = Moment(moment, lambda: task.cancel() and None)
    async with plughost.Host(on_event=at) as host:
        task = asyncio.ensure_future(host.generate([good(lab)], SCHEMA, lab.out))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not any(map(is_alive, at.pids))
        assert await host.generate([good(lab)], SCHEMA, write=False)  # the host is still good
    assert untouched_or_done(lab)


@pytest.mark.parametrize(
    "words",
    [["stay"], ["read", write(info()), "stay"], ["read", write(info()), "ignore:15", "read", "stay"]],
    ids=["connect", "ask", "stubborn"],
)
async def test_a_run_that_is_out_of_time_is_gone(words: list[str], lab: Lab) -> None:
    pids: list[int] = []
    limit = asyncio.timeout(None)

    def note(event: plughost.Event) -> None:
        if not pids:  # its time begins when there is a process
            limit.reschedule(asyncio.get_running_loop().time() + 0.3)
        pids.append(event.pid)

    async with plughost.Host(on_event=note) as host:
        with pytest.raises(TimeoutError):
            async with limit:
                await host.generate([lab.play(*words, **STAYING)], SCHEMA, lab.out)
        assert pids
        assert not any(map(is_alive, pids))


async def test_a_request_that_is_cancelled_ends_its_process(lab: Lab) -> None:
    async with plughost.Host(on_event=lab._note) as host:
        provider = await host.connect(lab.play("read", write(info()), "stay", **STAYING))
        task = asyncio.ensure_future(provider.generate(wire.GenerateRequest()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_alive(lab.spawned()[0])


async def test_one_that_is_cancelled_again_and_again_still_ends_its_process(lab: Lab) -> None:
    spawned = asyncio.Event()
    lab.listener = lambda event: spawned.set()
    async with plughost.Host(on_event=lab._note) as host:
        running = host.generate([lab.play("ignore:15", "stay", **STAYING)], SCHEMA, lab.out)
        task = asyncio.ensure_future(running)
        await spawned.wait()
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
        assert not is_alive(lab.spawned()[0])


# Closed


@pytest.mark.thin(5)
@pytest.mark.parametrize("moment", range(MOMENTS))
async def test_a_host_that_is_closed_at_any_moment_of_a_run_leaves_nothing(moment: int, lab: Lab) -> None:
    closing: list[asyncio.Future[None]] = []
    at = Moment(moment, lambda: closing.append(asyncio.ensure_future(host.aclose())))
    host = plughost.Host(on_event=at)
    try:
        result = await host.generate([good(lab)], SCHEMA, lab.out)
        assert result.written
        assert lab.files() == FILE
    except HostClosed:
        assert lab.files() == {}
    await host.aclose()
    await asyncio.gather(*closing)
    assert not any(map(is_alive, at.pids))
    with pytest.raises(HostClosed):
        await host.generate([good(lab)], SCHEMA, lab.out)


@pytest.mark.thin(5)
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_host_that_is_closed_by_another_thread_at_any_moment_leaves_nothing(moment: int, lab: Lab) -> None:
    with ThreadPoolExecutor(1) as pool:
        at = Moment(moment, lambda: pool.submit(host.close) and None)
        host = blocking.Host(on_event=at)
        try:
            result = host.generate([good(lab)], SCHEMA, lab.out)
            assert result.written
            assert lab.files() == FILE
        except HostClosed:
            assert lab.files() == {}
    host.close()
    assert not any(map(is_alive, at.pids))


@pytest.mark.parametrize(
    "words",
    [["stay"], ["read", write(info()), "read", "stay"], ["read", write(info()), "ignore:15", "read", "stay"]],
    ids=["connect", "ask", "stubborn"],
)
@pytest.mark.parametrize("verb", ["generate", "connect and ask"])
def test_a_host_that_is_closed_by_another_thread_ends_whoever_waits(
    verb: str, words: list[str], lab: Lab
) -> None:
    greeted = threading.Event()
    lab.listener = lambda event: greeted.set() if event.name == "frame" else None
    binding = lab.play(*words, **STAYING)

    def work() -> None:
        if verb == "generate":
            lab.generate(binding)
        else:
            lab.connect(binding).ask("generate")

    host = lab.host
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(work)
        assert greeted.wait(200)
        host.close()
        with pytest.raises(HostClosed):
            call.result(10)
    assert not any(map(is_alive, lab.spawned()))


class ClosesAtLaunch(plughost.process.local.LocalLauncher):
    """A launcher during which another thread closes the host: the process is not known to anybody yet."""

    host: blocking.Host
    closing: threading.Thread

    def launch(self, binding: Binding) -> Any:
        process = super().launch(binding)
        self.closing = threading.Thread(target=self.host.close)
        self.closing.start()
        while not self.host._engine.closed:
            pass
        return process


def test_a_host_that_is_closed_while_a_process_is_being_started_ends_it(lab: Lab) -> None:
    launcher = ClosesAtLaunch()
    host = launcher.host = blocking.Host(launcher=launcher, on_event=lab._note)
    with pytest.raises(HostClosed):
        host.generate([lab.play("stay", **STAYING)], SCHEMA, lab.out)
    launcher.closing.join(200)
    assert not launcher.closing.is_alive()
    assert not any(map(is_alive, lab.spawned()))


def test_a_signal_handler_may_close_the_host_that_its_thread_waits_for(lab: Lab) -> None:
    greeted = threading.Event()

    def close(*_: object) -> None:
        lab.host.close()

    def interrupt() -> None:
        greeted.wait(200)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    lab.listener = lambda event: greeted.set() if event.name == "frame" else None
    before = signal.signal(signal.SIGUSR1, close)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(HostClosed):
            lab.generate(lab.play("read", write(info()), "stay", **STAYING))
    finally:
        thread.join(200)
        signal.signal(signal.SIGUSR1, before)
    assert not any(map(is_alive, lab.spawned()))


# Interrupted


@pytest.mark.thin(5)
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_an_interrupt_at_any_moment_leaves_nothing(moment: int, lab: Lab) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    at = Moment(moment, interrupt)
    with blocking.Host(on_event=at) as host:
        with pytest.raises(KeyboardInterrupt):
            host.generate([good(lab)], SCHEMA, lab.out)
        assert host.generate([good(lab)], SCHEMA, write=False)  # the host is still good
    assert not any(map(is_alive, at.pids))
    assert untouched_or_done(lab)


PROGRAM = """
import sys
from pathlib import Path
from plughost import blocking
from plughost.manifest.binding import Binding, HookLimits
from plughost_sdk import hook_messages as wire

player, out, *words = sys.argv[1:]
def note(event):
    if event.name == "spawned":
        print(event.pid, flush=True)
    if event.name == "state" and event.what.after == "asked":
        print("asked", flush=True)
command = (sys.executable, "-I", "-S", player, *words)
binding = Binding("", "hook", command, Path(), Path(), limits=HookLimits(timeout_s=600))
with blocking.Host(on_event=note) as host:
    host.generate([binding], wire.CigenSchema(), out)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_host_that_is_interrupted_or_killed_leaves_no_provider_that_waits_for_it(
    number: signal.Signals, tmp_path: Path, leak_check: None
) -> None:
    words = ["read", write(info()), "read", "drain", "exit:0"]
    out = tmp_path / "out"
    command = [sys.executable, "-c", PROGRAM, str(PLAYER), str(out), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        assert program.stdout.readline() == b"asked\n"
        program.send_signal(number)
        _, stderr = program.communicate(timeout=250)
    assert gone(pid)
    assert not os.path.lexists(out)
    if number is signal.SIGINT:
        assert stderr.rstrip().endswith(b"KeyboardInterrupt")
