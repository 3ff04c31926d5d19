"""Whose time it is: a plugin's own limits count once it is asked, a caller's time counts in all."""

from __future__ import annotations

import os
import sys

import pytest

from plughost.errors import RemoteError
from plughost.failures import FailureCode, PluginFailure, PluginTimeout
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import EVERY, QUICK, Lab, is_alive

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

SDK_PLUGIN = """
import sys
sys.path.insert(0, {sdk!r})
from plughost_sdk import duplex

plugin = duplex.Plugin({name!r}, version="1.0.0")

@plugin.action({name!r} + ".start")
def start(payload):
    return plugin.host.action.invoke({other!r} + ".relay", payload + b">" + plugin.name.encode())

@plugin.action({name!r} + ".relay")
def relay(payload):
    return plugin.host.action.invoke({other!r} + ".end", payload + b">" + plugin.name.encode())

@plugin.action({name!r} + ".end")
def end(payload):
    return payload + b"!" + plugin.name.encode()

@plugin.action({name!r} + ".for_ever")
def for_ever(payload):
    return plugin.host.action.invoke({other!r} + ".for_ever", payload)

plugin.run()
"""


def sdk_plugin(lab: Lab, name: str, other: str) -> None:
    import plughost_sdk

    sdk = os.path.dirname(os.path.dirname(plughost_sdk.__file__))
    words = tuple(f"{name}.{word}" for word in ("start", "relay", "end", "for_ever"))
    script = lab.home / f"{name}.py"
    script.write_text(SDK_PLUGIN.format(sdk=sdk, name=name, other=other))
    lab.plugin(name, commands=words, command=[sys.executable, "-I", str(script)])


@pytest.mark.requirement("duplex:init:first")
def test_the_time_of_a_screen_begins_when_the_plugin_is_ready(both: Lab) -> None:
    pipe = both.pipe("ready")
    both.plugin("slow", f"init-waits={pipe}", render_s=0.05)
    both.plugin("other")
    fleet = both.fleet()
    begun = both.begin(*[lambda: fleet["slow"].call("do/echo"), lambda: fleet["slow"].render(1, 1)])
    both.until(lambda: both.status("slow").state is State.SPAWNING)
    with pytest.raises(PluginTimeout):  # many times longer than a screen may take
        both.call("hold", of="other", timeout=0.5)
    assert (both.status("slow").state, both.status("slow").pending) == (State.SPAWNING, 2)
    both.meet(pipe)
    echoed, _ = both.wait_for(begun)
    assert echoed == {"echo": {}}
    assert (both.status("slow").wedged, both.status("slow").failures) == (False, 0)


@pytest.mark.requirement("duplex:init:deadline")
def test_a_callers_own_time_counts_in_all_and_is_no_fault_of_the_plugin(both: Lab) -> None:
    pipe = both.pipe("ready")
    both.plugin("slow", f"init-waits={pipe}")
    fleet = both.fleet()
    for _ in range(4):
        with pytest.raises(PluginTimeout):
            both.run(fleet["slow"].render, 1, 1, timeout=0.05)
    assert both.status("slow").state is State.SPAWNING
    both.meet(pipe)
    both.until(lambda: both.status("slow").state is State.RUNNING)
    for _ in range(4):
        with pytest.raises(PluginTimeout):
            both.call("hold", of="slow", timeout=0.05)
    assert (both.status("slow").wedged, both.status("slow").failures) == (False, 0)
    assert both.named("wedged") == []


def test_a_plugin_that_does_not_answer_within_its_limits_is_wedged_and_then_has_failed(both: Lab) -> None:
    both.plugin(timeout_s=0.05, **QUICK)
    both.fleet()
    for count in range(3):
        with pytest.raises(PluginTimeout):
            both.call("hold")
        assert [each.what.method for each in both.named("wedged")] == ["do/hold"], count
    both.until(lambda: both.status().failures == 1)


