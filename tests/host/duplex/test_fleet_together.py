"""Calls that are in flight together: none is lost or mistaken, and what is told of them is what happened."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import plughost
from plughost import blocking
from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, PluginFailure
from plughost.process.wire_log import WireLog
from tests.host.duplex.fleet_lab import EVERY, QUICK, Lab

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

MANY = 64  # in flight, several times as many as are written at once


@pytest.fixture
def plugins(lab: Lab) -> Path:
    lab.plugin(
        "one",
        caps={"event_bus": True},
        commands=("act",),
        namespaces=("usage",),
        hears=("t",),
        **QUICK | {"handshake_s": 60.0},  # no test here wants it to be late
    )
    return lab.root


def watch(event: plughost.Event) -> None:
    """Hear everything: whoever is watched is kept off the short way."""


async def test_calls_of_every_kind_at_once_each_get_their_own_answer(plugins: Path) -> None:
    async with plughost.Host() as host:
        one = (await host.fleet(plugins))["one"]
        await one.start()
        for _ in range(5):
            echoes = [one.call("do/echo", {"n": number, "é": "x" * number}) for number in range(MANY)]
            acts = [one.invoke("act", b"%d" % number) for number in range(MANY)]
            commands = [one.cli("usage", [str(number)]) for number in range(MANY)]
            kinds = [each for three in zip(echoes, acts, commands, strict=True) for each in three]
            came = await asyncio.gather(*kinds)
            assert [each["echo"]["n"] for each in came[::3]] == list(range(MANY))
            assert list(came[1::3]) == [b"one:%d" % number for number in range(MANY)]
            assert [each.exit_code for each in came[2::3]] == list(range(MANY))
        assert one.status.pending == one.status.ignored == 0


async def test_what_is_published_between_two_calls_is_heard_between_them(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        one = fleet["one"]
        await one.start()

        async def publish(payload: bytes) -> None:
            fleet.publish("t", payload)

        came = await asyncio.gather(
            *(one.call("do/echo", {}) for _ in range(5)),
            one.call("do/told", {}),
            publish(b"x"),
            one.call("do/told", {}),
            publish(b"y"),
            one.call("do/told", {}),
        )
        assert [len(came[at]["told"]) for at in (5, 7, 9)] == [0, 1, 2]


@pytest.mark.parametrize("watcher", [None, watch], ids=["short", "long"])
async def test_the_refused_and_the_odd_among_many_are_those_alone(plugins: Path, watcher: Any) -> None:
    async with plughost.Host(on_event=watcher) as host:
        one = (await host.fleet(plugins))["one"]
        await one.start()
        odd = {7: one.call("no/such"), 20: one.invoke("act", b"error"), 33: one.invoke("act", b"wrong")}
        calls = [odd.get(number) or one.call("do/echo", {"n": number}) for number in range(MANY)]
        came = await asyncio.gather(*calls, return_exceptions=True)
        failed = {at: type(each) for at, each in enumerate(came) if isinstance(each, BaseException)}
        assert failed == {
            7: plughost.RemoteError,
            20: plughost.RemoteError,
            33: plughost.MalformedResponse,
        }
        assert all(came[at]["echo"]["n"] == at for at in range(MANY) if at not in failed)


async def outcomes(plugins: Path, watcher: Any, *, reads: bool) -> list[tuple[FailureCode, bool]]:
    """Return how calls end of a plugin that is killed under them, after it has read them all or none."""
    async with plughost.Host(on_event=watcher) as host:
        one = (await host.fleet(plugins))["one"]
        pid = (await one.call("do/pid", {}))["pid"]
        if not reads:
            await one.call("do/block", {})
        calls = [asyncio.ensure_future(one.call("do/hold", {"x": "y" * 2000})) for _ in range(MANY)]
        for _ in range(5):  # turns of the loop, after which as much is written as the pipe holds
            await asyncio.sleep(0)
        assert one.status.pending == MANY
        if reads:
            await one.call("do/echo", {})
        os.kill(pid, signal.SIGKILL)
        came = await asyncio.gather(*calls, return_exceptions=True)
    failures = [each for each in came if isinstance(each, PluginFailure)]
    assert len(failures) == MANY
    return [(each.code, each.autopsy.delivered) for each in failures]


@pytest.mark.parametrize("reads", [True, False])
async def test_of_calls_that_died_with_the_plugin_is_known_whether_it_read_them(
    plugins: Path, reads: bool
) -> None:
    short = await outcomes(plugins, None, reads=reads)
    assert short == await outcomes(plugins, watch, reads=reads)
    assert short == [(FailureCode.CRASHED, reads)] * MANY


async def test_an_autopsy_shows_the_last_frames_of_many_in_their_order(plugins: Path) -> None:
    async with plughost.Host() as host:
        one = (await host.fleet(plugins))["one"]
        await one.start()
        await asyncio.gather(*(one.call("do/echo", {"n": number}) for number in range(MANY)))
        calls = [one.call("do/exit", {"code": 3})] + [one.call("do/echo", {"n": n}) for n in range(4)]
        came = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(came[0], PluginFailure)
    frames = came[0].autopsy.frames
    asked = [json.loads(each.head)["method"] for each in frames if each.direction == "out"]
    assert asked == ["do/exit"] + ["do/echo"] * 4
    assert json.loads(frames[0].head)["result"]["echo"]["n"] == MANY - 1


async def test_a_watcher_who_comes_while_calls_are_in_flight_costs_none_of_them(plugins: Path) -> None:
    async with plughost.Host() as host:
        one = (await host.fleet(plugins))["one"]
        await one.start()

        async def listen() -> Any:
            return host.events()

        half = [one.call("do/echo", {"n": number}) for number in range(MANY // 2)]
        rest = [one.call("do/echo", {"n": number}) for number in range(MANY // 2, MANY)]
        came = await asyncio.gather(*half, listen(), *rest)
        stream = came.pop(MANY // 2)
        assert [each["echo"]["n"] for each in came] == list(range(MANY))
        event = await anext(stream)
        assert event.plugin == "one"


class Clock:
    """The real time, and what it is put forward by."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.mark.parametrize("watcher", [None, watch], ids=["short", "long"])
