"""How a plugin's process begins: who it says it is, what it may do before, and every way to get that wrong."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.failures import FailureCode, PluginFailure, Stage
from plughost.manifest import duplex_binding, duplex_manifest
from plughost.manifest.duplex_limits import DuplexLimits
from plughost.manifest.duplex_narrowing import Narrowing
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import EVERY, PUPPET, QUICK, Lab, b64, gone

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")


@pytest.mark.parametrize("dialect", ["init-old", "init-new", "init-all"])
def test_each_dialect_of_the_answer_is_taken(both: Lab, dialect: str) -> None:
    both.plugin("puppet", dialect)
    fleet = both.fleet()
    who = both.run(fleet["puppet"].start)
    assert (who.name, who.version) == ("puppet", "1.0.0")
    assert fleet["puppet"].state is State.RUNNING
    assert both.run(fleet["puppet"].start) == who
    assert both.status().starts == 1


@pytest.mark.requirement("duplex:init:mismatch")
@pytest.mark.parametrize(
    "fault",
    [
        "init-name",
        "init-version",
        "init-abi",
        "init-neither",
        "init-list",
        "init-error",
        "init-bad-error",
    ],
)
def test_one_that_is_somebody_else_has_failed_its_init(both: Lab, fault: str) -> None:
    both.plugin("puppet", fault, **QUICK)
    fleet = both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet["puppet"].start)
    assert (caught.value.code, caught.value.autopsy.stage) == (FailureCode.HANDSHAKE_FAILED, Stage.HANDSHAKE)
    assert fleet["puppet"].state is State.BACKOFF
    assert both.status().failures == 1


@pytest.mark.requirement("duplex:init:deadline")
@pytest.mark.parametrize("fault", ["init-never", "deaf"])
def test_one_that_does_not_answer_init_is_a_timeout_for_everybody_who_waits(both: Lab, fault: str) -> None:
    both.plugin("puppet", fault, **QUICK)
    fleet = both.fleet()
    came = both.together(fleet["puppet"].start, both.calling("echo"), both.calling("echo"))
    assert [(each.code, each.autopsy.limit) for each in came] == [
        (FailureCode.TIMEOUT, "limits.handshake_s")
    ] * 3


def test_one_that_closes_its_input_and_stays_instead_of_answering_init_has_crashed(both: Lab) -> None:
    both.plugin("puppet", "init-closes", **{**QUICK, "handshake_s": 30})
    fleet = both.fleet()
    came = both.together(fleet["puppet"].start, both.calling("echo"))
    assert [(each.code, each.autopsy.stage) for each in came] == [(FailureCode.CRASHED, Stage.HANDSHAKE)] * 2


@pytest.mark.parametrize("fault", ["init-exits=0", "init-exits=3", "exits=0", "exits=1"])
def test_one_that_ends_before_it_answered_init_has_crashed_whatever_its_status(both: Lab, fault: str) -> None:
    both.plugin("puppet", fault, life={"exit_zero_is_crash": False})
    fleet = both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet["puppet"].start)
    assert caught.value.code is FailureCode.CRASHED
    assert both.status().failures == 1


@pytest.mark.parametrize("data", [b"Hello!\n", b"\x00" * 100], ids=["text", "zeros"])
def test_one_that_prints_first_is_malformed(both: Lab, data: bytes) -> None:
    both.plugin("puppet", f"early-writes={b64(data)}", **QUICK)
    fleet = both.fleet()
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet["puppet"].start)
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE


@pytest.mark.requirement("duplex:init:served")
def test_what_it_asks_while_init_waits_is_served(both: Lab) -> None:
    words = ("init-asks=host/snapshot/get:t", "init-asks=host/snapshot/subscribe:t", "init-tells=hello")
    both.plugin("puppet", *words, caps={"event_bus": True})
    fleet = both.fleet()
    both.run(fleet.publish, "t", b"1")
    both.run(fleet["puppet"].start)
    assert [each["version"] for each in both.told(method="init-asked")[:1]] == [1]
    assert both.run(fleet.snapshot, "hello").payload == b"from init"
    both.run(fleet.publish, "t", b"2")
    assert both.heard(1) == [("t", b"2")]


@pytest.mark.requirement("duplex:init:served")
def test_what_it_asks_before_it_has_read_init_is_served(both: Lab) -> None:
    both.plugin("puppet", "early-asks=host/snapshot/get", "early-tells=greeting", caps={"event_bus": True})
    fleet = both.fleet()
    both.run(fleet["puppet"].start)
    assert both.run(fleet.snapshot, "greeting").payload == b"early"
    assert both.status().unanswered == 0


@pytest.mark.requirement("duplex:init:first")
def test_calls_keys_and_events_wait_for_init_and_come_keys_first(both: Lab) -> None:
    both.plugin(caps={"event_bus": True}, hears=("t",))
    fleet = both.fleet()
    both.run(fleet.publish, "t", b"1")
    both.run(fleet["puppet"].key, "main", KeyEvent(KeyCode("enter")))
    both.call("echo")
    both.heard(1)
    sent = [each.what.frame for each in both.named("frame") if each.what.direction == "out"]
    assert b"plugin/init" in sent[0]
    assert b"handle_key" in sent[1]


@pytest.mark.requirement("duplex:init:secrets")
def test_settings_reach_the_plugin_and_nobody_else(both: Lab) -> None:
    extra = '\n[[config]]\nkey = "token"\nkind = "string"\nlabel = "Token"\n'
    both.plugin(extra=extra)
    both.fleet(config={"puppet": {"token": "s3cret"}})
    both.call("echo")
    assert not any(b"s3cret" in each.what.frame for each in both.named("frame"))


@pytest.mark.parametrize(
    "config",
    [{"x": "y" * 17_000_000}, {"x": object()}, {"x": float("inf")}, {"x": "\ud800"}],
    ids=["too much", "no JSON", "no number", "no text"],
)
def test_settings_that_cannot_be_told_reject_the_plugin_and_no_other(both: Lab, config: Any) -> None:
    both.plugin("one")
    both.plugin("two")
    fleet = both.fleet(config={"one": config})
    assert [each.name for each in fleet.rejected] == ["one"]
    assert list(fleet.plugins) == ["two"]
    assert both.call("echo", of="two")


@pytest.mark.parametrize(
    ("frame_bytes", "config", "file", "key"),
    [
        (10, None, "narrow.toml", "limits.frame_bytes"),
        (10, {"x": "y"}, "narrow.toml", "limits.frame_bytes"),
        (1000, {"x": "y" * 1000}, "manifest.toml", "config"),
        (1000, {"x": object()}, "manifest.toml", "config"),
    ],
)
def test_what_makes_the_first_message_too_long_is_what_is_blamed(
    both: Lab, frame_bytes: int, config: Any, file: str, key: str
) -> None:
    both.plugin("one", frame_bytes=frame_bytes)
    (rejected,) = both.fleet(config={"one": config} if config else {}).rejected
    assert (Path(rejected.error.source).name, rejected.error.key) == (file, key)


def test_a_narrowing_that_was_given_in_code_is_blamed_and_no_file(both: Lab) -> None:
    both.plugin("one")
    said = Narrowing(command=(sys.executable,), limits=DuplexLimits(frame_bytes=10))
    (rejected,) = both.fleet(narrowings={"one": said}).rejected
    assert (rejected.error.source, rejected.error.key) == ("narrowings['one']", "limits.frame_bytes")
    bound = duplex_binding.bind(duplex_manifest.read(both.root / "one"), said)
    (rejected,) = both.fleet(bound).rejected
    assert (rejected.error.source, rejected.error.key) == ("(given in code)", "limits.frame_bytes")


def test_a_limit_that_the_first_message_just_fits_is_enough(both: Lab) -> None:
    both.plugin("one", frame_bytes=10)
    (rejected,) = both.fleet().rejected
    (least,) = re.findall(r"\d+", rejected.error.remedy)
    both.plugin("two", frame_bytes=int(least))
    both.fleet(both.root / "two")
    assert both.call("echo", of="two") == {"echo": {}}


def test_a_program_that_is_not_there_is_a_launch_failure_each_time_until_quarantine(both: Lab) -> None:
    both.plugin(command=["/nonexistent/program"], backoff_s=[0.001])
    fleet = both.fleet()
    codes = []
    for _ in range(6):
        with pytest.raises(PluginFailure) as caught:
            both.run(fleet["puppet"].start)
        codes.append((caught.value.code, caught.value.autopsy.limit))
    assert codes[:3] == [(FailureCode.LAUNCH_FAILED, None)] * 3
    assert codes[3:] == [(FailureCode.LAUNCH_FAILED, "limits.failures_to_quarantine")] * 3
    assert both.status().starts == 3
    assert both.spawned() == []


def test_one_bad_manifest_hides_no_other(both: Lab) -> None:
    both.plugin("good")
    (both.root / "bad").mkdir()
    (both.root / "bad" / "manifest.toml").write_text("nonsense")
    fleet = both.fleet()
    assert [each.name for each in fleet.rejected] == ["bad"]
    assert both.call("echo", of="good")


def test_a_binding_in_code_stays_narrowed_after_a_reload(both: Lab) -> None:
    directory = both.plugin(caps={"event_bus": True})
    (directory / "narrow.toml").unlink()
    command = (sys.executable, "-I", "-S", str(PUPPET))
    narrowing = Narrowing(command=command, capabilities={"event_bus": False})
    fleet = both.fleet(duplex_binding.bind(duplex_manifest.read(directory), narrowing))
    assert both.refused("host/snapshot/get", {"topic": "t"})[0] == -32001
    both.run(fleet["puppet"].reload)
    assert both.refused("host/snapshot/get", {"topic": "t"})[0] == -32001


def test_one_that_claims_more_than_its_manifest_gets_no_more(both: Lab) -> None:
    both.plugin("puppet", "init-greedy")
    fleet = both.fleet()
    both.run(fleet["puppet"].start)
    assert both.refused("host/snapshot/get", {"topic": "t"}) == (-32001, "capability denied: event_bus")
    assert both.refused("host/network/fetch", {"url": "http://example.org/"})[0] == -32001
    assert fleet["puppet"].manifest.capabilities.event_bus is False


def test_a_process_that_failed_its_init_is_gone_before_the_next_is_started(both: Lab) -> None:
    both.plugin("puppet", "init-never", "stubborn", backoff_s=[0.001], **QUICK)
    fleet = both.fleet()
    for _ in range(3):
        with pytest.raises(PluginFailure):
            both.run(fleet["puppet"].start)
    both.until(lambda: both.status().pid is None)
    assert len(both.spawned()) == 3
    assert all(gone(pid) for pid in both.spawned())
    assert len(both.named("exited")) == 3
    order = [each.name for each in both.events if each.name in ("spawned", "exited")]
    assert order == ["spawned", "exited"] * 3
