"""A lock that one thread holds nearly all the time, and how others get it."""

from __future__ import annotations

import threading

import pytest

from plughost.host.turn import Turn

STEPS = 1_000  # of the holder: without a turn they are over before anybody has woken
WAIT_S = 200.0


class Holder:
    """A thread that gives the guard up in every step, and takes it again at once."""

    def __init__(self, others: int) -> None:
        self.guard = threading.RLock()
        self.turn = Turn(self.guard)
        self.left = threading.Semaphore(0)  # how many have been in
        self.others = others
        self.is_held = threading.Event()

    def work(self) -> int:
        """Return how many steps it took until everybody had been in."""
        with self.guard:
            self.is_held.set()
            for step in range(1, STEPS + 1):
                self.guard.release()
                self.turn.make_way()
                self.guard.acquire()
                while self.left.acquire(blocking=False):
                    self.others -= 1
                if not self.others:
                    return step
        raise AssertionError(f"{self.others} never had their turn")

    def visit(self) -> None:
        self.is_held.wait(WAIT_S)
        with self.turn:
            self.left.release()

    def follow(self, condition: threading.Condition, is_woken: threading.Event) -> None:
        """Sleep with the guard given up, and take it again when woken, as those do who wait for another thread."""
        with self.turn:
            is_woken.set()
            try:
                condition.wait(WAIT_S)
            finally:
                self.turn.has_come(condition)
            self.left.release()


@pytest.mark.parametrize("others", [1, 5])
def test_who_wants_it_is_let_in_between_two_steps(others: int) -> None:
    holder = Holder(others)
    threads = [threading.Thread(target=holder.visit) for _ in range(others)]
    holder.guard.acquire()
    for thread in threads:
        thread.start()
    while len(holder.turn._wanting) < others:  # until all of them stand before the door
        holder.is_held.set()
    holder.guard.release()
    assert holder.work() <= STEPS
    for thread in threads:
        thread.join(WAIT_S)
    assert not holder.turn._wanting


def test_who_was_woken_is_let_in_between_two_steps() -> None:
    holder = Holder(1)
    condition, sleeps = threading.Condition(holder.guard), threading.Event()
    thread = threading.Thread(target=holder.follow, args=(condition, sleeps))
    thread.start()
    assert sleeps.wait(WAIT_S)
    with holder.guard:
        holder.turn.expect(condition)
        condition.notify()
    assert holder.work() <= STEPS
    thread.join(WAIT_S)
    assert not holder.turn._wanting


def test_where_nobody_else_wants_it_nobody_waits_and_it_may_be_entered_again() -> None:
    guard = threading.RLock()
    turn = Turn(guard)
    with turn, turn:
        assert turn._guard is guard
    turn.make_way()  # which would take a while if anybody were expected
    turn.has_come("somebody nobody expected")
    assert guard.acquire(False)
    guard.release()
