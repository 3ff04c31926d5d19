"""How workers end, and what ends them: deadlines, limits, what they leave behind, and a pass that is broken off."""

from __future__ import annotations

import asyncio
import os
import platform
import resource
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import plughost
from plughost import blocking
from plughost.host.events import Logged
from tests.host.envelope.lab import Lab, outcome

QUICK = {"timeout_seconds": 0.5}
SPOIL = "(ctx.dst_root / 'a.txt').write_text('spoiled'); (ctx.dst_root / 'new').mkdir()"


@pytest.mark.requirement("envelope:exit:deadline", "envelope:tree:undone")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "late",
    [
        "time.sleep(60)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "[None for _ in iter(int, 1)]",
        "signal.signal(signal.SIGTERM, lambda *_: os._exit(0)); time.sleep(60)",
        "os.write(2, b'x' * 65536 * 64); time.sleep(60)",
    ],
    ids=["sleeps", "ignores SIGTERM", "stops", "spins", "exits with 0 on SIGTERM", "talks"],
)
def test_a_worker_that_is_late_is_stopped_recorded_as_timeout_and_undone(late: str, lab: Lab) -> None:
    before = lab.portrait()
    entry = lab.one(
        lab.plugin("late", f"def transform(self, path, ctx):\n    {SPOIL}; {late}", isolation=QUICK)
    )
    assert (entry.status, entry.isolation.exit_code) == ("timeout", 124)
    assert entry.failure is not None
    assert entry.failure.code == "timeout"
    assert lab.portrait() == before


def test_a_worker_that_answers_and_does_not_exit_is_late_too(both: Lab) -> None:
    reply = b'{"result": "success", "per_file": []}\n'
    lingers = f"os.write(1, {reply!r}); open(files[0], 'w').close(); time.sleep(60)"
    entry = both.one(both.raw("lingers", lingers, isolation=QUICK))
    assert (entry.status, entry.isolation.exit_code) == ("timeout", 124)
    assert both.text("a.txt") == "a\n"


def test_a_worker_that_never_reads_a_large_request_is_late_and_no_more(both: Lab) -> None:
    deaf = both.raw(
        "deaf",
        "time.sleep(60)",
        head="import sys, time\nif sys.argv[1:]: print('{\"errors\": []}', flush=True); sys.exit()\n",
        isolation=QUICK,
    )
    entry = both.one(deaf, variables={"much": "x" * 900_000})
    assert entry.status == "timeout"


@pytest.mark.requirement("envelope:exit:gone")
def test_a_grandchild_that_holds_the_pipes_keeps_nobody_waiting(both: Lab) -> None:
    parent = both.raw(
        "parent",
        """
        if os.fork() == 0:
            os.write(2, f"{os.getpid()}\\n".encode())
            time.sleep(600)
        with open(files[0], "a") as file:
            file.write("done\\n")
        answer(result="success")
        """,
    )
    entry = both.one(parent)
    assert entry.status == "success"
    assert any("outlived" in warning for warning in entry.warnings)
    assert not both.workers()


@pytest.mark.requirement("envelope:exit:gone")
@pytest.mark.parametrize(
    "end", ["pass", "raise PluginError('no')", "time.sleep(60)"], ids=["success", "failed", "late"]
)
def test_a_daemon_is_gone_when_its_plugin_is_judged_and_writes_no_more(end: str, lab: Lab) -> None:
    daemon = lab.plugin(
        "daemon",
        f"""
        def transform(self, path, ctx):
            ready = ctx.dst_root / "ready"
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.closerange(0, 3)
                    for number in range(10**9):
                        (ctx.dst_root / "later.log").write_text(str(number))
                        ready.touch()
                os._exit(0)
            while not ready.exists():
                pass
            {end}
        """,
        isolation={"timeout_seconds": 2},
    )
    entry = lab.one(daemon)
    assert not lab.workers()
    assert any("outlived" in warning for warning in entry.warnings)
    if end != "pass":
        assert sorted(os.listdir(lab.root)) == [".exlab-wizard", "a.txt"]


