"""Interrupts at every stage: what becomes of them is told, and what is in memory survives."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

import plughost
from plughost.errors import LocalProtocolError
from tests.host.sideband.lab import EVERY, PATIENCE_S, Lab

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(EVERY, "sideband-host")

BUSY = {
    "computing": "print('here', flush=True)\nwhile True: pass",
    "sleeping": "import time; print('here', flush=True); time.sleep(1000)",
    "awaiting": "import asyncio; print('here', flush=True); await asyncio.sleep(1000)",
    "joining": "import threading; print('here', flush=True); threading.Event().wait()",
    "child": "import subprocess; print('here', flush=True); subprocess.run(['sleep', '1000'])",
    "shell": "import os; print('here', flush=True); os.system('sleep 1000')\nwhile True: pass",
}


@requirement("sideband:interrupt:told", "sideband:interrupt:delivered")
@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY)
def test_whatever_a_request_does_an_interrupt_ends_it_and_state_survives(both: Lab, code: str) -> None:
    desk = both.console()
    desk.run("x = 'kept'")
    desk.begin_until(code, "here")
    assert desk.interrupt() == "delivered"
    if "os.system" in code:  # the shell was interrupted, and then the loop behind it has to be
        while (reply := desk.poll(0.05)).state == "running":
            desk.interrupt()
    else:
        reply = desk.poll()
    assert (reply.state, reply.error) == ("ready", True)
    assert desk.run("x").text == "'kept'\n"
    assert desk.console.generation == 1


@pytest.mark.parametrize("prompt", ["? ", "", ">>> "], ids=["usual", "none", "like-a-prompt"])
def test_a_question_can_be_interrupted(both: Lab, prompt: str) -> None:
    desk = both.console()
    asked = desk.run(f"x = 1\ninput({prompt!r})")
    assert (asked.state, asked.prompt) == ("waiting for stdin", prompt)
    assert desk.interrupt() == "delivered"
    reply = desk.poll()
    assert (reply.state, reply.error) == ("ready", True)
    assert "KeyboardInterrupt" in reply.text
    with pytest.raises(LocalProtocolError):
        desk.answer("too late")
    assert desk.run("x").text == "1\n"


@requirement("sideband:interrupt:idle")
def test_an_interrupt_while_nothing_runs_does_no_harm(both: Lab) -> None:
    desk = both.console()
    assert desk.interrupt() == "idle"
    reply = desk.run("'unharmed'")
    assert (reply.text, reply.error) == ("'unharmed'\n", False)
    assert desk.interrupt(force=True) == "idle"


def test_an_interrupt_of_a_worker_that_is_gone_finds_nothing_running(both: Lab) -> None:
    desk = both.console()
    desk.run("import os; os._exit(1)")
    assert desk.interrupt() == "idle"
    assert desk.run("1").generation == 2


def test_an_interrupt_right_behind_its_request_ends_it_and_never_the_next(both: Lab) -> None:
    desk = both.console()
    for _ in range(20):
        desk.begin("while True: pass")
        assert desk.interrupt() == "delivered"
        assert desk.poll().state == "ready"
        assert desk.run("'next'").text == "'next'\n"


def test_an_interrupt_around_the_end_of_a_request_never_reaches_the_next(both: Lab) -> None:
    desk = both.console()
    for number in range(50):
        desk.begin("pass")
        assert desk.interrupt() in ("delivered", "idle")
        while desk.poll().state != "ready":
            pass
        assert desk.run(f"{number}").text == f"{number}\n"


def test_an_interrupt_is_felt_once_by_a_handler_of_the_users(both: Lab) -> None:
    desk = both.console()
    desk.run("import signal, time; felt = []")
    code = "signal.signal(2, lambda *_: felt.append(1))\nprint('here', flush=True)\nwhile not felt: time.sleep(.001)"
    desk.begin_until(code, "here")
    assert desk.interrupt() in ("delivered", "idle")  # with the signal alone it may be over before it is told
    assert desk.poll().state == "ready"
    assert desk.run("len(felt)").text == "1\n"


def test_with_force_a_request_that_stops_is_only_interrupted(both: Lab) -> None:
    desk = both.console()
    desk.begin_until(BUSY["computing"], "here")
    assert desk.interrupt(force=True) == "delivered"
    reply = desk.poll()
    assert (reply.state, reply.generation) == ("ready", 1)


async def test_cancelling_a_run_interrupts_the_request_and_nothing_else(leak_check: None) -> None:
    async with plughost.Host() as host:
        console = await host.console()
        await console.run("x = 'kept'")
        task = asyncio.ensure_future(console.run("print('here', flush=True)\nwhile True: pass"))
        await asyncio.sleep(0)  # it is given to the worker before the first wait
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reply = await console.poll(PATIENCE_S)
        assert (reply.state, reply.error) == ("ready", True)
        assert (await console.run("x")).text == "'kept'\n"


async def test_a_reply_that_was_cancelled_in_the_last_moment_is_shown_with_the_next(leak_check: None) -> None:
    async with plughost.Host() as host:
        console = await host.console()
        task = asyncio.ensure_future(console.run("print('kept')"))
        host._engine.bus.subscribe(
            lambda event: event.name == "state" and event.what.after == "idle" and task.cancel()
        )
        await asyncio.wait([task])
        assert task.cancelled()
        assert (await console.poll(PATIENCE_S)).text == "kept\n"


async def test_cancelling_a_poll_interrupts_nothing(leak_check: None) -> None:
    async with plughost.Host() as host:
        console = await host.console()
        await console.run("import time\nwhile not input('? '): pass\nprint('over')")
        await console.answer("", 0)
        task = asyncio.ensure_future(console.poll(PATIENCE_S))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        while (reply := await console.poll(PATIENCE_S)).state != "waiting for stdin":
            pass
        assert (await console.answer("x")).text == "over\n"
        assert not reply.error


async def test_another_task_can_interrupt_but_not_wait_for_the_same_reply(leak_check: None) -> None:
    async with plughost.Host() as host:
        console = await host.console()
        task = asyncio.ensure_future(console.run("while True: pass"))
        await asyncio.sleep(0)  # it is given to the worker before the first wait
        with pytest.raises(LocalProtocolError):
            await console.poll()
        with pytest.raises(LocalProtocolError):
            await console.run("1")
        assert await console.interrupt(PATIENCE_S) == "delivered"
        assert (await task).error


async def test_a_restart_by_another_task_gives_the_waiting_one_its_reply(leak_check: None) -> None:
    async with plughost.Host() as host:
        console = await host.console()
        task = asyncio.ensure_future(console.run("while True: pass"))
        await asyncio.sleep(0)  # it is given to the worker before the first wait
        fresh = await console.restart()
        torn = await task
        assert (torn.state, torn.generation, torn.error) == ("ended", 1, True)
        assert (fresh.state, fresh.generation, fresh.items) == ("ready", 2, ())


def test_a_keyboard_interrupt_of_the_host_interrupts_the_request_too(lab: Lab) -> None:
    desk = lab.console()
    desk.run(f"import os, signal; host = {os.getpid()}")
    for _ in range(10):
        with pytest.raises(KeyboardInterrupt):  # wherever the host is when it comes
            desk.run(f"os.kill(host, {int(signal.SIGINT)})\nwhile True: pass")
        reply = desk.poll()
        assert (reply.state, reply.error) == ("ready", True)
        assert desk.run("host").text == f"{os.getpid()}\n"


def test_a_handler_of_the_users_own_is_called_and_may_use_the_console(lab: Lab) -> None:
    desk = lab.console()
    outcomes: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: outcomes.append(desk.interrupt()))
    try:
        reply = desk.run(f"import os, signal; os.kill({os.getpid()}, signal.SIGINT)\nwhile True: pass")
    finally:
        ours = signal.signal(signal.SIGINT, before)
    assert outcomes == ["delivered"]
    assert (reply.state, reply.error) == ("ready", True)
    assert ours is not before


def test_what_a_keyboard_interrupt_has_torn_away_is_shown_with_the_next_reply(lab: Lab) -> None:
    desk = lab.console()
    for number in range(10):
        with pytest.raises(KeyboardInterrupt):
            desk.run(f"print({number}, flush=True); import os; os.kill({os.getpid()}, {int(signal.SIGINT)})")
        reply = desk.poll()
        shown = reply.text
        while reply.state != "ready":
            reply = desk.poll()
            shown += reply.text
        assert shown.startswith(f"{number}\n")