def test_an_action_that_is_never_answered_does_not_excuse_a_plugin_for_ever(both: Lab) -> None:
    both.plugin(commands=("act",), timeout_s=0.05, **QUICK)
    fleet = both.fleet()
    begun = both.begin(lambda: fleet.invoke("act", b"hold"))
    both.until(lambda: both.status().pending == 1)
    for _ in range(3):
        with pytest.raises(PluginTimeout):
            both.call("hold")
    (failure,) = both.wait_for(begun)
    assert isinstance(failure, PluginFailure)
    both.until(lambda: both.status().failures == 1)


@pytest.mark.requirement("duplex:order:reentrant", "duplex:action:routed")
def test_plugins_of_the_sdk_may_invoke_each_other_in_a_circle_and_themselves(both: Lab) -> None:
    sdk_plugin(both, "aa", "bb")
    sdk_plugin(both, "bb", "aa")
    sdk_plugin(both, "me", "me")
    fleet = both.fleet()
    assert both.run(fleet.invoke, "aa.start", b"go") == b"go>aa>bb!aa"
    assert both.run(fleet.invoke, "me.start", b"go") == b"go>me>me!me"


def test_a_circle_without_an_end_is_an_error_and_everybody_goes_on(both: Lab) -> None:
    sdk_plugin(both, "aa", "bb")
    sdk_plugin(both, "bb", "aa")
    fleet = both.fleet()
    with pytest.raises(RemoteError):
        both.run(fleet.invoke, "aa.for_ever", b"")
    assert both.run(fleet.invoke, "bb.end", b"go") == b"go!bb"
    assert both.run(fleet.invoke, "aa.end", b"go") == b"go!aa"


def test_a_reload_before_init_is_answered_starts_another_process_for_those_who_wait(both: Lab) -> None:
    pipe = both.pipe("ready")
    both.plugin("slow", f"init-waits={pipe}", **{**QUICK, "handshake_s": 20.0})
    fleet = both.fleet()
    begun = both.begin(lambda: fleet["slow"].call("do/pid"))
    both.until(lambda: both.status("slow").pid is not None)
    first = both.status("slow").pid
    both.run(fleet["slow"].reload)
    assert not is_alive(first)
    both.until(lambda: both.status("slow").pid not in (None, first))
    both.meet(pipe)
    (came,) = both.wait_for(begun)
    assert came == {"pid": both.status("slow").pid}
    assert both.status("slow").failures == 0


@pytest.mark.requirement("duplex:snapshot:delivery")
def test_an_event_outlives_a_process_that_dies_before_it_is_ready(both: Lab) -> None:
    broken = both.home / "broken"
    broken.touch()
    both.plugin(
        "puppet",
        f"exit-if={broken}",
        caps={"event_bus": True},
        hears=("t",),
        backoff_s=[0.05],
        failures_to_quarantine=1000,
    )
    fleet = both.fleet()
    both.run(lambda: fleet.publish("t", b"kept"))
    both.until(lambda: both.status().starts >= 2)
    broken.unlink()
    both.until(lambda: both.status().state is State.RUNNING)
    assert both.heard(1) == [("t", b"kept")]


@pytest.mark.requirement("duplex:rpc:over-once")
def test_a_callers_time_is_kept_while_its_process_is_brought_down(both: Lab) -> None:
    both.plugin("puppet", "stubborn", teardown_s=20.0)
    both.fleet()
    pid = both.pid()
    with pytest.raises(PluginFailure) as caught:
        both.call("close", {"fd": 1}, timeout=0.3)
    assert caught.value.code is FailureCode.CRASHED
    assert is_alive(pid)
    os.kill(pid, 9)


def test_a_caller_that_gives_up_in_backoff_does_not_hold_up_the_restart(both: Lab) -> None:
    both.plugin("puppet", "exits=3", backoff_s=[0.3])
    both.fleet()
    with pytest.raises(PluginFailure):
        both.call("echo")
    with pytest.raises(PluginTimeout):
        both.call("echo", timeout=0.05)
    both.until(lambda: both.status().state is State.QUARANTINED)
    assert both.status().starts == 3
