"""A plugin over many processes: when one is started, when it is let go, and what becomes of those who wait."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from plughost.errors import HostClosed, ManifestError
from plughost.failures import FailureCode, PluginFailure
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import AT_ONCE, EVERY, PUPPET, QUICK, Lab, gone, is_alive

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")


@pytest.mark.requirement("duplex:lifecycle:demand")
def test_eager_plugins_start_with_the_host_and_lazy_ones_when_they_are_needed(both: Lab) -> None:
    both.plugin("eager", life={"spawn": "eager"})
    both.plugin("lazy")
    fleet = both.fleet()
    both.until(lambda: fleet["eager"].state is State.RUNNING)
    assert fleet["lazy"].state is State.IDLE
    both.call("echo", of="lazy")
    assert [both.status(name).starts for name in ("eager", "lazy")] == [1, 1]


@pytest.mark.requirement("duplex:exit:crash", "duplex:rpc:over-once")
def test_a_kill_answers_every_call_once_with_an_autopsy_and_the_next_call_is_served(both: Lab) -> None:
    both.plugin(**AT_ONCE)
    both.fleet()
    pid = both.pid()
    begun = both.begin(*[both.calling("hold")] * 10)
    both.until(lambda: both.status().pending == 10)
    os.kill(pid, signal.SIGKILL)
    came = both.wait_for(begun)
    assert [each.code for each in came] == [FailureCode.CRASHED] * 10
    assert {each.autopsy.exit.signal for each in came} == {signal.SIGKILL}
    assert both.pid() != pid
    assert both.status().pending == 0


@pytest.mark.requirement("duplex:exit:crash")
@pytest.mark.parametrize("code", [0, 1, 255])
def test_an_exit_that_nobody_asked_for_is_a_crash_whatever_its_status(both: Lab, code: int) -> None:
    both.plugin()
    both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.call("exit", {"code": code})
    assert (caught.value.code, caught.value.autopsy.exit.code) == (FailureCode.CRASHED, code)
    assert (both.status().state, both.status().failures) == (State.BACKOFF, 1)


def test_an_exit_with_0_is_no_failure_if_the_manifest_says_so(both: Lab) -> None:
    both.plugin(life={"exit_zero_is_crash": False})
    fleet = both.fleet()
    for _ in range(5):
        both.run(fleet["puppet"].start)
        with pytest.raises(PluginFailure):
            both.call("exit")
        assert (both.status().state, both.status().failures) == (State.IDLE, 0)
    with pytest.raises(PluginFailure):
        both.call("exit", {"code": 1})
    assert both.status().failures == 1


@pytest.mark.requirement("duplex:lifecycle:states")
def test_an_eager_plugin_comes_back_by_itself_after_its_backoff(both: Lab) -> None:
    both.plugin(life={"spawn": "eager"}, backoff_s=[0.001])
    fleet = both.fleet()
    both.until(lambda: fleet["puppet"].state is State.RUNNING)
    os.kill(both.status().pid, signal.SIGKILL)
    both.until(lambda: both.status().starts == 2 and fleet["puppet"].state is State.RUNNING)
    moves = [(each.what.before, each.what.after) for each in both.named("plugin_state")]
    assert moves[:4] == [
        ("idle", "spawning"),
        ("spawning", "running"),
        ("running", "backoff"),
        ("backoff", "spawning"),
    ]


def test_a_lazy_plugin_is_started_again_after_its_backoff_though_nobody_asks(both: Lab) -> None:
    both.plugin(backoff_s=[0.001])
    fleet = both.fleet()
    both.together(both.calling("exit"))
    both.until(lambda: fleet["puppet"].state is State.RUNNING and both.status().starts == 2)


def test_a_call_during_the_backoff_waits_for_the_next_process(both: Lab) -> None:
    both.plugin(backoff_s=[0.2])
    both.fleet()
    both.together(both.calling("exit"))
    assert both.status().state is State.BACKOFF
    assert both.call("echo", {"x": 1}) == {"echo": {"x": 1}}


def test_a_call_that_is_shorter_than_the_backoff_is_a_timeout_at_launch(both: Lab) -> None:
    both.plugin(backoff_s=[3600.0])
    both.fleet()
    both.together(both.calling("exit"))
    with pytest.raises(PluginFailure) as caught:
        both.call("echo", timeout=0.05)
    assert (caught.value.code, caught.value.autopsy.stage.value) == (FailureCode.TIMEOUT, "launch")
    assert both.status().pending == 0


@pytest.mark.requirement("duplex:lifecycle:states")
def test_three_failures_quarantine_it_and_calls_are_refused_without_a_process(
    both: Lab, tmp_path: Path
) -> None:
    note = tmp_path / "started"
    both.plugin("puppet", f"note={note}", backoff_s=[0.001])
    fleet = both.fleet()
    for _ in range(3):
        both.together(both.calling("exit"))
    assert fleet["puppet"].state is State.QUARANTINED
    for call in (both.calling("echo"), fleet["puppet"].start):
        (failure,) = both.together(call)
        assert failure.code is FailureCode.LAUNCH_FAILED
        assert failure.autopsy.limit == "limits.failures_to_quarantine"
    assert len(note.read_text().split()) == 3


def test_the_refusal_of_one_in_quarantine_shows_what_is_known_of_its_last_end(both: Lab) -> None:
    both.plugin(failures_to_quarantine=1)
    both.fleet()
    (last,) = both.together(both.calling("exit", {"says": "out of ink"}))
    (refused,) = both.together(both.calling("echo"))
    shown, known = refused.autopsy, last.autopsy
    assert (shown.exit, shown.rung) == (known.exit, known.rung)
    assert shown.exit is not None
    assert (shown.stderr_tail, shown.frames) == (known.stderr_tail, known.frames)
    assert "out of ink" in shown.stderr_tail
    assert not shown.delivered


def test_reload_mends_what_was_quarantined(both: Lab, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.touch()
    both.plugin("puppet", f"exit-if={broken}", backoff_s=[0.001])
    fleet = both.fleet()
    for _ in range(3):
        both.together(both.calling("echo"))
    assert fleet["puppet"].state is State.QUARANTINED
    broken.unlink()
    both.run(fleet["puppet"].reload)
    assert (both.status().failures, both.status().attempt) == (0, 0)
    assert both.call("echo")


def test_reload_starts_a_running_plugin_anew_with_its_new_manifest(both: Lab) -> None:
    both.plugin(caps={"event_bus": True}, commands=("old",))
    fleet = both.fleet()
    pid = both.pid()
    both.plugin(caps={}, commands=("new",), hears=())
    both.run(fleet["puppet"].reload)
    assert both.pid() != pid
    assert not is_alive(pid)
    assert both.refused("host/snapshot/get", {"topic": "t"})[0] == -32001
    assert list(fleet.routes.actions) == ["new"]
    assert both.status().failures == 0


def test_a_reload_of_a_broken_manifest_is_refused_and_the_plugin_goes_on(both: Lab) -> None:
    directory = both.plugin()
    fleet = both.fleet()
    pid = both.pid()
    (directory / "manifest.toml").write_text("nonsense")
    with pytest.raises(ManifestError):
        both.run(fleet["puppet"].reload)
    assert both.pid() == pid


@pytest.mark.parametrize("verb", ["reload", "stop"])
def test_calls_under_way_when_it_is_let_go_are_over(both: Lab, verb: str) -> None:
    both.plugin(**QUICK)
    fleet = both.fleet()
    both.pid()
    begun = both.begin(*[both.calling("hold")] * 3)
    both.until(lambda: both.status().pending == 3)
    both.run(getattr(fleet["puppet"], verb))
    assert [type(each) for each in both.wait_for(begun)] == [HostClosed] * 3
    assert both.call("echo")


@pytest.mark.requirement("duplex:exit:ladder")
def test_a_stopped_plugin_is_gone_and_starts_again_when_it_is_needed(both: Lab) -> None:
    both.plugin()
    fleet = both.fleet()
    pid = both.pid()
    both.run(fleet["puppet"].stop)
    assert (fleet["puppet"].state, both.status().failures, is_alive(pid)) == (State.IDLE, 0, False)
    both.run(fleet["puppet"].stop)
    assert both.pid() != pid


def test_one_that_is_stopped_before_it_answered_init_ends_whoever_waited(both: Lab) -> None:
    both.plugin("puppet", "init-never", teardown_s=0.1, terminate_s=0.1)
    fleet = both.fleet()
    begun = both.begin(fleet["puppet"].start, both.calling("echo"))
    both.until(lambda: both.status().pid is not None and both.status().pending == 1)
    both.run(fleet["puppet"].stop)
    assert [type(each) for each in both.wait_for(begun)] == [HostClosed] * 2
    assert (both.status().state, both.status().failures) == (State.IDLE, 0)


def test_one_that_is_stopped_in_its_backoff_ends_whoever_waited(both: Lab) -> None:
    both.plugin(backoff_s=[3600.0])
    fleet = both.fleet()
    both.together(both.calling("exit"))
    begun = both.begin(both.calling("echo"))
    both.until(lambda: both.status().pending == 1)
    both.run(fleet["puppet"].stop)
    assert [type(each) for each in both.wait_for(begun)] == [HostClosed]
    assert both.status().state is State.IDLE


@pytest.mark.requirement("duplex:exit:ladder")
@pytest.mark.parametrize(
    ("words", "rung"),
    [((), None), (("shutdown-mute",), None), (("shutdown-exits",), None), (("stubborn",), "kill")],
    ids=["answers", "is silent", "exits", "is stubborn"],
)
def test_the_ladder_ends_whatever_it_does(both: Lab, words: tuple[str, ...], rung: str | None) -> None:
    both.plugin("puppet", *words, teardown_s=0.2 if "stubborn" in words else 5.0, terminate_s=0.1)
    fleet = both.fleet()
    pid = both.pid()
    both.run(fleet["puppet"].stop)
    assert not is_alive(pid)
    assert [each.what.rung for each in both.named("exited")] == [rung]
    assert both.status().failures == 0
    sent = [each.what.frame for each in both.named("frame") if each.what.direction == "out"]
    assert b'"method":"plugin/shutdown","params":{}' in sent[-1]


@pytest.mark.requirement("duplex:exit:ladder")
@pytest.mark.parametrize("ignores", [False, True], ids=["hears", "ignores"])
def test_children_of_its_own_do_not_survive_it(both: Lab, ignores: bool) -> None:
    both.plugin(teardown_s=0.2, terminate_s=0.2)
    fleet = both.fleet()
    child = both.call("daemon", {"ignores": ignores})["pid"]
    both.run(fleet["puppet"].stop)
    assert gone(child)


@pytest.mark.requirement("duplex:lifecycle:demand")
def test_one_that_nobody_uses_is_let_go_and_starts_again(both: Lab) -> None:
    both.plugin(life={"idle_reap_secs": 1})
    fleet = both.fleet()
    pid = both.pid()
    both.until(lambda: fleet["puppet"].state is State.IDLE)
    assert not is_alive(pid)
    assert both.status().failures == 0
    assert both.pid() != pid


@pytest.mark.requirement("duplex:lifecycle:demand")
def test_one_that_was_used_again_is_let_go_all_the_same(both: Lab) -> None:
    both.plugin(life={"idle_reap_secs": 1})
    both.plugin("other")
    fleet = both.fleet()
    pid = both.pid()
    both.pid("other")  # which takes a while
    assert both.pid() == pid
    both.until(lambda: fleet["puppet"].state is State.IDLE)
    assert not is_alive(pid)


def install(program: Path) -> None:
    """Make *program* a plugin that runs, at once and whole."""
    made = program.with_suffix(".new")
    made.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {PUPPET}\n")
    made.chmod(0o755)
    made.rename(program)


@pytest.mark.requirement("duplex:lifecycle:demand")
def test_one_that_could_not_be_started_for_what_was_published_is_tried_again(
    both: Lab, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    both.plugin(caps={"event_bus": True}, hears=("t",), command=[str(program)], **AT_ONCE)
    fleet = both.fleet()
    both.run(fleet.publish, "t", b"one")
    both.until(lambda: both.named("failed"))
    install(program)
    both.until(lambda: fleet["puppet"].state is State.RUNNING)
    assert both.heard(1) == [("t", b"one")]


def test_one_that_is_mended_and_reloaded_is_started_for_what_was_published_meanwhile(
    both: Lab, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    both.plugin(caps={"event_bus": True}, hears=("t",), command=[str(program)], failures_to_quarantine=1)
    fleet = both.fleet()
    both.together(fleet["puppet"].start)
    assert fleet["puppet"].state is State.QUARANTINED
    both.run(fleet.publish, "t", b"one")
    install(program)
    both.run(fleet["puppet"].reload)
    both.until(lambda: fleet["puppet"].state is State.RUNNING)
    assert both.heard(1) == [("t", b"one")]


@pytest.mark.requirement("duplex:lifecycle:demand")
@pytest.mark.parametrize(("count", "size"), [(8, 30_000), (3, 10)], ids=["waiting", "in its input"])
def test_one_that_is_busy_with_what_was_published_is_not_idle(both: Lab, count: int, size: int) -> None:
    life = {"idle_reap_secs": 1}
    both.plugin(caps={"event_bus": True}, hears=("t",), life=life, write_s=60.0)
    both.plugin("other", life=life)
    fleet = both.fleet()
    both.pid("other")
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for _ in range(count):
        both.run(fleet.publish, "t", b"x" * size)
    both.call("echo", of="other")  # after it, so that it would be let go later
    both.until(lambda: let_go(both))
    assert let_go(both)[0] == "other"
    asked = both.begin(both.calling("told"))
    both.meet(pipe)
    both.wait_for(asked)
    assert len(both.heard(count)) == count
    assert both.status().starts == 1


def let_go(lab: Lab) -> list[str]:
    """Return who was let go, in order."""
    return [each.plugin for each in lab.named("plugin_state") if each.what.after == State.SHUTTING_DOWN]


def test_one_that_leaves_its_input_unread_is_let_go_in_the_end(both: Lab) -> None:
    both.plugin(caps={"event_bus": True}, hears=("t",), life={"idle_reap_secs": 1}, **QUICK)
    fleet = both.fleet()
    both.call("block")
    both.run(fleet.publish, "t", b"x")
    both.until(lambda: fleet["puppet"].state is State.IDLE)
    assert let_go(both) == ["puppet"]
    assert both.status().failures == 0


def test_a_child_that_is_stopped_by_a_signal_is_ended_all_the_same(both: Lab) -> None:
    both.plugin(teardown_s=0.1, terminate_s=0.1)
    fleet = both.fleet()
    pid = both.pid()
    os.kill(pid, signal.SIGSTOP)
    both.run(fleet["puppet"].stop)
    assert not is_alive(pid)


@pytest.mark.parametrize("name", ["exited", "failed", "plugin_state"])
def test_a_listener_that_wants_to_exit_when_a_plugin_dies_keeps_nobody_from_it(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.excepthook", lambda *_: None)  # if it is heard while nobody calls
    lab.plugin(**AT_ONCE)
    lab.fleet()
    before = lab.pid()
    raised: list[str] = []

    def listen(event: Any) -> None:
        if event.name == name and not raised:
            raised.append(name)
            raise SystemExit(3)

    lab.listener = listen
    with suppress(SystemExit, PluginFailure):
        lab.call("die")
    with suppress(SystemExit):
        lab.until(lambda: raised)
    lab.listener = None
    lab.until(lambda: lab.status().pending == 0)
    assert lab.pid() != before
