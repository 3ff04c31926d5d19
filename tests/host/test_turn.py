"""A lock that one thread holds nearly all the time, and how others get it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable

import pytest

from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.host.turn import Turn
from tests.host.duplex.conftest import lab as lab
from tests.host.duplex.fleet_lab import Lab

STEPS = 1_000  # of the holder: without a turn they are over before anybody has woken
WAIT_S = 200.0


class Holder:
    """A thread that gives the guard up in every step, and takes it again at once."""

    def __init__(self, others: int) -> None:
        self.guard = threading.RLock()
        self.turn = Turn()
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
        self.turn.want()
        with self.guard:
            self.turn.has_come()
            self.left.release()

    def follow(self, condition: threading.Condition, is_woken: threading.Event) -> None:
        """Sleep with the guard given up, and take it again when woken, as those do who wait for another thread."""
        with self.guard:
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
        holder.turn.want(condition)
        condition.notify()
    assert holder.work() <= STEPS
    thread.join(WAIT_S)
    assert not holder.turn._wanting


def test_a_wish_that_was_torn_from_its_owner_is_forgotten_when_nobody_comes() -> None:
    turn = Turn()
    turn.want()  # and an exception comes before the lock is taken
    turn.make_way()
    assert not turn._wanting
    turn.has_come()  # who was late after all does no harm
    turn.make_way()


class Interrupt(Exception):
    """What a signal's handler may raise."""


INTERRUPTS = 300


@pytest.mark.parametrize("verb", ["status", "publish", "key", "subscribe"])
def test_ctrl_c_at_any_moment_leaves_the_guard_free_and_nothing_half_done(lab: Lab, verb: str) -> None:
    lab.plugin("one", caps={"event_bus": True})
    fleet = lab.fleet()
    plugin = fleet["one"]
    plugin.start()
    does: dict[str, Callable[[], object]] = {
        "status": lambda: plugin.status,
        "publish": lambda: fleet.publish("t", b""),
        "key": lambda: plugin.key("s", KeyEvent(KeyCode("enter"))),
        "subscribe": lambda: fleet.subscribe("t", print)(),
    }
    wanted, over = threading.Event(), threading.Event()
    main = threading.get_ident()

    def send() -> None:
        while wanted.wait(WAIT_S) and not over.is_set():
            wanted.clear()
            signal.pthread_kill(main, signal.SIGINT)

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGINT, interrupt)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        for _ in range(INTERRUPTS):
            with contextlib.suppress(Interrupt):
                wanted.set()
                while True:
                    does[verb]()
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()
        wanted.set()
        sender.join(WAIT_S)
    thread = threading.Thread(target=lambda: plugin.status)
    thread.start()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert plugin.call("do/echo", {}) == {"echo": {}}