@pytest.mark.requirement("envelope:exit:gone")
def test_so_is_a_daemon_whose_first_thread_has_ended(lab: Lab) -> None:
    exit_thread = {"x86_64": 60, "aarch64": 93}.get(platform.machine())
    if exit_thread is None:
        pytest.skip("the number of the system call that ends a thread is known for x86_64 and aarch64 only")
    daemon = lab.plugin(
        "daemon",
        f"""
        def transform(self, path, ctx):
            import ctypes, threading
            ready = ctx.dst_root / "ready"
            def write():
                while Path("/proc/self/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    pass
                for number in range(10**9):
                    (ctx.dst_root / "later.log").write_text(str(number))
                    ready.touch()
            if os.fork() == 0:
                os.setsid()
                os.closerange(0, 3)
                threading.Thread(target=write).start()
                ctypes.CDLL(None).syscall({exit_thread}, 0)
            while not ready.exists():
                pass
            raise PluginError("no")
        """,
    )
    entry = lab.one(daemon)
    assert any("outlived" in warning for warning in entry.warnings)
    assert sorted(os.listdir(lab.root)) == [".exlab-wizard", "a.txt"]
    assert not lab.workers()


@pytest.mark.requirement("envelope:request:isolated")
def test_a_worker_that_wants_more_memory_than_it_may_have_fails_alone(both: Lab) -> None:
    hog = both.plugin(
        "hog",
        "def transform(self, path, ctx):\n    bytearray(1 << 30)",
        isolation={"memory_mb": 64, "timeout_seconds": 20},
    )
    hello = both.plugin("later")
    first, second = both.run(hog, hello).plugins_applied
    assert (first.status, first.crash, second.status) == ("failed", True, "success")
    assert first.failure is not None
    assert "memory" in first.failure.hint
    assert 5 < (first.isolation.peak_memory_mb or 6) < 200


@pytest.mark.requirement("envelope:record:truth")
def test_what_workers_cost_is_measured_over_all_attempts(lab: Lab) -> None:
    asks = lab.plugin(
        "asks",
        """
        def transform(self, path, ctx):
            if len(ctx.extra_inputs) == 0:
                held = bytearray(b"x" * (60 << 20))
            if len(ctx.extra_inputs) < 2:
                raise PluginInputRequired([field("abc"[len(ctx.extra_inputs)], "?")], "needed")
        """,
    )
    entry = lab.one(asks, answers={"a": "1", "b": "2"})
    assert entry.isolation.attempts == 3
    assert entry.isolation.exit_code == 0
    assert entry.isolation.duration_ms > 0


GROWN = "held = bytearray(b'x' * (60 << 20))\n"
SEEN = """
import fcntl, termios
os.write(1, b'{"result": "success", "per_file": []}\\n')
while fcntl.ioctl(1, termios.FIONREAD, bytes(4)) != bytes(4):
    pass  # until the host has read it
"""
DESCRIBED = sys.platform == "linux"  # elsewhere nobody tells how much memory a process has held


def grow_host(monkeypatch: pytest.MonkeyPatch, since: Path = Path("/")) -> None:
    """Let the host be larger than any worker, from the time on when there is a file *since*."""
    monkeypatch.setattr(
        resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=1 << 50 if since.exists() else 0)
    )


@pytest.mark.requirement("envelope:record:truth")
@pytest.mark.skipif(not DESCRIBED, reason="this system has no /proc")
@pytest.mark.parametrize(
    ("end", "status"),
    [
        (SEEN, "skipped"),
        ("time.sleep(1_000)", "timeout"),
        ("os.write(1, b'no envelope\\n'); time.sleep(1_000)", "failed"),
    ],
    ids=["it answers", "it is ended", "it answers wrongly"],
)
def test_the_memory_of_a_worker_smaller_than_the_host_is_what_it_was_at_its_end(
    both: Lab, monkeypatch: pytest.MonkeyPatch, end: str, status: str
) -> None:
    grow_host(monkeypatch)
    entry = both.one(both.raw("grows", GROWN + end, isolation={"timeout_seconds": 2}))
    assert entry.status == status
    assert entry.isolation.peak_memory_mb is not None
    assert 60 <= entry.isolation.peak_memory_mb < 200


