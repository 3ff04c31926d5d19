"""The asyncio host: cancelling, closing, spares, events, on both loops. No process here: see tests/process."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
from pathlib import Path
from typing import Any

import pytest

import plughost
from plughost import Binding, FailureCode
from plughost.autopsy import Survivor
from plughost.manifest.binding import ExecuteOptions, Limits
from plughost.testkit import FakeLauncher, FakeProcess, ManualClock

HELLO = {
    "plugin_id": "fake",
    "plugin_version": "1",
    "protocol_version": "rterm.plugin.v1",
    "exposed_tools": ["echo"],
}


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


def binding(tmp_path: Path, *, spares: int = 0, **limits: Any) -> Binding:
    return Binding(
        name="fake",
        contract="execute",
        command=("fake",),
        directory=tmp_path,
        cwd=tmp_path,
        limits=Limits(**limits),
        execute=ExecuteOptions(spares=spares),
    )


def well(process: FakeProcess) -> None:
    """Shake hands, echo, and exit when the input is closed."""

    def hear(line: bytes) -> None:
        message = json.loads(line)
        if message["type"] == "handshake":
            process.say(json.dumps({"type": "handshake", "manifest": HELLO}).encode() + b"\n")
        else:
            reply = {"type": "response", "request_id": message["request_id"], "status": "ok"}
            process.say(json.dumps({**reply, "output": message["input"]}).encode() + b"\n")

    process.on_line = hear
    process.on_stdin_close = process.exit


def mute(process: FakeProcess) -> None:
    """Shake hands, then say nothing; exit when the input is closed."""

    def hear(line: bytes) -> None:
        if json.loads(line)["type"] == "handshake":
            process.say(json.dumps({"type": "handshake", "manifest": HELLO}).encode() + b"\n")

    process.on_line = hear
    process.on_stdin_close = process.exit


async def started(launcher: FakeLauncher, count: int = 1) -> None:
    """Let the loop turn until *count* processes were launched and have heard something."""
    while len(launcher.launched) < count or not launcher.launched[count - 1].received:  # noqa: ASYNC110
        await asyncio.sleep(0)  # a fake process has no loop of its own that could set an event


async def test_a_call_returns_what_the_plugin_answered(tmp_path: Path) -> None:
    launcher = FakeLauncher(well)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path))
        assert await plugin.call("echo", {"a": 1}) == {"a": 1}
        assert launcher.launched[0].signals == []
    assert launcher.closed


async def test_calls_run_side_by_side(tmp_path: Path) -> None:
    async with plughost.Host(launcher=FakeLauncher(well)) as host:
        plugin = await host.add(binding(tmp_path))
        assert await asyncio.gather(*(plugin.call("echo", n) for n in range(20))) == list(range(20))


async def test_a_cancelled_call_kills_its_process_before_it_ends(tmp_path: Path) -> None:
    launcher = FakeLauncher(mute)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path))
        task = asyncio.ensure_future(plugin.call("echo"))
        await started(launcher)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert launcher.launched[0].has_exited()
        assert 9 in launcher.launched[0].signals
        launcher.behaviour = well
        assert await plugin.call("echo", 1) == 1


async def test_a_call_cancelled_twice_still_ends(tmp_path: Path) -> None:
    def stubborn(process: FakeProcess) -> None:
        mute(process)
        process.on_stdin_close = None
        process.send_signal = lambda number: None  # type: ignore[method-assign]

    launcher = FakeLauncher(stubborn)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path, reap_s=0.05))
        task = asyncio.ensure_future(plugin.call("echo"))
        await started(launcher)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_closing_the_host_during_a_call_ends_the_call_with_host_closed(tmp_path: Path) -> None:
    launcher = FakeLauncher(mute)
    host = plughost.Host(launcher=launcher)
    plugin = await host.add(binding(tmp_path))
    task = asyncio.ensure_future(plugin.call("echo"))
    await started(launcher)
    await host.aclose()
    with pytest.raises(plughost.HostClosed):
        await task
    with pytest.raises(plughost.HostClosed):
        await plugin.call("echo")
    with pytest.raises(plughost.HostClosed):
        await host.add(binding(tmp_path))


async def test_closing_twice_and_from_several_tasks_is_closing_once(tmp_path: Path) -> None:
    launcher = FakeLauncher(well)
    host = plughost.Host(launcher=launcher)
    plugins = [await host.add(binding(tmp_path, spares=2)) for _ in range(3)]
    await asyncio.gather(plugins[2].close(), host.aclose(), plugins[0].close(), host.aclose())
    await host.aclose()
    await plugins[1].close()
    assert all(process.has_exited() for process in launcher.launched)


async def test_a_cancelled_close_still_closes(tmp_path: Path) -> None:
    launcher = FakeLauncher(well)
    host = plughost.Host(launcher=launcher)
    await host.add(binding(tmp_path, spares=1))
    closing = asyncio.ensure_future(host.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await host.aclose()
    assert launcher.closed


async def test_a_host_belongs_to_its_loop(tmp_path: Path) -> None:
    async with plughost.Host(launcher=FakeLauncher(well)) as host:
        await host.add(binding(tmp_path))

        def elsewhere() -> None:
            asyncio.run(host.add(binding(tmp_path)))  # type: ignore[arg-type]

        with pytest.raises(plughost.LocalProtocolError):
            await asyncio.to_thread(elsewhere)


async def test_a_host_that_is_forgotten_warns_and_kills(tmp_path: Path) -> None:
    launcher = FakeLauncher(mute)
    host = plughost.Host(launcher=launcher)
    await host.add(binding(tmp_path, spares=1))
    await started(launcher)
    loop = asyncio.get_running_loop()
    for channel in (plughost.contracts.base.Channel.STDOUT, plughost.contracts.base.Channel.STDERR):
        loop.remove_reader(launcher.launched[0].fileno(channel))
    assert launcher.launched[0].exit_fd is not None
    loop.remove_reader(launcher.launched[0].exit_fd)
    with pytest.warns(ResourceWarning):
        del host
    assert launcher.launched[0].has_exited()


async def test_a_launch_that_fails_is_launch_failed(tmp_path: Path) -> None:
    launcher = FakeLauncher(error=OSError(errno.ENOENT, "no such file"))
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path))
        with pytest.raises(plughost.LaunchFailed) as caught:
            await plugin.call("echo")
    assert caught.value.stage == "launch"


async def test_a_launch_that_takes_too_long_is_launch_failed_and_ended(tmp_path: Path) -> None:
    clock = ManualClock()
    launcher = FakeLauncher(well)
    launcher.before_return = lambda: clock.advance(2.5)
    async with plughost.Host(launcher=launcher, clock=clock) as host:
        plugin = await host.add(binding(tmp_path))
        with pytest.raises(plughost.LaunchFailed) as caught:
            await plugin.call("echo")
    assert caught.value.autopsy.limit == "limits.launch_s"
    assert launcher.launched[0].has_exited()


@pytest.mark.requirement("execute:spare:one-call")
async def test_a_spare_serves_one_call_and_is_replaced(tmp_path: Path) -> None:
    launcher = FakeLauncher(well)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path, spares=2))
        assert len(launcher.launched) == 2
        assert await plugin.call("echo", 1) == 1
        assert len(launcher.launched) == 3
        assert launcher.launched[0].has_exited()
        assert launcher.launched[0].received.count(b'"type":"request"') == 1
        assert b'"type":"request"' not in launcher.launched[1].received


@pytest.mark.requirement("execute:spare:fresh")
async def test_a_spare_that_died_is_replaced_and_the_call_succeeds(tmp_path: Path) -> None:
    launcher = FakeLauncher(well)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path, spares=1))
        launcher.launched[0].exit(1)
        assert await plugin.call("echo", 1) == 1


@pytest.mark.requirement("execute:spare:fresh")
async def test_a_spare_that_dies_while_it_waits_is_replaced_before_the_next_call(tmp_path: Path) -> None:
    launcher = FakeLauncher(well)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path, spares=1))
        launcher.launched[0].exit(1)
        await started(launcher, 2)
        assert await plugin.call("echo", 1) == 1
        assert b"request" in launcher.launched[1].received


@pytest.mark.requirement("execute:spare:fresh")
async def test_spares_are_retired_when_a_file_of_the_plugin_changes(tmp_path: Path) -> None:
    (tmp_path / "fake").write_text("one")
    launcher = FakeLauncher(well)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path, spares=2))
        (tmp_path / "fake").write_text("another")
        assert await plugin.call("echo", 1) == 1
        assert [b"request" in process.received for process in launcher.launched[:3]] == [False, False, True]
        assert launcher.launched[0].has_exited()
        assert launcher.launched[1].has_exited()


async def test_a_plugin_whose_spares_always_die_is_not_started_for_ever(tmp_path: Path) -> None:
    def die(process: FakeProcess) -> None:
        process.exit(1)

    launcher = FakeLauncher(die)
    async with plughost.Host(launcher=launcher) as host:
        plugin = await host.add(binding(tmp_path, spares=1))
        for _ in range(10):
            with pytest.raises(plughost.PluginCrashed):
                await plugin.call("echo")
        count = len(launcher.launched)
        with pytest.raises(plughost.PluginCrashed):
            await plugin.call("echo")
        assert len(launcher.launched) == count + 1


@pytest.mark.parametrize("fault", ["silent", "deaf"])
async def test_deadlines_are_kept_by_one_timer_for_all(fault: str, tmp_path: Path) -> None:
    def behave(process: FakeProcess) -> None:
        process.reads = fault != "deaf"
        process.stdin_holds = 10

    async with plughost.Host(launcher=FakeLauncher(behave)) as host:
        quick = await host.add(binding(tmp_path, handshake_s=0.05))
        slow = await host.add(binding(tmp_path, handshake_s=0.1))
        outcomes = await asyncio.gather(quick.call("echo"), slow.call("echo"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [plughost.PluginTimeout] * 2


async def test_events_tell_the_whole_story_in_order(tmp_path: Path) -> None:
    seen: list[plughost.Event] = []
    async with plughost.Host(launcher=FakeLauncher(well)) as host:

        async def collect() -> None:
            async for event in host.events():
                seen.append(event)  # noqa: PERF401  seen by the test while this still runs

        reader = asyncio.ensure_future(collect())
        await asyncio.sleep(0)
        await (await host.add(binding(tmp_path))).call("echo", 1)
    await reader
    names = [event.name for event in seen]
    assert names[0] == "spawned"
    assert names[-1] == "state"
    assert names.count("frame") == 4
    assert "exited" in names
    assert all(json.dumps(event.to_dict()) for event in seen)


async def test_a_failure_is_an_event_too(tmp_path: Path) -> None:
    seen: list[plughost.Event] = []

    def crash(process: FakeProcess) -> None:
        process.log(b"last words\n")
        process.exit(3)

    async with plughost.Host(launcher=FakeLauncher(crash), on_event=seen.append) as host:
        with pytest.raises(plughost.PluginCrashed):
            await (await host.add(binding(tmp_path))).call("echo")
    failed = [event.to_dict() for event in seen if event.name == "failed"]
    assert len(failed) == 1
    assert failed[0]["code"] == FailureCode.CRASHED
    assert failed[0]["stderr_tail"] == "last words\n"


async def test_a_listener_that_raises_is_dropped_and_harms_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[BaseException] = []
    monkeypatch.setattr("sys.excepthook", lambda kind, error, trace: reported.append(error))

    def listen(event: plughost.Event) -> None:
        raise RuntimeError("a bug in the application")

    async with plughost.Host(launcher=FakeLauncher(well), on_event=listen) as host:
        assert await (await host.add(binding(tmp_path))).call("echo", 1) == 1
    assert len(reported) == 1


async def test_stderr_goes_to_the_logger_of_the_plugin(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def talk(process: FakeProcess) -> None:
        well(process)
        process.log(b"working \x1b[31m hard\n")

    with caplog.at_level(logging.INFO, logger="plughost.plugin.fake"):
        async with plughost.Host(launcher=FakeLauncher(talk)) as host:
            await (await host.add(binding(tmp_path))).call("echo")
    assert [record.getMessage() for record in caplog.records] == ["working \\x1b[31m hard"]


async def test_a_survivor_is_a_warning_and_does_not_keep_the_call(tmp_path: Path) -> None:
    def leave(process: FakeProcess) -> None:
        well(process)
        process.survivors = [Survivor(4711, "daemon", ended=True)]

    async with plughost.Host(launcher=FakeLauncher(leave)) as host:
        result = await (await host.add(binding(tmp_path))).invoke("echo", 1)
    assert result.output == 1
    assert "4711" in result.warnings[0]


async def test_one_that_reads_on_after_a_pause_gets_the_rest(tmp_path: Path) -> None:
    def pause(process: FakeProcess) -> None:
        well(process)
        process.reads = False
        process.stdin_holds = 0
        asyncio.get_running_loop().call_later(0.01, process.read_on)

    async with plughost.Host(launcher=FakeLauncher(pause)) as host:
        assert await (await host.add(binding(tmp_path))).call("echo", "x" * 100_000) == "x" * 100_000


async def test_describe_returns_the_manifest_and_lets_the_process_go(tmp_path: Path) -> None:
    launcher = FakeLauncher(well)
    async with plughost.Host(launcher=launcher) as host:
        manifest = await (await host.add(binding(tmp_path))).describe()
        assert manifest.exposed_tools == ("echo",)
        assert launcher.launched[0].has_exited()
        assert launcher.launched[0].signals == []


async def test_systems_without_exit_descriptors_are_served_by_polling(tmp_path: Path) -> None:
    def without(process: FakeProcess) -> None:
        well(process)
        assert process.exit_fd is not None
        import os

        os.close(process.exit_fd)
        process.exit_fd = None

    async with plughost.Host(launcher=FakeLauncher(without)) as host:
        plugin = await host.add(binding(tmp_path))
        assert await plugin.call("echo", 1) == 1


async def test_the_timeout_of_a_call_overrides_that_of_its_binding(tmp_path: Path) -> None:
    async with plughost.Host(launcher=FakeLauncher(mute)) as host:
        plugin = await host.add(binding(tmp_path, timeout_s=60))
        with pytest.raises(plughost.PluginTimeout) as caught:
            await plugin.call("echo", timeout=0.05)
    assert caught.value.autopsy.delivered
