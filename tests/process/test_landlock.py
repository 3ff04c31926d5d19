"""A confined plugin can write where it may and nowhere else, in any language; its host is not confined."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from plughost.contracts.base import Channel
from plughost.errors import Unsupported
from plughost.manifest.binding import Binding, Limits
from plughost.process import landlock
from plughost.process.launcher import Process
from plughost.process.local import LocalLauncher

confinable = pytest.mark.skipif(
    not landlock.available(), reason="this kernel has no Landlock (Linux 6.2 or later has)"
)


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


def run(script: str, writable: tuple[Path, ...] | None, limits: Limits | None = None) -> str:
    """Run *script* in a shell, and return what it wrote to stdout."""
    launcher = LocalLauncher()
    binding = Binding(
        "p",
        "execute",
        ("sh", "-c", script),
        Path("/"),
        Path("/"),
        writable=writable,
        limits=limits or Limits(),
    )
    try:
        process: Process = launcher.launch(binding)
        os.set_blocking(process.fileno(Channel.STDOUT), True)
        said = b""
        while data := process.read(Channel.STDOUT):
            said += data
        process.reap()
        process.dispose()
        return said.decode()
    finally:
        launcher.close()


@confinable
@pytest.mark.requirement("envelope:tree:outside")
@pytest.mark.parametrize("limits", [Limits(), Limits(open_files=64)], ids=["plain", "limited"])
def test_a_confined_plugin_changes_nothing_elsewhere(tmp_path: Path, limits: Limits) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "victim").write_text("precious")
    said = run(
        f"""exec 2>/dev/null; cd {inside}
        echo x > made && mkdir d && mv made d/moved && rm d/moved && rmdir d && echo inside works
        echo x > {outside}/new || echo cannot create
        echo x >> {outside}/victim || echo cannot append
        truncate -s 0 {outside}/victim || echo cannot truncate
        rm -f {outside}/victim || echo cannot remove
        mv {outside}/victim . || echo cannot move
        ln {outside}/victim here || echo cannot link
        ln -s {outside}/victim link; echo x > link || echo not through a link either
        mkdir {outside}/d || echo cannot make a directory
        cat {outside}/victim; echo; echo x > /dev/null && echo and the null device""",
        (inside, Path(os.devnull)),
        limits,
    )
    assert said.splitlines() == [
        "inside works",
        "cannot create",
        "cannot append",
        "cannot truncate",
        "cannot remove",
        "cannot move",
        "cannot link",
        "not through a link either",
        "cannot make a directory",
        "precious",
        "and the null device",
    ]
    assert (outside / "victim").read_text() == "precious"
    assert [path.name for path in outside.iterdir()] == ["victim"]


@pytest.mark.skipif(
    landlock.version() < landlock.SCOPES, reason="this kernel cannot scope signals (Linux 6.12 can)"
)
def test_a_confined_plugin_can_signal_its_children_but_not_its_host(tmp_path: Path) -> None:
    said = run(
        f"""exec 2>/dev/null
        kill -0 {os.getpid()} || echo not the host
        sleep 60 & kill $! && wait $!; echo but a child""",
        (tmp_path, Path(os.devnull)),
    )
    assert said.splitlines() == ["not the host", "but a child"]


@confinable
def test_the_host_and_its_next_plugins_are_not_confined(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    assert run("echo one", (tmp_path / "d",)) == "one\n"
    (tmp_path / "host").write_text("can")
    assert run(f"echo x > {tmp_path}/next && echo can", None) == "can\n"


@confinable
def test_the_thread_that_starts_a_plugin_is_another_one_and_ends(tmp_path: Path) -> None:
    thread = landlock.confined((tmp_path,), threading.get_native_id)
    assert thread != threading.get_native_id()
    until = time.monotonic() + 200
    while os.path.exists(f"/proc/self/task/{thread}") and time.monotonic() < until:
        os.sched_yield()
    assert not os.path.exists(f"/proc/self/task/{thread}")


@confinable
def test_whoever_interrupts_a_start_is_let_go_when_it_is_over(tmp_path: Path) -> None:
    interrupted, over = threading.Event(), []

    def interrupt(_number: int, _frame: object) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise InterruptedError("by a signal handler")

    def start() -> None:
        for _ in range(4000):  # one that comes just before its thread waits is noticed only after the wait
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            if interrupted.wait(0.05):
                break
        over.append(interrupted.is_set())

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(InterruptedError, match="by a signal handler"):
            landlock.confined((tmp_path,), start)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert over == [True]


@confinable
def test_whoever_interrupts_a_start_that_has_just_begun_waits_for_its_end_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = []
    begin = _thread.start_new_thread

    def interrupted(*arguments: Any) -> None:
        begin(*arguments)
        raise InterruptedError("before anybody waits for it")

    monkeypatch.setattr(_thread, "start_new_thread", interrupted)
    with pytest.raises(InterruptedError, match="before anybody waits"):
        landlock.confined((tmp_path,), lambda: over.append(True))
    assert over == [True]


@confinable
def test_a_thread_that_cannot_be_started_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(landlock, "NO_THREAD_S", 0.01)
    monkeypatch.setattr(_thread, "start_new_thread", full)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        landlock.confined((tmp_path,), lambda: None)


@confinable
def test_a_writable_path_that_is_not_there_is_a_launch_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run("true", (tmp_path / "gone",))


def test_what_the_kernel_cannot_do_is_refused_and_not_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: landlock.LOWEST - 1)
    with pytest.raises(Unsupported):
        run("true", (tmp_path,))