async def test_an_application_that_keeps_the_loop_busy_after_its_calls_costs_none_of_them(
    lab: Lab, watcher: Any
) -> None:
    lab.plugin("one", write_s=60.0)
    clock = Clock()
    async with plughost.Host(on_event=watcher, clock=clock) as host:
        one = (await host.fleet(lab.root))["one"]
        pipe = lab.pipe("reading")
        await one.call("do/block", {"pipe": str(pipe)})
        calls = [
            asyncio.ensure_future(one.call("do/echo", {"x": "y" * 2000}, timeout=999)) for _ in range(MANY)
        ]
        await asyncio.sleep(0)  # they are made, and will be written in the next turn
        clock.ahead += 100.0
        for _ in range(5):  # turns, in which as much is written as the pipe holds
            await asyncio.sleep(0)
        link = one._member.link
        assert link is not None
        assert (link.next_deadline() or 0.0) > clock()
        os.close(await asyncio.to_thread(os.open, pipe, os.O_RDONLY))  # now it reads
        await asyncio.gather(*calls)
        assert one.status.starts == 1


async def test_a_call_that_cannot_be_made_leaves_no_trace_among_the_frames(plugins: Path) -> None:
    async with plughost.Host() as host:
        one = (await host.fleet(plugins))["one"]
        await one.start()
        first = asyncio.ensure_future(one.call("do/echo", {}))
        await asyncio.sleep(0)
        assert one.key("main", KeyEvent(KeyCode("enter")))
        with pytest.raises(LocalProtocolError):
            await one.call("do/echo", {"x": float("nan")})
        await first
        with pytest.raises(PluginFailure) as caught:
            await one.call("do/exit", {"code": 3})
    assert all(each.size for each in caught.value.autopsy.frames)


class Handler:
    """A signal's handler that comes when a call is noted and not yet written, and tells a plugin of a long key."""

    def __init__(self, plugin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._plugin = plugin
        self._note_call = WireLog.note_call
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(WireLog, "note_call", lambda log, frame: self._noted(log, frame))

    def _noted(self, log: WireLog, frame: bytes) -> None:
        self._note_call(log, frame)
        self._monkeypatch.setattr(WireLog, "note_call", self._note_call)
        assert self._plugin.key("s" * 3_000_000, KeyEvent(KeyCode("enter")))


def test_a_signal_handler_in_the_middle_of_a_call_tears_no_frame(
    plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with blocking.Host() as host:
        one = host.fleet(plugins)["one"]
        one.start()
        one.call("do/echo", {})
        Handler(one, monkeypatch)
        assert one.call("do/echo", {"n": 1})["echo"]["n"] == 1
        told = one.call("do/told", {})["told"]
        assert [each["method"] for each in told] == ["plugin/handle_key"]


async def test_a_call_beside_another_is_not_left_waiting_by_a_plugin_that_closes_its_input(
    plugins: Path,
) -> None:
    async with plughost.Host() as host:
        one = (await host.fleet(plugins))["one"]
        await one.call("do/echo", {})
        closing = asyncio.ensure_future(one.call("do/close", {"fd": 0}))
        waiting = asyncio.ensure_future(one.invoke("act", b"hold"))  # which may take for ever
        came = await asyncio.gather(closing, waiting, return_exceptions=True)
    assert isinstance(came[1], PluginFailure)
    assert came[1].code is FailureCode.CRASHED


async def test_calls_keep_their_order_whatever_was_published_between_them(lab: Lab) -> None:
    lab.plugin("one", caps={"event_bus": True}, hears=("t",), write_s=60.0)
    async with plughost.Host() as host:
        fleet = await host.fleet(lab.root)
        one = fleet["one"]
        pipe = lab.pipe("reading")
        order: list[int] = []

        async def ask(number: int) -> None:
            await one.call("do/echo", {"n": number})
            order.append(number)

        for extra in range(12):
            await one.call("do/block", {"pipe": str(pipe)})
            for _ in range(8 + extra):
                fleet.publish("t", b"x" * 2_000)
            first = asyncio.ensure_future(ask(0))
            await asyncio.sleep(0)
            os.close(await asyncio.to_thread(os.open, pipe, os.O_RDONLY))
            await asyncio.gather(first, *(ask(number) for number in range(1, 50)))
            assert order == list(range(50))
            order.clear()
