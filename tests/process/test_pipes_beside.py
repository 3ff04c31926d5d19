"""Two pipes beside stdin, stdout and stderr: who gets them, in which order they are written, when they end."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Self

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted, Event, Rung
from plughost.host.poll_driver import PollDriver
from plughost.manifest.binding import Binding, Environment
from plughost.process.ladder import Grace
from plughost.process.link import Link
from plughost.process.local import LocalLauncher

pytestmark = pytest.mark.usefixtures("leak_check")

WORKER = """
import os, sys
read, write = (int(os.environ[f"MCP_CONSOLE_IPC_{way}_FD"]) for way in ("READ", "WRITE"))
"""
PATIENCE_S = 200.0


class Recorder:
    """A session that says what it is told to say and keeps what it hears."""

    def __init__(self) -> None:
        self.marks: dict[str, float] = {}
        self.heard = dict.fromkeys(Channel, b"")
        self.ended: list[Channel] = []
        self.status: ExitStatus | None = None
        self.sent = 0
        self.to_say: list[tuple[Channel, bytes]] = []
        self.events: list[Event] = []

    def receive_data(self, data: bytes, channel: Channel) -> None:
        self.heard[channel] += data

    def receive_eof(self, channel: Channel) -> None:
        self.ended.append(channel)

    def receive_exit(self, status: ExitStatus) -> None:
        self.status = status

    def receive_tick(self, now: float) -> None: ...
    def note_time(self, now: float) -> None: ...
    def receive_broken_pipe(self) -> None: ...
    def receive_progress(self) -> None: ...

    def receive_sent(self) -> None:
        self.sent += 1

    def next_deadline(self) -> float | None:
        return None

    def next_event(self) -> Event | None:
        return self.events.pop(0) if self.events else None

    def data_to_send(self) -> list[tuple[Channel, bytes]]:
        said, self.to_say = self.to_say, []
        return said

    @property
    def settled(self) -> bool:
        return False


class Bench:
    """A worker written as a few lines of Python, and its link."""

    def __init__(self, code: str, contract: str = "sideband") -> None:
        self.session = Recorder()
        self.launcher = LocalLauncher()
        binding = Binding(
            name="worker",
            contract=contract,
            command=(sys.executable, "-c", WORKER + code if contract == "sideband" else code),
            directory=Path(),
            cwd=Path().absolute(),
            source="test",
            environment=Environment(set={}),
        )
        self.driver = PollDriver(time.monotonic)
        self.link = Link(
            self.launcher.launch(binding),
            self.session,
            Grace(5.0, 2.0, 2.0),
            self.driver,
            time.monotonic,
            lambda what: None,
        )
        self.link.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.link.end(Rung.KILL)
        self.until(lambda: self.link.finished)
        self.launcher.close()

    def say(self, *said: tuple[Channel, bytes]) -> None:
        self.session.to_say += said
        self.link.pump()

    def until(self, reached) -> None:
        patience = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < patience, self.session.heard
            self.driver.step(self.link, 0.05)
            self.link.on_exit()


def test_what_is_said_beside_stdin_comes_by_itself_and_the_answer_too() -> None:
    with Bench("line = os.read(read, 99); os.write(write, b'heard ' + line); sys.stdin.read()") as bench:
        bench.say((Channel.CONTROL_OUT, b"hello\n"))
        bench.until(lambda: bench.session.heard[Channel.CONTROL_IN] == b"heard hello\n")
        assert bench.session.sent == 1
        assert bench.session.heard[Channel.STDOUT] == b""


def test_what_was_printed_before_something_is_said_beside_is_heard_before_it() -> None:
    code = """
for number in range(200):
    os.write(1, b"%d;" % number)
    os.write(write, b"%d\\n" % number)
sys.stdin.read()
"""
    orders: list[int] = []
    with Bench(code) as bench:
        hear = bench.session.receive_data

        def receive(data: bytes, channel: Channel) -> None:
            hear(data, channel)
            if channel is Channel.CONTROL_IN:
                told = bench.session.heard[Channel.CONTROL_IN].count(b"\n")
                printed = bench.session.heard[Channel.STDOUT].count(b";")
                orders.append(printed - told)

        bench.session.receive_data = receive  # type: ignore[method-assign]
        bench.until(lambda: bench.session.heard[Channel.CONTROL_IN].count(b"\n") == 200)
        assert min(orders) >= 0


def test_stdin_waits_for_what_is_said_beside_it_before() -> None:
    # The worker reads stdin first, and the pipe beside it only when asked to.
    code = """
os.write(write, b"ready")
first = os.read(0, 1)
os.write(1, first)
"""
    much = b"x" * 3_000_000  # more than the pipe holds: it is not written before the worker reads it
    with Bench(code) as bench:
        bench.say((Channel.CONTROL_OUT, much), (Channel.STDIN, b"!"))
        bench.until(lambda: bench.session.heard[Channel.CONTROL_IN] == b"ready")
        assert bench.session.sent == 0
        assert bench.session.heard[Channel.STDOUT] == b""


def test_all_of_it_arrives_in_order_however_much_it_is() -> None:
    code = """
import threading
total = 0
while total < 3_000_000:
    total += len(os.read(read, 65536))
os.write(write, os.read(0, 99))
sys.stdin.read()
"""
    with Bench(code) as bench:
        bench.say((Channel.CONTROL_OUT, b"y" * 3_000_000), (Channel.STDIN, b"payload"))
        bench.until(lambda: bench.session.heard[Channel.CONTROL_IN] == b"payload")
        assert bench.session.sent >= 1


def test_the_ends_of_all_pipes_are_heard_and_nothing_is_left_open() -> None:
    with Bench("os.write(write, b'last words'); os.write(1, b'out'); os._exit(3)") as bench:
        bench.until(lambda: bench.link.finished)
        session = bench.session
        assert session.heard[Channel.CONTROL_IN] == b"last words"
        assert session.heard[Channel.STDOUT] == b"out"
        assert set(session.ended) == {Channel.STDOUT, Channel.STDERR, Channel.CONTROL_IN}
        assert session.status is not None
        assert session.status.code == 3


def test_closing_stdin_ends_what_is_said_beside_it_too() -> None:
    code = "os.read(0, 1); os.write(write, b'%d' % len(os.read(read, 1))); sys.stdin.read()"
    with Bench(code) as bench:
        bench.session.events.append(EndWanted(Rung.CLOSE_STDIN))
        bench.link.pump()
        bench.until(lambda: bench.link.finished)
        assert bench.session.heard[Channel.CONTROL_IN] == b"0"
        assert bench.session.status is not None
        assert bench.session.status.code == 0


def test_a_worker_that_closes_the_pipe_beside_is_not_a_broken_stdin() -> None:
    with Bench(
        "os.close(read); os.write(write, b'closed'); os.write(1, os.read(0, 9)); sys.stdin.read()"
    ) as bench:
        bench.until(lambda: bench.session.heard[Channel.CONTROL_IN] == b"closed")
        bench.say((Channel.CONTROL_OUT, b"unheard\n"), (Channel.STDIN, b"payload"))
        bench.until(lambda: bench.session.heard[Channel.STDOUT] == b"payload")


def test_other_contracts_get_no_such_pipes() -> None:
    code = """
import os
try:
    os.fstat(3)
    print("a fourth descriptor")
except OSError:
    print([name for name in os.environ if "IPC" in name])
"""
    with Bench(code, contract="execute") as bench:
        bench.until(lambda: bench.link.finished)
        shown = bench.session.heard[Channel.STDOUT].decode()
        assert shown == "[]\n"
