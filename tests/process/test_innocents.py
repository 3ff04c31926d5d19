"""Nobody who is innocent is ever ended: not the host, not its forks, not its threads, not another host's plugins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import plughost
from plughost import blocking
from plughost.manifest.binding import Binding
from plughost.process import local, process_table, survivors
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


def trace_of(plugin_pid: int, **facts: float) -> survivors.Trace:
    return survivors.Trace("run", plugin_pid, **facts)  # type: ignore[arg-type]


def test_this_process_is_never_a_candidate_not_even_when_process_ids_have_wrapped() -> None:
    assert os.getpid() not in survivors._candidates(trace_of(2**22), (), newest=5)
    assert os.getpid() not in survivors._candidates(trace_of(os.getpid() - 3), (), newest=os.getpid() + 3)
    assert os.getpid() not in survivors._candidates(trace_of(2**22, age_s=1e9), (), newest=2**22)


class Sleepers:
    """Processes of the application that sleep, or have ended and wait to be reaped."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *, new_session: bool) -> int:
        self.started.append(subprocess.Popen(["sleep", "100"], start_new_session=new_session))
        return self.started[-1].pid

    def start_ended(self) -> int:
        pid = self.start(new_session=True)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return pid


@pytest.fixture
def sleepers() -> Iterator[Sleepers]:
    made = Sleepers()
    yield made
    for each in made.started:
        each.kill()
        each.wait()


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The groups that would have been killed."""
    groups: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: groups.append(group))
    return groups


def test_only_what_is_newer_than_the_plugin_and_in_a_session_as_new_is_looked_at(sleepers: Sleepers) -> None:
    in_ours, in_new = sleepers.start(new_session=False), sleepers.start(new_session=True)
    assert survivors._candidates(trace_of(in_ours - 1), (), newest=in_ours) == []
    assert survivors._candidates(trace_of(in_new - 1), (), newest=in_new) == [in_new]
    assert survivors._candidates(trace_of(in_new), (), newest=in_new) == []


def test_the_plugins_group_is_killed_if_something_was_started_since(
    sleepers: Sleepers, killed: list[int]
) -> None:
    plugin = sleepers.start_ended()
    sleepers.start(new_session=False)
    assert survivors.Search(trace_of(plugin), (), end=True).is_over_at_once()
    assert killed == [plugin]


def test_a_group_is_not_killed_by_the_number_of_a_plugin_that_the_application_has_reaped(
    sleepers: Sleepers, killed: list[int]
) -> None:
    plugin = sleepers.start_ended()
    os.waitpid(plugin, 0)
    sleepers.start(new_session=False)
    assert survivors.Search(trace_of(plugin), (), end=True).is_over_at_once()
    assert killed == []


def test_a_group_is_not_killed_by_the_number_of_a_survivor_that_is_reaped(
    sleepers: Sleepers, killed: list[int]
) -> None:
    pid = sleepers.start(new_session=True)
    entry = process_table.look_up(pid)
    assert entry is not None
    with survivors.pidfd_of(pid) as pidfd:
        assert survivors._belongs(entry, trace_of(pid), pidfd)
        assert killed == [pid]
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert not survivors._belongs(entry, trace_of(pid), pidfd)
    assert killed == [pid]


def test_a_process_that_was_given_up_on_and_ends_while_the_host_is_closed_is_reaped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "LAST_WAIT_S", 200)
    late = subprocess.Popen(["sleep", "0.2"])
    launcher = LocalLauncher()
    launcher.reap_later(late.pid)
    launcher.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(late.pid, os.WNOHANG)
    late.wait()


def test_what_started_before_the_plugin_does_not_belong_to_it() -> None:
    ours = process_table.look_up(os.getpid())
    assert ours is not None
    assert survivors._belongs(ours, trace_of(os.getpgrp(), since=ours.started))
    assert not survivors._belongs(ours, trace_of(os.getpgrp(), since=ours.started + 1))


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