@pytest.mark.requirement("envelope:record:truth")
def test_memory_that_nobody_saw_is_not_recorded(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    grow_host(monkeypatch)
    entry = both.one(both.raw("dies", GROWN + "os._exit(9)"))
    assert entry.status == "failed"
    assert entry.isolation.peak_memory_mb is None


@pytest.mark.requirement("envelope:record:truth")
def test_a_worker_larger_than_the_host_was_is_measured_however_large_that_is_by_now(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow_host(monkeypatch, lab.root / "now")
    entry = lab.one(lab.raw("dies", GROWN + "open('now', 'w').close(); os._exit(9)"))
    assert entry.isolation.peak_memory_mb is not None
    assert entry.isolation.peak_memory_mb >= 60


# Broken off from outside

SLOW = f"""
def transform(self, path, ctx):
    {SPOIL}
    ctx.log.warning("working")
    time.sleep(60)
"""


def when_working(then: Callable[[], Any]) -> Callable[[Any], None]:
    """Return a listener that calls *then* when a plugin says that it works."""

    def listen(event: Any) -> None:
        if isinstance(event.what, Logged) and event.what.message == "working":
            then()

    return listen


def assert_undone(lab: Lab, before: Any) -> None:
    assert lab.portrait() == before
    assert [outcome(entry) for entry in lab.entries] == ["aborted"]
    assert lab.entries[0]["error"]
    assert any("working" in line for line in lab.log)
    assert not lab.left_behind()


@pytest.mark.requirement("envelope:exit:gone", "envelope:tree:undone", "envelope:record:truth")
@pytest.mark.parametrize("times", [1, 3])
async def test_cancelling_a_pass_ends_its_worker_undoes_its_changes_and_is_recorded(
    times: int, lab: Lab
) -> None:
    before, slow, other = lab.portrait(), lab.plugin("slow", SLOW), lab.plugin("zz-other")
    working = asyncio.Event()
    async with plughost.Host(on_event=when_working(working.set)) as host:
        task = asyncio.ensure_future(host.run_pass(lab.root, [slow, other]))
        async with asyncio.timeout(200):
            await working.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert_undone(lab, before)


@pytest.mark.parametrize("turns", [0, 2, 5])
async def test_a_pass_that_is_cancelled_in_its_first_moments_leaves_nothing(turns: int, lab: Lab) -> None:
    before, slow = lab.portrait(), lab.plugin("slow", SLOW)
    async with plughost.Host() as host:
        task = asyncio.ensure_future(host.run_pass(lab.root, [slow]))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert lab.portrait() == before
        assert not lab.left_behind()


async def test_closing_an_asyncio_host_ends_its_pass_with_host_closed(lab: Lab) -> None:
    before, slow = lab.portrait(), lab.plugin("slow", SLOW)
    working = asyncio.Event()
    host = plughost.Host(on_event=when_working(working.set))
    task = asyncio.ensure_future(host.run_pass(lab.root, [slow]))
    async with asyncio.timeout(200):
        await working.wait()
    await host.aclose()
    assert_undone(lab, before)
    with pytest.raises(plughost.HostClosed):
        await task
    with pytest.raises(plughost.HostClosed):
        await host.run_pass(lab.root, [slow])


@pytest.mark.parametrize("others", [0, 1])
def test_closing_a_blocking_host_from_another_thread_ends_its_pass_with_host_closed(
    others: int, lab: Lab
) -> None:
    before, slow = lab.portrait(), lab.plugin("slow", SLOW)
    plugins = [slow, *(lab.plugin(f"zz-{number}") for number in range(others))]
    working = threading.Event()
    host = blocking.Host(on_event=when_working(working.set))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(host.run_pass, lab.root, plugins)
        assert working.wait(200)
        host.close()
        assert_undone(lab, before)
        with pytest.raises(plughost.HostClosed):
            call.result(20)
    with pytest.raises(plughost.HostClosed):
        host.run_pass(lab.root, plugins)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_during_a_pass_undoes_it_and_is_raised(jobs: int, lab: Lab) -> None:
    lab.write({"b.csv": "b\n"})
    before = lab.portrait()
    slow, other = lab.plugin("slow", SLOW), lab.plugin("zz-other", extensions=[".csv"])
    ours = os.getpid()
    with blocking.Host(on_event=when_working(lambda: os.kill(ours, signal.SIGINT))) as host:
        with pytest.raises(KeyboardInterrupt):
            host.run_pass(lab.root, [slow, other], jobs=jobs)
        assert lab.portrait() == before
        assert {outcome(entry) for entry in lab.entries} == {"aborted"}
        cost = lab.entries[0]["isolation"]
        attempts = jobs  # beside another it may not make a file, fails, and is run again
        assert (cost["attempts"], cost["exit_code"]) == (attempts, -signal.SIGKILL)
        assert cost["cpu_ms"] > 0
        assert not any("failure" in entry or "crash" in entry for entry in lab.entries)


ASKS = """
def transform(self, path, ctx):
    (ctx.dst_root / "half").write_text("half")
    if not ctx.extra_inputs:
        raise PluginInputRequired([field("word", "Word?")], "needed")
"""


class Broken(Exception):
    """What goes wrong in a caller's own code."""


@pytest.mark.thin(3)
@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, TimeoutError, SystemExit])
@pytest.mark.parametrize("limit", [None, 30.0])
def test_what_the_callers_own_code_raises_is_raised_and_the_pass_undone(
    error: type[BaseException], limit: float | None, lab: Lab
) -> None:
    before, asks, other = lab.portrait(), lab.plugin("asks", ASKS), lab.plugin("zz-other")

    def ask(question: Any) -> Any:
        raise error

    with pytest.raises(error):
        lab.run(asks, other, ask=ask, input_timeout_s=limit)
    assert lab.portrait() == before
    assert [(entry["plugin"], outcome(entry)) for entry in lab.entries] == [("asks", "aborted")]
    cost = lab.entries[0]["isolation"]
    assert (cost["attempts"], cost["exit_code"]) == (1, 2), "its worker had asked, and was gone"
    assert cost["cpu_ms"] > 0
    assert cost["duration_ms"] > 0


