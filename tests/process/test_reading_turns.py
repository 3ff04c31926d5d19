"""How much is read of a plugin at once: less of one that keeps the others waiting, and all again when that is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plughost.contracts.base import Channel
from plughost.process.appetite import LEAST_READ, TURN_S
from plughost.process.ladder import Grace
from plughost.process.launcher import READ_SIZE
from plughost.process.link import Link
from plughost.process.respite import RESPITE_S


class Torrent:
    """A process that always has more to say. It notes how much was asked for."""

    pid = 1
    command = ("torrent",)
    exit_fd = None

    def __init__(self) -> None:
        self.asked: list[int] = []

    def fileno(self, channel: Channel) -> int:
        return 10 + list(Channel).index(channel)

    def read(self, channel: Channel, size: int = READ_SIZE) -> bytes | None:
        if channel is Channel.CONTROL_IN:  # there it says nothing
            return None
        self.asked.append(size)
        return b"x" * size

    def has_exited(self) -> bool:
        return False


class Costly:
    """A session that takes *cost* seconds for each byte, and the clock by which it does."""

    def __init__(self) -> None:
        self.marks: dict[str, float] = {}
        self.cost = 0.0
        self.now = 0.0
        self.due: float | None = None
        self.judged = False

    def receive_data(self, data: bytes, channel: Channel) -> None:
        self.now += self.cost * len(data)

    def receive_tick(self, now: float) -> None:
        self.judged = self.due is not None and now >= self.due

    def next_deadline(self) -> float | None:
        return self.due

    def note_time(self, now: float) -> None: ...
    def next_event(self) -> None: ...
    def data_to_send(self) -> list[Any]:
        return []


class Watched:
    """Knows what to call when there is something to read."""

    def __init__(self) -> None:
        self.ready: dict[int, Callable[[], None]] = {}

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        self.ready[fd] = on_ready


class Bench:
    def __init__(self) -> None:
        self.process, self.session, self.watched = Torrent(), Costly(), Watched()
        parts: Any = (self.process, self.session, Grace(1, 1, 1), self.watched)
        self.link = Link(*parts, clock=lambda: self.session.now, observe=lambda news: None)
        self.link.start()

    def turns(self, count: int) -> list[int]:
        """Let stdout be readable so often; returns how much was asked for each time."""
        self.process.asked.clear()
        for _ in range(count):
            self.watched.ready[self.process.fileno(Channel.STDOUT)]()
        return list(self.process.asked)


def test_one_that_costs_little_is_read_in_large_pieces() -> None:
    bench = Bench()
    bench.session.cost = TURN_S / READ_SIZE / 2
    assert bench.turns(5) == [READ_SIZE] * 5


def test_one_that_costs_too_much_is_read_in_pieces_that_keep_nobody_waiting() -> None:
    bench = Bench()
    bench.session.cost = TURN_S / LEAST_READ / 3  # what fits a turn is three of the least
    assert bench.turns(7)[-1] == 2 * LEAST_READ
    began = bench.session.now
    bench.turns(1)
    assert bench.session.now - began <= TURN_S


@pytest.mark.parametrize("cost", [1.0, 1000.0])
def test_pieces_are_never_smaller_than_the_least(cost: float) -> None:
    bench = Bench()
    bench.session.cost = cost
    assert bench.turns(20)[-1] == LEAST_READ


def test_one_that_has_calmed_down_is_read_in_large_pieces_again() -> None:
    bench = Bench()
    bench.session.cost = 1.0
    bench.turns(20)
    bench.session.cost = 0.0
    assert bench.turns(10)[-1] == READ_SIZE
    assert max(bench.process.asked) == READ_SIZE


def test_pieces_settle_and_do_not_swing() -> None:
    bench = Bench()
    bench.session.cost = TURN_S / LEAST_READ / 3
    bench.turns(10)
    assert len(set(bench.turns(10))) == 1


def test_before_a_deadline_is_believed_one_piece_is_read_and_no_more() -> None:
    bench = Bench()
    for cost in (0.0, 1.0):  # of one that is read in large pieces, and in small ones
        bench.session.cost = cost
        bench.turns(20)
        bench.process.asked.clear()
        bench.link.on_tick(bench.session.now)
        assert bench.process.asked == [READ_SIZE]


def test_a_late_host_lets_a_torrent_go_on_for_a_moment_and_no_longer() -> None:
    bench = Bench()
    bench.session.due = bench.session.now
    bench.session.now += 60.0
    bench.link.on_tick(bench.session.now)
    assert not bench.session.judged
    bench.turns(20)  # the others have theirs in between
    bench.session.now += RESPITE_S
    bench.link.on_tick(bench.session.now)
    assert bench.session.judged
