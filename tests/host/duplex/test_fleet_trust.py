"""What a fleet lets nobody do: hear what was taken from it, pose as the host, write from a forked copy."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import pytest

from plughost import HostAction, HostClosed, LocalProtocolError, ManifestError, RemoteError
from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.host.duplex.deliveries import SnapshotLimits
from tests.host.duplex.fleet_lab import EVERY, Lab, b64

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

BUS = {"event_bus": True}


# Capabilities


def test_what_waits_of_a_revoked_topic_is_not_told_after_a_reload(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("secret", "open"))
    fleet = both.fleet(spawn_for_events=False)
    both.run(fleet.publish, "secret", b"x")
    both.run(fleet.publish, "open", b"y")
    both.plugin(caps={"event_bus": ["open"]}, hears=("open",))
    both.run(fleet["puppet"].reload)
    assert both.heard(1) == [("open", b"y")]


def test_a_subscription_ends_with_the_capability_while_the_old_process_lives_on(both: Lab) -> None:
    pipe = both.pipe("pipe")
    both.plugin(caps=BUS)
    fleet = both.fleet()
    both.asks("host/snapshot/subscribe", {"topic": "secret"})
    both.call("block", {"pipe": str(pipe)})
    both.plugin(caps={})
    begun = both.begin(fleet["puppet"].reload)
    both.until(lambda: not fleet["puppet"].manifest.capabilities.granted())
    both.run(fleet.publish, "secret", b"x")
    assert both.named("published")[-1].what.subscribers == ()
    os.close(os.open(pipe, os.O_RDONLY))
    both.wait_for(begun)


@pytest.mark.requirement("duplex:capability:denied")
def test_the_hosts_own_action_takes_the_capability_that_it_names(both: Lab) -> None:
    both.plugin("puppet")
    both.plugin("trusted", caps={"spawn_subprocess": True})
    both.fleet(actions={"run": HostAction(bytes.upper, capability="spawn_subprocess"), "free": bytes.upper})
    params = {"action": "run", "payload": b64(b"x")}
    assert both.refused("host/action/invoke", params) == (-32001, "capability denied: spawn_subprocess")
    assert both.status().denied == 1
    assert both.asks("host/action/invoke", params, of="trusted")["result"] == {"payload": b64(b"X")}
    assert both.asks("host/action/invoke", {**params, "action": "free"})["result"] == {"payload": b64(b"X")}


def test_a_capability_that_was_narrowed_away_invokes_nothing(both: Lab) -> None:
    both.plugin(caps={"write_plugin_data": True}, narrowed={"write_plugin_data": False})
    both.fleet(actions={"save": HostAction(bytes.upper, capability="write_plugin_data")})
    assert both.refused("host/action/invoke", {"action": "save", "payload": ""})[0] == -32001


@pytest.mark.requirement("duplex:snapshot:host-topics")
@pytest.mark.parametrize("topic", ["host.config", "host."])
def test_what_begins_as_the_hosts_is_published_by_the_host_alone(both: Lab, topic: str) -> None:
    both.plugin(caps=BUS, hears=(topic,))
    fleet = both.fleet()
    both.run(fleet.publish, topic, b"true")
    both.publishes(topic, b"forged")
    assert both.run(fleet.snapshot, topic).payload == b"true"
    assert both.status().denied == 1
    assert both.named("denied")[0].what.method == "host/snapshot/publish"
    assert both.heard(1) == [(topic, b"true")]
    assert both.asks("host/snapshot/get", {"topic": topic})["result"]["payload"] == b64(b"true")


@pytest.mark.parametrize("topic", ["host", "hosts.config", "Host.config", "a.host.b"])
def test_what_only_looks_like_the_hosts_is_anybodys(both: Lab, topic: str) -> None:
    both.plugin(caps=BUS)
    fleet = both.fleet()
    both.publishes(topic, b"x")
    assert both.run(fleet.snapshot, topic).publisher == "puppet"


# Actions of the host's own


def test_an_action_that_wants_to_end_the_program_is_an_error_and_takes_no_turn(both: Lab) -> None:
    both.plugin()
    both.fleet(actions={"own": lambda payload: sys.exit(2)})
    params = {"action": "own", "payload": ""}
    ask = {"count": 9, "method": "host/action/invoke", "params": params}
    assert both.call("ask-many", ask) == {"answers": {"-32603": 9}}
    assert both.status().unanswered == 0


# Logs


def test_a_log_forges_no_line_and_reaches_no_terminal(both: Lab, caplog: pytest.LogCaptureFixture) -> None:
    both.plugin()
    both.fleet()
    message = "\x1b]0;x\x07hello\nplughost.host INFO forged\u2028\u202e\x9b %s"
    with caplog.at_level(logging.DEBUG, logger="plughost"):
        both.tells("host/log", {"level": "error", "message": message, "fields": {"k": "\x1b"}})
    (record,) = [each for each in caplog.records if each.name == "plughost.plugin.puppet"]
    shown = record.getMessage()
    assert shown.isprintable()
    assert "hello" in shown
    assert shown.endswith("%s")
    assert both.named("logged")[0].what.message == message  # for programs, as it is


@pytest.mark.requirement("duplex:log:threshold")
@pytest.mark.parametrize("size", [900, 1100, 100_000])
def test_a_log_below_the_level_is_dropped_and_one_above_is_whole(both: Lab, size: int) -> None:
    both.plugin()
    both.fleet(log_level="warn")
    fields = {"pad": "x" * size}
    for level in ("trace", "info", "warn"):
        both.tells("host/log", {"level": level, "message": level, "fields": fields})
    assert [(each.what.message, each.what.context) for each in both.named("logged")] == [("warn", fields)]


@pytest.mark.parametrize("size", [10, 2000])
def test_a_log_that_is_none_is_ignored_whatever_its_size(both: Lab, size: int) -> None:
    both.plugin()
    both.fleet(log_level="error")
    fields = "x" * size
    for params in ({"level": "loud", "message": ""}, {"level": "trace"}, {"level": "trace", "message": 5}):
        both.tells("host/log", {**params, "fields": fields})
    assert both.status().ignored == 3


# Losses


def test_what_a_sleeper_loses_is_told_and_what_waits_is_counted(both: Lab) -> None:
    pipe = both.pipe("pipe")
    both.plugin(caps=BUS, hears=("t",), write_s=3600.0)
    fleet = both.fleet()
    both.call("block", {"pipe": str(pipe)})
    room = SnapshotLimits().waiting
    for _ in range(room + 2000):
        both.run(fleet.publish, "t", bytes(300))
    status = both.status()
    assert status.dropped_events > 0
    assert status.waiting_events >= room
    assert status.waiting_events + status.dropped_events <= room + 2000
    told = [each.what.count for each in both.named("lane_dropped")]
    assert all(each.what.lane == "event" for each in both.named("lane_dropped"))
    assert told == [2**n for n in range(status.dropped_events.bit_length())]
    os.close(os.open(pipe, os.O_RDONLY))


# Errors of plugins


def test_an_error_of_a_plugin_is_told_unchanged_with_its_data(both: Lab) -> None:
    both.plugin()
    both.fleet()
    message = "a\\nb" + "x" * 500
    body = f'{{"jsonrpc":"2.0","id":$ID,"error":{{"code":-32050,"message":"{message}","data":{{"a":[1]}}}}}}'
    with pytest.raises(RemoteError) as caught:
        both.call("answer", {"body": body})
    assert caught.value.message == "a\nb" + "x" * 500
    assert (caught.value.code, caught.value.data) == ("-32050", {"a": [1]})


@pytest.mark.parametrize("data", ["", ',"data":null', ',"data":1e999'], ids=["none", "null", "no number"])
def test_an_error_without_data_has_none(both: Lab, data: str) -> None:
    both.plugin()
    both.fleet()
    with pytest.raises(RemoteError) as caught:
        both.call(
            "answer", {"body": f'{{"jsonrpc":"2.0","id":$ID,"error":{{"code":1,"message":"m"{data}}}}}'}
        )
    assert caught.value.data is None
    assert both.call("echo")


# Edges of the interface


def test_a_closed_fleet_publishes_nothing_and_hears_nothing(both: Lab) -> None:
    both.plugin()
    fleet = both.fleet()
    both.run(fleet.close)
    with pytest.raises(HostClosed):
        both.run(fleet.publish, "t", b"")
    with pytest.raises(HostClosed):
        both.run(fleet.subscribe, "t", lambda snapshot: None)
    assert both.run(fleet.snapshot, "t") is None


def test_a_reload_without_a_manifest_is_refused_and_the_plugin_goes_on(both: Lab) -> None:
    directory = both.plugin()
    fleet = both.fleet()
    pid = both.pid()
    (directory / "manifest.toml").rename(directory / "gone")
    with pytest.raises(ManifestError):
        both.run(fleet["puppet"].reload)
    assert both.pid() == pid


WRONG: dict[str, Any] = {
    "a namespace": lambda fleet: fleet.cli(5),
    "an unhashable namespace": lambda fleet: fleet.cli([]),
    "an action": lambda fleet: fleet.invoke(None),
    "a topic": lambda fleet: fleet.publish(5, b""),
    "a payload": lambda fleet: fleet.publish("t", "text"),
    "a topic to hear": lambda fleet: fleet.subscribe(5, print),
    "a hearer": lambda fleet: fleet.subscribe("t", 5),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_arguments_of_another_type_are_refused_in_our_words(both: Lab, wrong: Any) -> None:
    both.plugin(namespaces=("ns",), commands=("act",))
    fleet = both.fleet()
    with pytest.raises(LocalProtocolError):
        both.run(lambda: wrong(fleet))


def test_a_state_says_why_it_was_reached(both: Lab) -> None:
    both.plugin("puppet", "exits=3")
    fleet = both.fleet()
    both.together(lambda: fleet["puppet"].start())
    told = [each.what for each in both.named("plugin_state")]
    assert [bool(each.reason) for each in told[:2]] == [False, True]
    assert told[1].after == "backoff"
    assert both.named("plugin_state")[1].to_dict()["reason"] == told[1].reason


# Forked copies


def in_a_copy(act: Any) -> int:
    """Return how *act* ended in a forked copy of this process: 7 if it was refused as closed."""
    child = os.fork()
    if not child:
        try:
            act()
        except HostClosed:
            os._exit(7)
        finally:
            os._exit(8)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


FORKED: dict[str, Any] = {
    "publish": lambda fleet: fleet.publish("t", b"forged"),
    "key": lambda fleet: fleet["puppet"].key("s", KeyEvent(KeyCode("enter"))),
    "subscribe": lambda fleet: fleet.subscribe("t", print),
    "status": lambda fleet: fleet["puppet"].status,
}


@pytest.mark.parametrize("verb", FORKED.values(), ids=FORKED.keys())
def test_a_forked_copy_may_do_nothing_to_its_originals_plugins(both: Lab, verb: Any) -> None:
    both.plugin(caps=BUS, hears=("t",))
    fleet = both.fleet()
    both.pid()
    assert in_a_copy(lambda: verb(fleet)) == 7
    both.run(fleet.publish, "t", b"true")
    assert both.heard(1) == [("t", b"true")]