@pytest.mark.parametrize("error", [Broken, TimeoutError])
@pytest.mark.parametrize("limit", [None, 30.0])
async def test_what_an_asynchronous_callback_raises_is_raised_and_the_pass_undone(
    error: type[Exception], limit: float | None, lab: Lab
) -> None:
    before, asks = lab.portrait(), lab.plugin("asks", ASKS)

    async def ask(question: Any) -> Any:
        raise error

    with pytest.raises(error):
        await lab.arun(asks, ask=ask, input_timeout_s=limit)
    assert lab.portrait() == before
    assert [outcome(entry) for entry in lab.entries] == ["aborted"]


async def test_a_pass_that_is_cancelled_while_the_operator_thinks_is_undone(lab: Lab) -> None:
    before, asks, asked = lab.portrait(), lab.plugin("asks", ASKS), asyncio.Event()

    async def ask(question: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(lab.arun(asks, ask=ask))
    async with asyncio.timeout(200):
        await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lab.portrait() == before
    assert [outcome(entry) for entry in lab.entries] == ["aborted"]


def test_a_host_serves_pass_after_pass(both: Lab) -> None:
    hello, fails = (
        both.plugin("hello"),
        both.plugin("fails", "def transform(self, path, ctx):\n    os.abort()"),
    )

    async def several() -> list[str]:
        async with plughost.Host() as host:
            return [(await host.run_pass(both.root, [each])).plugins_applied[0].status for each in order]

    order: list[Path] = [hello, fails, hello]
    if both.kind == "asyncio":
        statuses = asyncio.run(several())
    else:
        with blocking.Host() as host:
            statuses = [host.run_pass(both.root, [each]).plugins_applied[0].status for each in order]
    assert statuses == ["success", "failed", "success"]
    assert both.text("a.txt") == "a\nhello\nhello\n"
    assert [entry["status"] for entry in both.entries] == statuses
