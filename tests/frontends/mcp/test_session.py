"""A session and its calls: what did not reach the agent is told with the next turn, and ends are waited for."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from plughost import Host
from plughost.contracts.sideband.items import Omitted
from plughost.errors import LocalProtocolError
from plughost.frontends.mcp.call import carried_out
from plughost.frontends.mcp.session import REPLIES_KEPT, Refusal, Session, Turn, check_name
from plughost.host.sideband.asyncio_console import AsyncConsole
from plughost.host.sideband.reply import ReplyState
from tests.frontends.mcp.agent import ENDLESS, PATIENCE_S, appears, makes, until, waits_for


@asynccontextmanager
async def session(where) -> AsyncIterator[Session]:
    async with Host() as host:
        yield Session(lambda: host.console(sys.executable, cwd=where))


def text(turn: Turn) -> str:
    return "".join(reply.text for reply in turn.replies)


async def silent(seconds: float) -> None:
    del seconds


async def test_a_turn_that_did_not_reach_the_agent_begins_the_next(tmp_path):
    async with session(tmp_path) as it:
        await it.turn("x = 1", PATIENCE_S)
        lost = await it.turn("\x04print('a')", PATIENCE_S)
        it.take_back(lost)
        turn = await it.turn("print('b')", PATIENCE_S)
        assert text(turn) == "a\nb\n"
        assert [notice for reply in turn.replies for notice in reply.notices] == [
            "worker 1 was ended: in-memory state lost"
        ]
        assert text(await it.turn("", PATIENCE_S)) == ""


async def test_of_many_turns_that_did_not_reach_the_agent_the_first_are_only_counted(tmp_path):
    async with session(tmp_path) as it:
        for number in range(100, 200):
            it.take_back(await it.turn(f"print({number})", PATIENCE_S))
        turn = await it.turn("", PATIENCE_S)
        assert len(turn.replies) <= REPLIES_KEPT + 1
        shown = [int(line) for line in text(turn).split()]
        assert shown == list(range(200 - len(shown), 200))
        assert 1 < len(shown) <= REPLIES_KEPT
        omitted = [item for reply in turn.replies for item in reply.items if isinstance(item, Omitted)]
        assert [each.chars for each in omitted] == [4 * (100 - len(shown))]


async def test_a_question_that_was_not_told_is_not_answered_by_chance(tmp_path):
    async with session(tmp_path) as it:
        it.take_back(await it.turn("x = input()", PATIENCE_S))
        turn = await it.turn("y = 1", PATIENCE_S)
        assert turn.refusal is Refusal.WAITING
        assert (await it.turn("y = 1", PATIENCE_S)).refusal is None
        assert text(await it.turn("x", PATIENCE_S)) == "'y = 1'\n"


async def test_who_comes_while_a_cancelled_turn_ends_waits_for_that(tmp_path):
    begun = tmp_path / "begun"
    async with session(tmp_path) as it:
        task = asyncio.ensure_future(it.turn(f"x = 1\n{makes(begun)}{ENDLESS}", PATIENCE_S))
        await appears(begun)
        it.abandon(task)
        task.cancel()
        turn = await it.turn("x", PATIENCE_S)
        assert turn.refusal is None
        assert "KeyboardInterrupt" in text(turn)
        assert text(turn).endswith("1\n")
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_was_done_when_a_call_is_cancelled_is_taken_back():
    taken: list[int] = []
    abandoned: list[asyncio.Task[int]] = []

    async def work() -> int:
        outer.cancel()
        return 5

    outer = asyncio.ensure_future(carried_out(work(), silent, abandoned.append, taken.append))
    with pytest.raises(asyncio.CancelledError):
        await outer
    await asyncio.wait(abandoned)
    await asyncio.sleep(0)
    assert taken == [5]


async def test_work_is_cancelled_once_however_often_the_call_is():
    seen: list[str] = []
    began, end = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await end.wait()  # would be cut short by another
            seen.append("ended")

    outer = asyncio.ensure_future(carried_out(work(), silent))
    await began.wait()
    inner = (asyncio.all_tasks() - {outer, asyncio.current_task()}).pop()
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    outer.cancel()
    end.set()
    await asyncio.wait({inner})
    assert seen == ["ended"]


async def test_an_error_of_the_work_is_the_error_of_the_call():
    async def work() -> None:
        raise LocalProtocolError("no")

    with pytest.raises(LocalProtocolError):
        await carried_out(work(), silent)


async def test_who_waits_no_longer_leaves_the_code_running_and_the_next_turn_shows_everything(tmp_path):
    begun, go, gone = tmp_path / "begun", tmp_path / "go", asyncio.Event()
    async with session(tmp_path) as it:
        code = f"print('first', flush=True)\n{makes(begun)}{waits_for(go)}print('second')\n42"
        task = asyncio.ensure_future(it.turn(code, PATIENCE_S, gone))
        await appears(begun)
        gone.set()
        left = await task
        assert left.replies[-1].state is ReplyState.RUNNING
        it.take_back(left)
        go.touch()
        turn = await it.turn("", PATIENCE_S)
        assert text(turn) == "first\nsecond\n42\n"
        assert not turn.error


async def test_a_session_whose_first_call_is_cancelled_before_its_worker_is_there_is_unused(tmp_path):
    opening = asyncio.Event()

    async def open_late() -> AsyncConsole:
        if not opening.is_set():
            opening.set()
            await asyncio.Event().wait()
        return await host.console(sys.executable, cwd=tmp_path)

    async with Host() as host:
        it = Session(open_late)
        task = asyncio.ensure_future(it.turn("1", PATIENCE_S))
        await opening.wait()
        it.abandon(task)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert it.is_unused
        assert text(await it.turn("2", PATIENCE_S)) == "2\n"


async def test_work_that_is_over_is_told_even_if_it_never_began():
    over: list[int] = []
    work = asyncio.sleep(0)
    outer = asyncio.ensure_future(carried_out(work, silent, over=lambda: over.append(1)))
    await asyncio.sleep(0)  # now it has made its task, which has done nothing yet
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    await until(lambda: over)
    assert over == [1]


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "x" * 64])
def test_a_name_is_a_plain_word(name):
    check_name(name, 0, 1)


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "a/b", "é", "a\n", "\x03"])
def test_another_is_refused(name):
    with pytest.raises(LocalProtocolError):
        check_name(name, 0, 1)


def test_one_session_more_than_there_may_be_is_refused():
    with pytest.raises(LocalProtocolError):
        check_name("a", 1, 1)
