"""Nobody who is innocent is ever ended: not the host, not its forks, not its threads, not another host's plugins."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import plughost
from plughost import blocking
from plughost.manifest.binding import Binding
from plughost.process import survivors
from plughost.process.local import LocalLauncher

Make = Callable[..., Binding]


def test_a_forked_copy_of_the_application_holds_our_ends_and_is_left_alone(
    hostile: Make, tmp_path: Path, wait_gone: Callable[[int], bool]
) -> None:
    read, write = os.pipe()
    forked: list[int] = []

    def fork_during_the_call(event: plughost.Event) -> None:
        if event.name == "handshake" and not forked:
            forked.append(os.fork())
            if forked[0] == 0:
                os.close(write)
                os.read(read, 1)
                os._exit(7)

    with blocking.Host(on_event=fork_during_the_call) as host:
        result = host.add(hostile("daemon", str(tmp_path / "pid"))).invoke("echo", 1)
    os.close(read)
    os.close(write)  # that is how the copy learns that it may exit
    _, status = os.waitpid(forked[0], 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert wait_gone(int((tmp_path / "pid").read_text()))
    assert len(result.warnings) == 1


def test_this_process_is_never_a_candidate_not_even_when_process_ids_have_wrapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(survivors, "_last_pid", lambda: 5)
    assert os.getpid() not in survivors._candidates(2**22, ())
    monkeypatch.setattr(survivors, "_last_pid", lambda: os.getpid() + 3)
    assert os.getpid() not in survivors._candidates(os.getpid() - 3, ())


def test_if_nothing_was_started_since_the_plugin_nobody_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survivors, "_last_pid", lambda: 4_000)
    assert survivors._candidates(4_000, ()) == []
    assert survivors._candidates(3_999, ()) == [4_000]


def test_what_started_before_the_plugin_does_not_belong_to_it() -> None:
    trace = survivors.Trace("run", os.getpgrp(), since=survivors.started_at(os.getpid()) + 1)
    assert not survivors._belongs(os.getpid(), trace)


def test_a_thread_is_not_taken_for_a_process(hostile: Make, tmp_path: Path) -> None:
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def start_thread(event: plughost.Event) -> None:
        if event.name == "handshake":
            threads.append(threading.Thread(target=stop.wait))
            threads[-1].start()

    with blocking.Host(on_event=start_thread) as host:
        result = host.add(hostile("daemon", str(tmp_path / "pid"))).invoke("echo", 1)
    stop.set()
    threads[0].join()
    assert [warning.count("outlived") for warning in result.warnings] == [1]


FORKING = """
import os, sys
from pathlib import Path
from plughost import blocking
from plughost.manifest.binding import Binding, ExecuteOptions

here, hostile, how = Path(), sys.argv[1], sys.argv[2]
binding = Binding("hostile", "execute", (sys.executable, "-I", hostile, "well"), here, here,
    execute=ExecuteOptions(spares=2))
with blocking.Host() as host:
    plugin = host.add(binding)
    assert plugin.call("echo", 1) == 1
    child = os.fork()
    if child == 0 and how == "exits":
        sys.exit(0)  # leaves the `with` block: it must close nothing of its parent's
    if child == 0:
        for n in range(5):
            assert host.add(binding).call("echo", n) == n
            assert plugin.call("echo", n) == n  # the parent's handle, whose spares are the parent's
        os._exit(0)
    for n in range(5):
        assert plugin.call("echo", n) == n
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert plugin.call("echo", 2) == 2
"""


@pytest.mark.parametrize("how", ["exits", "works"])
def test_parent_and_forked_child_do_not_touch_each_others_plugins(how: str) -> None:
    hostile = str(Path(__file__).with_name("hostile.py"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, hostile, how],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_an_interrupted_launch_leaves_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The interrupt comes at the worst moment: the plugin runs, and nobody knows its number yet."""
    real = subprocess.Popen

    class Interrupted(real):  # type: ignore[misc, valid-type]
        def __init__(self, words: tuple[str, ...], **options: object) -> None:
            super().__init__(words, **options)
            if "sleep" in words[0]:
                started.append(self.pid)
                self.returncode = 0
                raise KeyboardInterrupt

    started: list[int] = []
    launcher = LocalLauncher()
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        launcher.launch(Binding("p", "execute", ("sleep", "60"), tmp_path, tmp_path))
    launcher.close()
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)
