"""Fleets over a long time: hours by a clock moved by hand, and calls without end to processes that are killed."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import select
import signal
import tracemalloc
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from plughost_sdk.frames.content_length import ContentLengthDecoder

import plughost
from plughost.contracts.duplex import host as contract
from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.errors import ManifestError
from plughost.failures import FailureCode, PluginFailure
from plughost.host.duplex.fleet import Fleet
from plughost.host.duplex.options import plan
from plughost.host.duplex.ticket import Ticket
from plughost.host.engine import Engine
from plughost.process.link import Link
from plughost.supervision.states import State
from plughost.testkit import FakeLauncher, FakeProcess, ManualClock
from tests.conftest import children, open_descriptors
from tests.host.duplex.fleet_lab import AT_ONCE, Lab, b64, frame

MIB = 1_048_576
HOUR_S = 3600.0


# Hours by hand


class HandGround:
    """A ground whose time is moved by hand, and where all that can happen at a moment happens at that moment."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.fleet: Fleet | None = None
        self.links: set[Link] = set()
        self._ready: dict[int, Callable[[], None]] = {}
        self._posted: deque[Callable[[], None]] = deque()

    @property
    def watcher(self) -> Any:
        return self

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._ready[fd] = on_ready

    watch_writable = watch

    def unwatch(self, fd: int) -> None:
        self._ready.pop(fd, None)

    unwatch_writable = unwatch

    def adopt(self, link: Link, attend: Callable[[], None]) -> None:
        def changed() -> None:
            attend()
            if link.finished:
                self.links.discard(link)

        self.links.add(link)
        link.on_change = changed
        link.start()

    def expect(self, link: Link) -> None:
        """Every deadline is looked at anyway."""

    def say_soon(self, link: Link) -> None:
        link.say()

    def go_on_soon(self, link: Link) -> None:
        self.post(link.pump)

    def wake_at(self, at: float) -> None:
        """Likewise."""

    def post(self, work: Callable[[], None]) -> None:
        self._posted.append(work)

    def settle(self) -> None:
        """Let everything happen that can happen now."""
        while True:
            poll = select.poll()
            for fd in self._ready:
                poll.register(fd, select.POLLIN)
            found = poll.poll(0)
            if not found and not self._posted:
                return
            for fd, _ in found:
                if fd in self._ready:
                    self._ready[fd]()
            while self._posted:
                self._posted.popleft()()

    def pass_time(self, seconds: float) -> None:
        """Let *seconds* pass, with everything that is due meanwhile at its moment."""
        assert self.fleet is not None
        until = self.clock.now + seconds
        for _ in range(100_000):
            self.settle()
            times = [self.fleet.next_deadline(), *(link.next_deadline() for link in self.links)]
            due = min((at for at in times if at is not None), default=None)
            if due is None or due > until:
                self.clock.now = until
                return
            self.clock.now = max(self.clock.now, due)
            self.fleet.tick(self.clock.now)
            for link in tuple(self.links):
                at = link.next_deadline()
                if at is not None and at <= self.clock.now:
                    link.on_tick(self.clock.now)
        raise AssertionError("a deadline that never passes")


