"""How long a plugin may take to read what is written to it: from the first try on, while it reads nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plughost.contracts.base import Channel
from plughost.contracts.duplex.session import DuplexSession
from plughost.contracts.duplex.terms import Terms
from plughost.process.ladder import Grace
from plughost.process.link import Link
from plughost.testkit.clock import ManualClock
from tests.contracts.duplex.wire import INIT, NEW, frame

WRITE_S = 2.0


class Pipe:
    """A process whose pipe has *room*, and takes all of a short piece or nothing, as pipes do."""

    exit_fd = 3
    pid = 1
    command = ("plugin",)

    def __init__(self) -> None:
        self.room = 0
        self.written = b""

    def fileno(self, channel: Channel) -> int:
        return 10 + list(Channel).index(channel)

    def write(self, data: bytes | memoryview, channel: Channel = Channel.STDIN) -> int:
        taken = len(data) if len(data) <= self.room else 0
        self.room -= taken
        self.written += bytes(data[:taken])
        return taken

    def read(self, channel: Channel, size: int = 0) -> None: ...
    def send_signal(self, number: int) -> None: ...
    def close(self, channel: Channel) -> None: ...
    def unread(self) -> int:
        return 0

    def has_exited(self) -> bool:
        return False


class Unwatched:
    def watch(self, fd: int, on_ready: Callable[[], None]) -> None: ...
    def watch_writable(self, fd: int, on_ready: Callable[[], None]) -> None: ...
    def unwatch(self, fd: int) -> None: ...
    def unwatch_writable(self, fd: int) -> None: ...


class Desk:
    """A duplex plugin that runs, by a clock that stands still."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.pipe = Pipe()
        self.session = DuplexSession(Terms(write_s=WRITE_S), self.clock())
        parts: Any = (self.pipe, self.session, Grace(1, 1, 1), Unwatched())
        self.link = Link(*parts, clock=self.clock, observe=lambda news: None)
        self.session.begin(INIT)
        self.pipe.room = 10_000
        self.link.start()
        self.session.receive_data(frame(id=1, result=NEW), Channel.STDOUT)
        self.link.pump()

    def say(self, count: int = 1) -> None:
        for _ in range(count):
            self.session.notify("plugin/handle_event", {"topic": "t", "payload": "x" * 300})
        self.link.pump()

    def tick(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.link.on_tick(self.clock())

    @property
    def is_given_up(self) -> bool:
        return self.session.fault is not None


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_the_time_to_read_begins_when_something_is_written_not_when_something_last_happened(
    desk: Desk,
) -> None:
    desk.clock.advance(100 * WRITE_S)  # nothing happens, and nobody looks at the clock
    desk.pipe.room = 0
    desk.say()
    assert desk.link.next_deadline() == desk.clock() + WRITE_S
    desk.tick(WRITE_S - 0.1)
    assert not desk.is_given_up
    desk.tick(0.2)
    assert desk.is_given_up
    assert desk.session.fault is not None
    assert desk.session.fault.limit == "limits.write_s"


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_who_reads_small_pieces_one_after_another_is_never_too_late(desk: Desk) -> None:
    desk.pipe.room = 0
    desk.say(200)
    for _ in range(200):
        desk.clock.advance(WRITE_S - 0.1)
        desk.pipe.room = 7_000  # one piece, and not the next
        desk.link.on_writable()
        deadline = desk.link.next_deadline()
        assert deadline is None or deadline > desk.clock()
    assert desk.link.next_deadline() is None


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_who_has_read_while_the_host_was_away_is_not_given_up(desk: Desk) -> None:
    desk.pipe.room = 0
    desk.say()
    desk.pipe.room = 10_000
    desk.tick(100 * WRITE_S)
    assert not desk.is_given_up
    assert b"handle_event" in desk.pipe.written


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_saying_more_and_more_gives_who_does_not_read_no_more_time(desk: Desk) -> None:
    desk.pipe.room = 0
    desk.say()
    until = desk.link.next_deadline()
    for _ in range(5):
        desk.clock.advance(0.1)
        desk.say()
    assert desk.link.next_deadline() == until
