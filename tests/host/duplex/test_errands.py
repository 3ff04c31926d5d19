"""Work on threads: each process has its own turns, and whatever becomes of the work, somebody is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from plughost.host.duplex.errands import AT_ONCE, AT_ONCE_EACH, AT_ONCE_OF_A_PLUGIN, Errands

PATIENCE_S = 200.0


class Bench:
    """Errands, and a thread that takes in what they post: this one, when it says so."""

    def __init__(self) -> None:
        self.posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.errands = Errands(self.posted.put)
        self.release = threading.Event()
        self.begun: SimpleQueue[str] = SimpleQueue()
        self.came: list[Any] = []

    def hold(self, plugin: str, start: int, count: int = 1) -> None:
        """Let *count* works of a process begin, or wait for their turn; those that begin do not end."""

        def work() -> None:
            self.begun.put(plugin)
            self.release.wait(PATIENCE_S)

        for _ in range(count):
            self.errands.add((plugin, start), work, self.came.append)

    def begins(self, count: int) -> list[str]:
        """Return whose works began, once they are *count*."""
        return [self.begun.get(timeout=PATIENCE_S) for _ in range(count)]

    def take_in(self, count: int) -> None:
        for _ in range(count):
            self.posted.get(timeout=PATIENCE_S)()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    before = set(threading.enumerate())
    yield made
    made.release.set()
    made.errands.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
def test_whatever_is_raised_is_what_came_of_it_and_the_turn_is_free_again(
    bench: Bench, kind: type[BaseException]
) -> None:
    def work() -> None:
        raise kind("why")

    for _ in range(AT_ONCE_EACH + 1):
        bench.errands.add(("a", 1), work, bench.came.append)
    bench.take_in(AT_ONCE_EACH + 1)
    assert [type(each) for each in bench.came] == [kind] * (AT_ONCE_EACH + 1)


def test_a_process_has_so_many_turns_and_no_more(bench: Bench) -> None:
    bench.hold("a", 1, AT_ONCE_EACH + 1)
    bench.hold("b", 1)
    assert sorted(bench.begins(AT_ONCE_EACH + 1)) == ["a"] * AT_ONCE_EACH + ["b"]
    assert bench.begun.empty()


def test_what_a_dead_process_had_begun_takes_no_turn_of_the_next(bench: Bench) -> None:
    bench.hold("a", 1, AT_ONCE_EACH + 3)
    bench.begins(AT_ONCE_EACH)
    bench.errands.forget(("a", 1))
    bench.errands.add(("a", 2), lambda: "served", bench.came.append)
    bench.take_in(1)
    assert bench.came == ["served"]


def test_what_dead_processes_had_begun_is_bounded_for_a_plugin_and_hurts_no_other(bench: Bench) -> None:
    for start in range(10):
        bench.hold("a", start, AT_ONCE_EACH)
    bench.begins(AT_ONCE_OF_A_PLUGIN)
    assert AT_ONCE_OF_A_PLUGIN < AT_ONCE
    bench.errands.add(("b", 1), lambda: "served", bench.came.append)
    bench.take_in(1)
    assert bench.came == ["served"]
    assert bench.begun.empty()


def test_what_waits_is_begun_when_a_dead_processs_work_ends(bench: Bench) -> None:
    for start in range(4):
        bench.hold("a", start, AT_ONCE_EACH)
    bench.begins(AT_ONCE_OF_A_PLUGIN)
    bench.errands.add(("a", 9), lambda: "served", bench.came.append)
    bench.release.set()
    bench.take_in(AT_ONCE_OF_A_PLUGIN + 1)
    assert bench.came.count("served") == 1
