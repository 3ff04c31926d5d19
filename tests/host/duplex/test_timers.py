"""What is to be done at a moment is done then, once, and in order; what is called off is not, and leaves nothing."""

from __future__ import annotations

import random

from plughost.host.duplex.timers import FEW, Timers


def test_what_is_due_is_done_earliest_first_and_once() -> None:
    timers, done = Timers(), list[str]()
    for at, name in ((3.0, "third"), (1.0, "first"), (1.0, "second"), (5.0, "later")):
        timers.add(at, lambda name=name: done.append(name))  # type: ignore[misc]
    assert timers.next_deadline() == 1.0
    timers.pass_to(0.999)
    assert done == []
    timers.pass_to(3.0)
    timers.pass_to(3.0)
    assert done == ["first", "second", "third"]
    assert (len(timers), timers.next_deadline()) == (1, 5.0)


def test_what_is_called_off_is_not_done_however_often() -> None:
    timers, done = Timers(), list[int]()
    off = timers.add(1.0, lambda: done.append(1))
    timers.add(1.0, lambda: done.append(2))
    off()
    off()
    timers.pass_to(2.0)
    off()
    assert done == [2]
    assert timers.next_deadline() is None


def test_work_may_add_and_call_off_work() -> None:
    timers, done = Timers(), list[str]()
    off = timers.add(2.0, lambda: done.append("called off"))

    def work() -> None:
        off()
        timers.add(1.5, lambda: done.append("added"))

    timers.add(1.0, work)
    timers.pass_to(2.0)
    assert done == ["added"]


def test_thousands_that_are_called_off_leave_next_to_nothing() -> None:
    timers, chance = Timers(), random.Random(1)
    kept = [timers.add(chance.random(), lambda: None) for _ in range(10)]
    for _ in range(20_000):
        timers.add(chance.random() * 1e9, lambda: None)()
    assert len(timers) == 10
    assert len(timers._heap) <= 2 * 10 + FEW + 1
    for off in kept:
        off()
    assert len(timers) == 0


def test_clearing_calls_off_everything() -> None:
    timers, done = Timers(), list[int]()
    timers.add(1.0, lambda: done.append(1))
    timers.clear()
    timers.pass_to(2.0)
    assert (done, len(timers), timers.next_deadline()) == ([], 0, None)
