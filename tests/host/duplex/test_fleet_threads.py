"""The blocking host on many threads: whoever waits works, and somebody works while nobody waits."""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import suppress
from typing import Any

import pytest

from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.errors import HostClosed, LocalProtocolError
from plughost.failures import FailureCode, PluginFailure
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import AT_ONCE, EVERY, PATIENCE_S, Lab

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

BUS = {"event_bus": True}


def hammer(lab: Lab, threads: int, calls: int, kills: int) -> list[Any]:
    """Call three plugins from many threads while their processes are killed; returns what was wrong."""
    for name in ("one", "two", "three"):
        lab.plugin(name, **AT_ONCE)
    fleet = lab.fleet()
    wrong: list[Any] = []
    done = threading.Event()

    def caller(seed: int) -> None:
        chance = random.Random(seed)
        for number in range(calls):
            plugin = fleet[chance.choice(("one", "two", "three"))]
            asked = {"thread": seed, "number": number}
            try:
                got = plugin.call("do/echo", asked)
                if got != {"echo": asked}:
                    wrong.append(got)
            except PluginFailure as failure:
                if failure.code is not FailureCode.CRASHED or failure.autopsy.exit is None:
                    wrong.append(failure)

    def killer() -> None:
        chance = random.Random(0)
        for _ in range(kills):
            plugin = fleet[chance.choice(("one", "two", "three"))]
            pid = plugin.status.pid
            if pid is not None and plugin.status.state is State.RUNNING:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if done.wait(chance.random() / 50):
                return

    callers = [threading.Thread(target=caller, args=(seed,), daemon=True) for seed in range(threads)]
    kill = threading.Thread(target=killer, daemon=True)
    for thread in (*callers, kill):
        thread.start()
    for thread in callers:
        thread.join(200)
        assert not thread.is_alive()
    done.set()
    kill.join()
    assert [fleet[name].status.pending for name in ("one", "two", "three")] == [0, 0, 0]
    return wrong


def test_every_call_of_every_thread_gets_its_own_answer_while_processes_are_killed(lab: Lab) -> None:
    assert hammer(lab, threads=4, calls=40, kills=10) == []


@pytest.mark.long
def test_8_threads_with_200_calls_each_get_their_own_answers_while_processes_are_killed(lab: Lab) -> None:
    assert hammer(lab, threads=8, calls=200, kills=1000) == []