class Actor:
    """The behaviour of every fake process: as it should be, mostly."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names: dict[str, str] = {}

    def __call__(self, process: FakeProcess) -> None:
        decoder = ContentLengthDecoder(16 * MIB)
        name = process.command[-1]
        way = self.chance.choices(["well", "mute", "exits", "prints", "lies"], [20, 1, 1, 1, 1])[0]

        def hear(data: bytes) -> None:
            decoder.receive_data(data)
            while (body := decoder.next_frame()) is not None:
                self.act(process, name, way, json.loads(body))

        process.on_data = hear
        process.on_stdin_close = lambda: self.chance.random() < 0.9 and process.exit()
        if self.chance.random() < 0.1:
            process.ignores.add(signal.SIGTERM)

    def act(self, process: FakeProcess, name: str, way: str, message: dict[str, Any]) -> None:
        if process.has_exited():
            return
        number, method = message.get("id"), message.get("method")
        if method == "plugin/init":
            who = {"name": name if way != "lies" else "another", "version": "1.0.0"}
            if way == "exits":
                process.exit(1)
            elif way == "prints":
                process.say(b"Hello!\n")
            elif way != "mute":
                process.say(frame(id=number, result=who))
            return
        dice = self.chance.random()
        if dice < 0.03:
            process.exit(self.chance.choice((0, 1)), signal=self.chance.choice((None, 9, 11)))
        elif dice < 0.05:
            process.say(b"Content-Length: nonsense\r\n\r\n")
        elif dice < 0.10:
            pass  # nothing is said
        elif number is not None:
            process.say(frame(id=number, result={}))
        elif method == "plugin/handle_event":
            publish = {"topic": self.chance.choice(("a", "b")), "payload": b64(b"x" * 100)}
            if dice < 0.3:
                process.say(frame(method="host/snapshot/publish", params=publish))
            elif dice < 0.5:
                process.say(frame(id=7, method="host/snapshot/get", params={"topic": "a"}))


def live(lab: Lab, hours: float, seed: int) -> Counter[str]:
    """Let three plugins live for *hours*; returns what became of the calls."""
    chance = random.Random(seed)
    life = {"spawn": "lazy", "idle_reap_secs": 60}
    lab.plugin("lazy", caps={"event_bus": True}, hears=("a",), command=["fake", "lazy"], life=life)
    lab.plugin(
        "eager", caps={"event_bus": True}, hears=("b",), command=["fake", "eager"], life={"spawn": "eager"}
    )
    lab.plugin("other", command=["fake", "other"], life={"exit_zero_is_crash": False, "idle_reap_secs": 5})
    clock = ManualClock()
    launcher = FakeLauncher(Actor(chance))
    engine = Engine(launcher, clock)
    ground = HandGround(clock)
    fleet = Fleet(plan([lab.root], {}), engine, ground)
    ground.fleet = fleet
    fleet.begin()
    members = list(fleet.members.values())
    begun, over = 0, Counter[str]()

    def ended(ticket: Ticket) -> None:
        came = ticket.outcome
        over[came.code if isinstance(came, PluginFailure) else type(came).__name__] += 1

    end, measured = clock.now + hours * HOUR_S, 0
    half = clock.now + hours * HOUR_S / 2
    tracemalloc.start()
    try:
        while clock.now < end:
            member = chance.choice(members)
            match chance.choices(["call", "key", "publish", "stop", "reload", "start"], [10, 2, 4, 1, 1, 1])[
                0
            ]:
                case "call":
                    begun += 1
                    ask = contract.call(member.binding, "do/echo", {}, chance.choice((None, 0.5, 5.0)))
                    fleet.ask(member, Ticket(ask, ended))
                case "start":
                    begun += 1
                    fleet.ask(member, Ticket(None, ended))
                case "key":
                    fleet.key(member, "main", KeyEvent(KeyCode("enter")))
                case "publish":
                    fleet.publish(chance.choice(("a", "b")), b"x" * 1000)
                case "stop":
                    member.stop(Ticket(None))
                case "reload":
                    with suppress(ManifestError):
                        fleet.reload(member, Ticket(None))
            ground.pass_time(chance.choice((0.0, 0.01, 0.5, 3.0, 20.0)))
            del launcher.launched[:]
            if clock.now >= half and not measured:
                gc.collect()
                measured = tracemalloc.get_traced_memory()[0]
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - measured
    finally:
        tracemalloc.stop()
    assert grown < 500_000
    fleet.close()
    ground.pass_time(60.0)
    assert fleet.is_over
    assert sum(over.values()) == begun
    assert [member.status.pending for member in members] == [0, 0, 0]
    assert len(fleet._timers) == 0
    assert engine.links == ground.links == set()
    assert fleet.next_deadline() is None
    return over


def test_a_quarter_of_an_hour_of_crashes_leaves_nobody_waiting(lab: Lab) -> None:
    over = live(lab, 0.25, seed=1)
    assert {FailureCode.CRASHED, FailureCode.TIMEOUT} <= set(over)


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_two_hours_of_crashes_leave_nobody_waiting(lab: Lab, seed: int) -> None:
    over = live(lab, 2.0, seed)
    assert {FailureCode.CRASHED, FailureCode.TIMEOUT, FailureCode.HANDSHAKE_FAILED} <= set(over)


# Calls without end


def resident() -> int:
    """Return how much memory this process holds, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


async def call_and_kill(root: Path, calls: int, every: int) -> None:
    """Make *calls*, a few at a time, and kill a process after *every* so many; nothing may be left or grow."""
    chance = random.Random(calls)
    descriptors, kids = len(open_descriptors()), children()
    codes: Counter[str] = Counter()
    answered = early = 0
    async with plughost.Host() as host:
        fleet = await host.fleet(root)
        plugins = list(fleet)

        async def call(number: int) -> int:
            plugin = plugins[number % len(plugins)]
            try:
                assert await plugin.call("do/echo", {"n": number}) == {"echo": {"n": number}}
            except PluginFailure as failure:
                codes[failure.code] += 1
                return 0
            return 1

        size = 25
        for first in range(0, calls, size):
            batch = [asyncio.ensure_future(call(number)) for number in range(first, first + size)]
            if first % every < size:
                await asyncio.sleep(0)
                victim = chance.choice(plugins).status
                if victim.pid is not None and victim.state is State.RUNNING:
                    with suppress(ProcessLookupError):
                        os.kill(victim.pid, signal.SIGKILL)
            came = await asyncio.gather(*batch)
            answered += sum(came)
            if first >= calls // 3 and not early:
                gc.collect()
                early = resident()
        assert answered + codes[FailureCode.CRASHED] == calls
        assert answered > calls * 0.8
        assert sum(plugin.status.starts for plugin in plugins) > 3
        assert [plugin.status.pending for plugin in plugins] == [0, 0, 0]
        assert len(open_descriptors()) - descriptors <= 4 * len(plugins) + 4
        gc.collect()
        assert resident() - early < 8 * MIB
    assert children() <= kids


async def test_3000_calls_to_plugins_that_are_killed_leave_nothing(lab: Lab) -> None:
    for name in ("one", "two", "three"):
        lab.plugin(name, **AT_ONCE)
    await call_and_kill(lab.root, 3_000, 500)


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_100_000_calls_to_plugins_that_are_killed_leave_nothing(lab: Lab) -> None:
    for name in ("one", "two", "three"):
        lab.plugin(name, **AT_ONCE)
    await call_and_kill(lab.root, 100_000, 250)
