"""Waiters without a plugin: to a task they are futures, and who has read many answers wakes all that wait for them."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable

import pytest

from plughost.host.duplex.ticket import Ticket
from plughost.host.duplex.waiter import Heard, Waiter, Waiters

WHO = contextvars.ContextVar("who", default="nobody")
WAIT_S = 60.0


class Desk:
    """Tickets that wait, and a descriptor that may be ready."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.waiters = Waiters(self.loop)
        self.log: list[str] = []
        self.over = asyncio.Event()

    def ticket(self) -> Ticket:
        return Ticket(None, self.waiters.end, waiter=Waiter(self.loop))

    def begin(self, name: str, ticket: Ticket, then: Callable[[], None] = lambda: None) -> asyncio.Task[str]:
        async def wait() -> str:
            WHO.set(name)
            await ticket.waiter
            self.log.append(f"{name} is {WHO.get()}")
            then()
            return name

        return asyncio.create_task(wait(), name=name)

    def hear(self, *tickets: Ticket) -> None:
        """Hear the end of *tickets* in one turn of the loop, in no task, and note when that is done."""

        def on_ready() -> None:
            for ticket in tickets:
                ticket.end(None)
            self.log.append("heard")

        def ready() -> None:
            try:
                Heard(self.waiters, on_ready)()
            finally:
                self.log.append("ready")
                self.over.set()

        self.loop.call_soon(ready)


async def test_tasks_go_on_when_all_is_heard_in_order_and_each_in_its_own_context():
    desk = Desk()
    tickets = [desk.ticket() for _ in range(3)]
    tasks = [desk.begin(str(number), ticket) for number, ticket in enumerate(tickets)]
    await asyncio.sleep(0)
    desk.hear(*tickets)
    await desk.over.wait()
    assert desk.log == ["heard", "0 is 0", "1 is 1", "2 is 2", "ready"]
    assert await asyncio.gather(*tasks) == ["0", "1", "2"]
    assert WHO.get() == "nobody"


async def test_what_ends_at_another_time_wakes_its_task_by_way_of_the_loop():
    desk = Desk()
    ticket = desk.ticket()
    task = desk.begin("late", ticket)
    await asyncio.sleep(0)
    ticket.end(None)
    desk.log.append("ended")
    assert await task == "late"
    assert desk.log == ["ended", "late is late"]


async def test_a_ticket_that_is_over_before_anybody_waits_makes_nobody_wait():
    desk = Desk()
    ticket = desk.ticket()
    ticket.end(None)
    assert ticket.waiter.done()
    assert not ticket.waiter.cancelled()
    async with asyncio.timeout(WAIT_S):
        await ticket.waiter


@pytest.mark.parametrize("words", [(), ("enough",)])
async def test_a_task_that_is_cancelled_is_told_so_once_and_an_answer_later_changes_nothing(
    words: tuple[str, ...],
):
    desk = Desk()
    ticket = desk.ticket()
    task = desk.begin("one", ticket)
    await asyncio.sleep(0)
    assert task.cancel(*words)
    desk.hear(ticket)
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert caught.value.args == words
    await desk.over.wait()
    assert task.cancelled()
    assert ticket.waiter.cancel() is False


async def test_a_task_that_is_cancelled_when_its_answer_is_there_is_cancelled_all_the_same():
    desk = Desk()
    tickets = [desk.ticket(), desk.ticket()]
    second: list[asyncio.Task[str]] = []
    first = desk.begin("first", tickets[0], lambda: second[0].cancel() and None)
    second.append(desk.begin("second", tickets[1]))
    await asyncio.sleep(0)
    desk.hear(*tickets)
    assert await first == "first"
    with pytest.raises(asyncio.CancelledError):
        await second[0]
    assert desk.log[:2] == ["heard", "first is first"]


async def test_a_task_that_ends_the_loop_takes_no_answer_with_it():
    desk = Desk()
    tickets = [desk.ticket() for _ in range(3)]

    def stop() -> None:
        raise SystemExit

    tasks = [
        desk.begin("first", tickets[0]),
        desk.begin("stopper", tickets[1], stop),
        desk.begin("last", tickets[2]),
    ]
    await asyncio.sleep(0)

    def on_ready() -> None:
        for ticket in tickets:
            ticket.end(None)

    def ready() -> None:
        with contextlib.suppress(SystemExit):  # as if the loop were run again
            Heard(desk.waiters, on_ready)()
        desk.over.set()

    desk.loop.call_soon(ready)
    await desk.over.wait()
    assert await tasks[2] == "last"
    assert desk.log == ["first is first", "stopper is stopper", "last is last"]
    assert isinstance(tasks[1].exception(), SystemExit)


async def test_what_a_task_ends_when_it_goes_on_is_told_in_a_moment():
    desk = Desk()
    outer, inner = desk.ticket(), desk.ticket()
    desk.begin("outer", outer, lambda: inner.end(None))
    task = desk.begin("inner", inner)
    await asyncio.sleep(0)
    desk.hear(outer)
    assert await task == "inner"
    assert desk.log == ["heard", "outer is outer", "ready", "inner is inner"]


async def test_a_callback_that_raises_keeps_nobody_waiting():
    desk = Desk()
    ticket = desk.ticket()
    task = desk.begin("one", ticket)
    await asyncio.sleep(0)

    def on_ready() -> None:
        ticket.end(None)
        raise ValueError("what a listener may do")

    def ready() -> None:
        with pytest.raises(ValueError, match="listener"):
            Heard(desk.waiters, on_ready)()

    desk.loop.call_soon(ready)
    assert await task == "one"


async def test_time_limits_and_groups_of_asyncio_take_it_for_a_future():
    desk = Desk()
    assert asyncio.isfuture(desk.ticket().waiter)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await desk.ticket().waiter
    ticket = desk.ticket()

    async def wait() -> str:
        await ticket.waiter
        return "done"

    waiting = asyncio.create_task(asyncio.wait_for(wait(), WAIT_S))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    desk.hear(ticket)
    assert await waiting == "done"