def muddle(lab: Lab, threads: int, turns: int) -> None:
    """Let many threads do anything to three plugins at once; every one of them comes back."""
    for name in ("one", "two", "three"):
        lab.plugin(name, caps=BUS, hears=("t",), commands=(name,), **AT_ONCE, teardown_s=0.5)
    fleet = lab.fleet(actions={"own": bytes.upper})
    wrong: list[Any] = []

    def worker(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(turns):
            name = chance.choice(("one", "two", "three"))
            plugin = fleet[name]
            act = {"action": chance.choice(("one", "two", "own")), "payload": "", "timeout_ms": 5000}
            try:
                match chance.randrange(12):
                    case 0:
                        plugin.stop()
                    case 1:
                        plugin.reload()
                    case 2:
                        plugin.call("do/exit", {})
                    case 3:
                        plugin.start()
                    case 4:
                        fleet.publish("t", bytes(chance.randrange(50_000)))
                    case 5:
                        plugin.key("main", KeyEvent(KeyCode("enter")))
                    case 6:
                        plugin.call("do/ask", {"method": "host/action/invoke", "params": act})
                    case 7:
                        plugin.call("do/hold", {}, timeout=0.01)
                    case _:
                        plugin.call("do/echo", {"x": seed})
            except (HostClosed, PluginFailure):
                pass  # somebody else has stopped it, or it has crashed
            except Exception as error:
                wrong.append(error)

    workers = [threading.Thread(target=worker, args=(seed,), daemon=True) for seed in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join(200)
        assert not each.is_alive()
    assert wrong == []
    for name in ("one", "two", "three"):
        assert lab.call("echo", of=name)
        assert lab.status(name).pending == 0


def test_threads_that_do_anything_at_once_all_come_back(lab: Lab) -> None:
    muddle(lab, threads=4, turns=15)


@pytest.mark.long
def test_many_threads_that_do_anything_at_once_all_come_back(lab: Lab) -> None:
    muddle(lab, threads=8, turns=150)


# Callbacks


def test_a_callback_may_not_wait_wherever_it_is_called_from(lab: Lab) -> None:
    lab.plugin("speaker", caps=BUS)
    lab.plugin("other")
    fleet = lab.fleet()
    came: list[Any] = []

    def hearer(snapshot: Any) -> None:
        for verb in (fleet["other"].start, fleet["other"].stop, fleet["other"].reload):
            try:
                came.append(verb())
            except LocalProtocolError as error:
                came.append(type(error))

    fleet.subscribe(None, hearer)
    fleet.publish("t", b"by the host")  # on this thread
    lab.publishes("t", b"by a plugin", of="speaker")  # on whichever works
    assert came == [LocalProtocolError] * 6
    assert lab.call("echo", of="other")


def test_a_listener_may_not_wait_and_may_look(lab: Lab) -> None:
    lab.plugin()
    fleet = lab.fleet()
    came: list[Any] = []

    def listener(event: Any) -> None:
        if event.name == "frame" and not came:
            came.append(fleet["puppet"].status.state)
            with pytest.raises(LocalProtocolError):
                fleet["puppet"].call("do/echo", {})

    lab.listener = listener
    assert lab.call("echo", {"x": 1}) == {"echo": {"x": 1}}
    assert came == [State.SPAWNING]


def test_a_callback_may_publish_and_press_keys(lab: Lab) -> None:
    lab.plugin("speaker", caps=BUS)
    lab.plugin("hearer", caps=BUS, hears=("again",))
    fleet = lab.fleet()
    fleet.subscribe("t", lambda snapshot: fleet.publish("again", snapshot.payload))
    lab.publishes("t", b"x", of="speaker")
    assert lab.heard(1, of="hearer") == [("again", b"x")]


# While nobody calls


def test_what_an_eager_plugin_publishes_arrives_while_nobody_calls(lab: Lab) -> None:
    lab.plugin("puppet", "init-tells=hello", caps=BUS, life={"spawn": "eager"})
    heard = threading.Event()
    fleet = lab.fleet()
    end = fleet.subscribe("hello", lambda snapshot: heard.set())
    if fleet.snapshot("hello") is None:
        assert heard.wait(PATIENCE_S)
    end()


def test_a_callback_that_wants_to_exit_does_not_end_the_service_while_nobody_calls(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.plugin("puppet", "relay=b", caps=BUS, hears=("a",))
    fleet = lab.fleet()
    fleet["puppet"].start()
    heard: list[bytes] = []
    told: list[type[BaseException]] = []
    monkeypatch.setattr("sys.excepthook", lambda kind, *_: told.append(kind))

    def hear(snapshot: Any) -> None:
        heard.append(snapshot.payload)
        raise SystemExit(3)

    fleet.subscribe("b", hear)
    for number in range(3):
        fleet.publish("a", b"%d" % number)
        lab.until(lambda number=number: len(heard) > number)  # type: ignore[misc]
    assert heard == [b"0", b"1", b"2"]
    assert set(told) <= {SystemExit}


def test_a_plugin_that_dies_is_started_again_while_nobody_calls(lab: Lab) -> None:
    lab.plugin("puppet", "init-tells=hello", caps=BUS, life={"spawn": "eager"}, **AT_ONCE)
    published = threading.Semaphore(0)
    fleet = lab.fleet()
    fleet.subscribe("hello", lambda snapshot: published.release())
    for _ in range(3):
        pid = lab.pid()
        while published.acquire(blocking=False):
            pass
        os.kill(pid, signal.SIGKILL)
        assert published.acquire(timeout=PATIENCE_S)


def test_a_plugins_calls_are_served_while_nobody_calls(lab: Lab) -> None:
    lab.plugin("one", "relay=two", caps=BUS, hears=("one",))
    lab.plugin("two", "relay=three", caps=BUS, hears=("two",))
    arrived = threading.Event()
    fleet = lab.fleet()
    fleet.subscribe("three", lambda snapshot: arrived.set())
    fleet.publish("one", b"x")
    assert arrived.wait(PATIENCE_S)


def test_a_deadline_is_kept_while_others_wait_for_ever(lab: Lab) -> None:
    lab.plugin("slow")
    lab.plugin("puppet")
    lab.fleet()
    lab.pid("slow"), lab.pid()
    begun = lab.begin(*[lab.calling("hold", of="slow")] * 3)
    lab.until(lambda: lab.status("slow").pending == 3)
    for _ in range(3):
        with pytest.raises(PluginFailure) as caught:
            lab.call("hold", timeout=0.02)
        assert caught.value.code is FailureCode.TIMEOUT
    lab.run(lab._fleet.close)
    assert [type(each) for each in lab.wait_for(begun)] == [HostClosed] * 3


def test_a_thread_that_ends_takes_no_plugin_with_it(lab: Lab) -> None:
    lab.plugin()
    fleet = lab.fleet()
    starter = threading.Thread(target=fleet["puppet"].start)
    starter.start()
    starter.join()
    assert lab.call("echo")
    assert lab.status().starts == 1
