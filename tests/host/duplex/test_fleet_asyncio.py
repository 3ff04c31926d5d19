"""The asyncio host: tasks that are cancelled, groups of them, and loops that are not its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import plughost
from plughost.contracts.base import FramePassed
from plughost.errors import HostClosed, LocalProtocolError
from plughost.failures import FailureCode
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import EVERY, Lab, is_alive

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")


@pytest.fixture
def plugins(lab: Lab) -> Path:
    lab.plugin("one", commands=("act",), teardown_s=0.2, terminate_s=0.2)
    lab.plugin("two")
    return lab.root


async def test_a_call_that_is_cancelled_is_forgotten_and_its_late_answer_dropped(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        one = fleet["one"]
        await one.start()
        task = asyncio.create_task(one.call("do/hold", {}))
        await asyncio.sleep(0)
        assert one.status.pending == 1
        await one.call("do/echo", {})
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert one.status.pending == 0
        assert await one.call("do/release", {}) == {"released": 1}
        await one.call("do/echo", {})
        assert one.status.ignored == 1


async def test_a_call_that_is_cancelled_before_there_is_a_process_is_never_made(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        task = asyncio.create_task(fleet["one"].call("do/exit", {"code": 9}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await fleet["one"].call("do/echo", {}) == {"echo": {}}
        assert fleet["one"].status.starts == 1


async def test_a_timeout_of_asyncio_does_no_harm(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        await fleet["one"].start()
        for _ in range(5):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await fleet["one"].call("do/hold", {})
        assert fleet["one"].status.pending == 0
        assert not fleet["one"].status.wedged
        assert await fleet["one"].call("do/release", {}) == {"released": 5}


async def test_in_a_group_one_failure_cancels_the_other_calls_and_no_plugin(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        await fleet["two"].start()

        async def together() -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(5):
                    group.create_task(fleet["two"].call("do/hold", {}))
                group.create_task(fleet["one"].call("do/exit", {"code": 1}))

        with pytest.raises(ExceptionGroup) as caught:
            await together()
        assert [each.code for each in caught.value.exceptions] == [FailureCode.CRASHED]  # type: ignore[union-attr]
        assert fleet["two"].status.pending == 0
        assert await fleet["two"].call("do/release", {}) == {"released": 5}


async def test_a_thousand_calls_at_once_are_each_answered(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        calls = [fleet[("one", "two")[number % 2]].call("do/echo", {"n": number}) for number in range(1000)]
        came = await asyncio.gather(*calls)
        assert [each["echo"]["n"] for each in came] == list(range(1000))


async def test_a_close_that_is_cancelled_goes_on(plugins: Path) -> None:
    host = plughost.Host()
    fleet = await host.fleet(plugins)
    pid = (await fleet["one"].call("do/pid", {}))["pid"]
    closing = asyncio.create_task(fleet.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await fleet.close()
    assert not is_alive(pid)
    with pytest.raises(HostClosed):
        await fleet["one"].start()
    await host.aclose()


async def test_a_stop_that_is_cancelled_goes_on(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        await fleet["one"].start()
        stopping = asyncio.create_task(fleet["one"].stop())
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        await fleet["one"].stop()
        assert fleet["one"].state is State.IDLE


async def test_a_host_is_closed_by_another_task_under_a_call(plugins: Path) -> None:
    host = plughost.Host()
    fleet = await host.fleet(plugins)
    await fleet["one"].start()
    task = asyncio.create_task(fleet["one"].call("do/hold", {}))
    await asyncio.sleep(0)
    assert fleet["one"].status.pending == 1
    await asyncio.gather(host.aclose(), host.aclose(), fleet.close())
    with pytest.raises(HostClosed):
        await task


def test_another_loop_is_refused(plugins: Path) -> None:
    kept: dict[str, Any] = {}

    async def begin() -> None:
        kept["host"] = plughost.Host()
        kept["fleet"] = await kept["host"].fleet(plugins)
        await kept["fleet"]["one"].start()

    async def elsewhere() -> None:
        for verb in ("start", "stop", "reload"):
            with pytest.raises(LocalProtocolError):
                await getattr(kept["fleet"]["one"], verb)()

    with asyncio.Runner() as first:
        first.run(begin())
        asyncio.run(elsewhere())
        first.run(kept["host"].aclose())


async def test_a_callback_may_start_tasks_and_calls(plugins: Path) -> None:
    async with plughost.Host() as host:
        fleet = await host.fleet(plugins)
        tasks: list[asyncio.Task[Any]] = []
        fleet.subscribe(None, lambda snapshot: tasks.append(asyncio.ensure_future(fleet["one"].start())))
        fleet.publish("t", b"x")
        await asyncio.gather(*tasks)
        assert fleet["one"].state is State.RUNNING


def test_a_listener_that_ends_the_loop_keeps_no_other_plugin_from_being_asked(plugins: Path) -> None:
    ends: list[bool] = []

    def listen(event: plughost.Event) -> None:
        if ends and isinstance(event.what, FramePassed) and event.what.direction == "out":
            ends.clear()
            raise SystemExit(3)

    async def begin() -> tuple[plughost.Host, list[asyncio.Task[Any]]]:
        host = plughost.Host(on_event=listen)
        fleet = await host.fleet(plugins)
        for name in ("one", "two"):
            await fleet[name].start()
        calls = [(name, method) for method in ("do/hold", "do/echo") for name in ("one", "two")]
        tasks = [asyncio.create_task(fleet[name].call(method, {})) for name, method in calls]
        # By then each has made its call. The first of each plugin is written, and the other soon.
        asyncio.get_running_loop().call_soon(ends.append, True)
        return host, tasks

    async def end(host: plughost.Host, tasks: list[asyncio.Task[Any]]) -> list[Any]:
        async with host:
            return await asyncio.gather(*tasks[2:])

    with asyncio.Runner() as runner:
        host, tasks = runner.run(begin())
        with pytest.raises(SystemExit):
            runner.run(asyncio.Event().wait())
        assert runner.run(end(host, tasks)) == [{"echo": {}}] * 2
