"""Things that happen at the same moment: an exit while we write, a close while it shakes hands, a raising listener."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import plughost
from plughost import blocking
from plughost.manifest.binding import Binding

Make = Callable[..., Binding]

SHAKES_AND_EXITS = """#!/bin/sh
echo '{"type":"handshake","manifest":{"plugin_id":"p","plugin_version":"1","protocol_version":"rterm.plugin.v1","exposed_tools":["t"]}}'
"""  # noqa: E501  the line is a frame


@pytest.fixture
def fleeting(tmp_path: Path) -> Binding:
    """A plugin that has exited by the time its request is written."""
    program = tmp_path / "p.sh"
    program.write_text(SHAKES_AND_EXITS)
    program.chmod(0o755)
    return Binding("p", "execute", ("./p.sh",), tmp_path, tmp_path)


def test_a_plugin_that_is_gone_when_its_request_is_written_has_crashed(fleeting: Binding) -> None:
    with blocking.Host() as host:
        plugin = host.add(fleeting)
        for _ in range(20):
            with pytest.raises(plughost.PluginCrashed):
                plugin.call("t")


async def test_the_same_on_a_loop(fleeting: Binding) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(fleeting)
        outcomes = await asyncio.gather(*(plugin.call("t") for _ in range(20)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {plughost.PluginCrashed}


async def test_closing_during_a_handshake_is_host_closed_and_nothing_else(hostile: Make) -> None:
    for _ in range(5):
        host = plughost.Host()
        call = asyncio.ensure_future((await host.add(hostile("well"))).call("echo"))
        await asyncio.sleep(0)
        await host.aclose()
        with pytest.raises(plughost.HostClosed):
            await call


async def test_a_host_that_nobody_holds_finishes_the_call_that_is_in_progress(hostile: Make) -> None:
    host = plughost.Host()
    call = asyncio.ensure_future((await host.add(hostile("well"))).call("echo", 1))
    await asyncio.sleep(0)
    del host
    assert await call == 1


def test_a_listener_that_raises_in_many_threads_harms_no_call(
    hostile: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.excepthook", lambda *_: None)

    def listen(event: plughost.Event) -> None:
        raise RuntimeError("a bug in the application")

    with blocking.Host(on_event=listen) as host, ThreadPoolExecutor(8) as pool:
        plugin = host.add(hostile("well"))
        assert list(pool.map(lambda n: plugin.call("echo", n), range(16))) == list(range(16))


def test_spares_that_ignore_everything_are_brought_down_together(hostile: Make) -> None:
    with blocking.Host() as host:
        host.add(hostile("ignores-eof-and-sigterm", spares=6, teardown_s=0.1, terminate_s=0.1))


async def test_a_call_on_another_loop_is_refused_and_starts_nothing(hostile: Make) -> None:
    started: list[plughost.Event] = []
    async with plughost.Host(on_event=started.append) as host:
        plugin = await host.add(hostile("well"))

        def elsewhere() -> None:
            asyncio.run(plugin.call("echo"))

        with pytest.raises(plughost.LocalProtocolError):
            await asyncio.to_thread(elsewhere)
    assert started == []


PROGRAM = """
import sys
from pathlib import Path
from plughost import blocking
from plughost.manifest.binding import Binding
hostile = sys.argv[1]
host = blocking.Host()
plugin = host.add(Binding("hostile", "execute", (sys.executable, "-I", hostile, "silent"), Path(), Path()))
print("ready", flush=True)
plugin.call("echo")
"""


@pytest.mark.thin(4)
@pytest.mark.parametrize("delay_ms", range(0, 24, 3))
def test_ctrl_c_at_any_moment_of_a_launch_leaves_nothing(delay_ms: int, tmp_path: Path) -> None:
    hostile = str(Path(__file__).with_name("hostile.py"))
    host = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, hostile], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    threading.Event().wait(delay_ms / 1000)  # the moment is the point of the test
    host.send_signal(signal.SIGINT)
    assert host.stdout.read() == b""
    host.stdout.close()
    assert host.wait(200) != 0
    for process in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = (process.parent / "cmdline").read_bytes().split(b"\0")
            parent = (process.parent / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        assert not (hostile.encode() in words and b"silent" in words and parent == "1"), "an orphan"
