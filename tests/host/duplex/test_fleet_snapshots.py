"""What plugins and the host publish: kept, numbered, and told once to everybody who is to hear it."""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from plughost.contracts.duplex.lanes import Lane
from plughost.failures import PluginCrashed
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import AT_ONCE, EVERY, Lab, b64, frame, written
from tests.sdk.tripwire import Tripwire

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

BUS = {"event_bus": True}
LARGE = b"x" * 300_000  # a few of these fill a pipe
WORKED = tuple(
    f"{name}.py"
    for name in (
        *("duplex/fleet", "duplex/deliveries", "duplex/snapshots", "duplex/lanes", "duplex/session"),
        *("duplex/parcel", "duplex/member", "process/link"),
    )
)


@pytest.mark.requirement("duplex:snapshot:latest")
def test_the_latest_of_a_topic_is_kept_under_a_version_that_rises_over_all(both: Lab) -> None:
    both.plugin(caps=BUS)
    fleet = both.fleet()
    get = {"topic": "a"}
    assert both.asks("host/snapshot/get", get) == {"result": {"payload": None, "version": 0}}
    versions = [both.run(fleet.publish, topic, b"x") for topic in ("a", "b", "a")]
    both.publishes("b", b"from the plugin")
    both.publishes("a", b"\x00\xff")
    assert versions == [1, 2, 3]
    assert both.asks("host/snapshot/get", get) == {"result": {"payload": b64(b"\x00\xff"), "version": 5}}
    kept = both.run(fleet.snapshot, "b")
    assert (kept.payload, kept.version, kept.publisher) == (b"from the plugin", 4, "puppet")
    assert both.run(fleet.snapshot, "c") is None


def test_a_payload_may_come_as_an_array_of_integers(both: Lab) -> None:
    both.plugin(caps=BUS)
    fleet = both.fleet()
    both.tells("host/snapshot/publish", {"topic": "a", "payload": [0, 255]})
    assert both.run(fleet.snapshot, "a").payload == b"\x00\xff"


@pytest.mark.requirement("duplex:lane:events")
def test_what_a_signal_handler_publishes_in_the_middle_of_a_publish_is_told_in_the_order_of_the_versions(
    lab: Lab,
) -> None:
    lab.plugin(caps=BUS, hears=("t",))
    fleet = lab.fleet()
    lab.call("echo")
    told: list[bytes] = []
    heard: list[int] = []
    lab.run(fleet.subscribe, "t", lambda snapshot: heard.append(snapshot.version))
    number, has_come = 0, True
    while has_come:
        number += 1
        published: dict[int, bytes] = {}

        def publish(payload: bytes, published: dict[int, bytes] = published) -> None:
            published[fleet.publish("t", payload)] = payload

        tripwire = Tripwire(
            number,
            lambda publish=publish, number=number: publish(b"handler %d" % number),
            watched=WORKED,
            always=True,
        )
        tripwire.watch(publish, b"%d" % number)
        has_come = tripwire.has_come
        told += [published[version] for version in sorted(published)]
        assert [payload for _, payload in lab.heard(len(told))] == told, f"step {number}"
        assert sorted(heard[-len(published) :]) == sorted(published), f"step {number}"
    assert number > 1


@pytest.mark.requirement("duplex:snapshot:delivery")
@pytest.mark.parametrize("how", ["by manifest", "by call", "by both", "twice"])
def test_each_publish_is_told_once_and_in_order_however_subscribed(both: Lab, how: str) -> None:
    both.plugin("hearer", caps=BUS, hears=("t",) if how in ("by manifest", "by both") else ())
    both.plugin("speaker", caps=BUS)
    fleet = both.fleet()
    for _ in range({"by manifest": 0, "by call": 1, "by both": 1, "twice": 2}[how]):
        got = both.asks("host/snapshot/subscribe", {"topic": "t"}, of="hearer")
        assert got == {"result": {}}
    expected = []
    for number in range(20):
        payload = b"%d" % number
        expected.append(("t", payload))
        if number % 2:
            both.run(fleet.publish, "t", payload)
        else:
            both.publishes("t", payload, of="speaker")
    both.run(fleet.publish, "another", b"unheard")
    assert both.heard(20, of="hearer") == expected


@pytest.mark.requirement("duplex:snapshot:delivery")
def test_a_publisher_hears_no_echo(both: Lab) -> None:
    both.plugin("one", caps=BUS, hears=("t",))
    both.plugin("two", caps=BUS, hears=("t",))
    both.fleet()
    both.publishes("t", b"by one", of="one")
    both.publishes("t", b"by two", of="two")
    assert both.heard(1, of="one") == [("t", b"by two")]
    assert both.heard(1, of="two") == [("t", b"by one")]


@pytest.mark.requirement("duplex:snapshot:delivery", "duplex:lifecycle:demand")
def test_a_lazy_subscriber_is_started_for_what_is_published(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",))
    fleet = both.fleet()
    assert both.status().starts == 0
    both.run(fleet.publish, "t", b"1")
    both.run(fleet.publish, "t", b"2")
    both.until(lambda: fleet["puppet"].state is State.RUNNING)
    assert both.heard(2) == [("t", b"1"), ("t", b"2")]
    assert both.status().starts == 1


def test_a_lazy_subscriber_is_left_alone_if_the_host_says_so_and_hears_it_later(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",))
    fleet = both.fleet(spawn_for_events=False)
    both.run(fleet.publish, "t", b"1")
    assert both.status().starts == 0
    assert both.heard(1) == [("t", b"1")]


def test_a_declared_topic_without_the_event_bus_is_not_told(both: Lab) -> None:
    both.plugin(hears=("t",))
    fleet = both.fleet()
    both.run(fleet.publish, "t", b"1")
    assert both.heard() == []


def test_what_was_subscribed_by_call_ends_with_the_process_and_what_was_declared_does_not(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("declared",), **AT_ONCE)
    fleet = both.fleet()
    both.asks("host/snapshot/subscribe", {"topic": "asked"})
    both.together(both.calling("die"))
    both.run(fleet.publish, "asked", b"1")
    both.run(fleet.publish, "declared", b"2")
    assert both.heard(1) == [("declared", b"2")]


def test_of_a_latest_state_topic_only_the_newest_waits(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("state", "log"), latest=("state",))
    fleet = both.fleet(spawn_for_events=False)
    for number in range(50):
        both.run(fleet.publish, "state", b"%d" % number)
    both.run(fleet.publish, "log", b"1")
    both.run(fleet.publish, "log", b"2")
    assert both.heard(3) == [("state", b"49"), ("log", b"1"), ("log", b"2")]


def test_what_is_published_while_a_subscriber_goes_is_told_to_its_next_process(both: Lab) -> None:
    both.plugin(
        "puppet", "shutdown-mute", "stubborn", caps=BUS, hears=("t",), teardown_s=0.1, terminate_s=0.1
    )
    fleet = both.fleet()
    both.pid()
    begun = both.begin(lambda: fleet["puppet"].stop())
    both.until(lambda: fleet["puppet"].state is State.SHUTTING_DOWN)
    for number in range(5):
        both.run(fleet.publish, "t", b"%d" % number)
    both.wait_for(begun)
    both.until(lambda: both.status().starts == 2 and fleet["puppet"].state is State.RUNNING)
    assert both.heard(5) == [("t", b"%d" % number) for number in range(5)]


def test_what_waits_for_a_subscriber_that_crashed_is_told_to_its_next_process(both: Lab) -> None:
    both.plugin("puppet", "crash-on=cG9pc29u", caps=BUS, hears=("t",), **AT_ONCE)
    fleet = both.fleet()
    both.run(fleet.publish, "t", b"poison")
    sent = [("t", (b"%d" % number + LARGE)[:60]) for number in range(30)]
    for number in range(30):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    both.until(lambda: both.status().failures == 1 and fleet["puppet"].state is State.RUNNING)
    heard = both.heard(15)  # those that it had been handed before it crashed are lost
    first = sent.index(heard[0])
    assert heard == sent[first : first + len(heard)]
    assert both.status().starts == 2


def test_a_crash_loop_by_events_ends_in_quarantine_and_starts_nothing_more(both: Lab) -> None:
    both.plugin("puppet", "crash-on=handle_event", caps=BUS, hears=("t",), backoff_s=[0.001])
    fleet = both.fleet()
    for number in range(60):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    both.until(lambda: fleet["puppet"].state is State.QUARANTINED and both.status().pid is None)
    for number in range(10):
        both.run(fleet.publish, "t", b"%d" % number)
    assert both.status().starts == 3


@pytest.mark.parametrize("publisher", ["the host", "a plugin"])
def test_an_event_that_does_not_fit_a_subscribers_frame_costs_that_one_event_alone(
    both: Lab, publisher: str
) -> None:
    both.plugin("small", caps=BUS, hears=("t",), frame_bytes=2000)
    both.plugin("large", caps=BUS, hears=("t",))
    both.plugin("speaker", caps=BUS)
    fleet = both.fleet()
    both.pid("small"), both.pid("large")
    for payload in (b"first", b"x" * 5000, b"last"):
        if publisher == "the host":
            both.run(fleet.publish, "t", payload)
        else:
            both.publishes("t", payload, of="speaker")
    assert both.heard(2, of="small") == [("t", b"first"), ("t", b"last")]
    assert len(both.heard(3, of="large")) == 3
    assert both.status("small").dropped_events == 1


def test_a_hearer_of_the_host_is_told_everything_until_it_ends_that(both: Lab) -> None:
    both.plugin(caps=BUS)
    fleet = both.fleet()
    one: list[Any] = []
    every: list[Any] = []
    end = both.run(fleet.subscribe, "t", one.append)
    both.run(fleet.subscribe, None, every.append)
    both.publishes("t", b"1")
    both.run(fleet.publish, "u", b"2")
    end()
    end()
    both.run(fleet.publish, "t", b"3")
    assert [each.payload for each in one] == [b"1"]
    assert [(each.topic, each.payload, each.version) for each in every] == [
        ("t", b"1", 1),
        ("u", b"2", 2),
        ("t", b"3", 3),
    ]


def test_a_hearer_that_raises_is_reported_and_asked_no_more(
    both: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    both.plugin(caps=BUS)
    fleet = both.fleet()
    calls: list[Any] = []

    def hearer(snapshot: Any) -> None:
        calls.append(snapshot)
        raise RuntimeError("mine")

    both.run(fleet.subscribe, None, hearer)
    both.publishes("t", b"1")
    both.publishes("t", b"2")
    assert both.call("echo")
    assert len(calls) == 1
    assert "RuntimeError: mine" in capsys.readouterr().err


def test_plugins_that_publish_to_each_other_for_ever_leave_room_for_calls(both: Lab) -> None:
    both.plugin("ping", "relay=pong", caps=BUS, hears=("ping",))
    both.plugin("pong", "relay=ping", caps=BUS, hears=("pong",))
    fleet = both.fleet()
    both.pid("ping"), both.pid("pong")
    both.run(fleet.publish, "ping", b"ball")
    for _ in range(20):
        assert both.call("echo", of="ping")
        assert both.call("echo", of="pong")
    both.until(lambda: fleet.snapshot("ping").version > 20)


def test_a_publisher_of_many_large_snapshots_is_held_to_its_share(both: Lab) -> None:
    both.plugin("greedy", caps=BUS)
    both.plugin("other", caps=BUS)
    fleet = both.fleet()
    for number in range(8):
        both.call("publish-large", {"topic": f"t{number}", "size": 12_000_000, "times": 1}, of="greedy")
    kept = [number for number in range(8) if both.run(fleet.snapshot, f"t{number}")]
    assert len(kept) == 5  # of 64 MiB
    assert both.status("greedy").ignored == 3
    both.publishes("mine", b"x", of="other")
    assert both.run(fleet.snapshot, "mine").publisher == "other"


def test_events_reach_others_while_one_subscriber_does_not_read(both: Lab) -> None:
    both.plugin("deaf", caps=BUS, hears=("t",), write_s=3600.0, teardown_s=0.1)
    both.plugin("well", caps=BUS, hears=("t",))
    fleet = both.fleet()
    both.call("block", of="deaf")
    both.pid("well")
    for number in range(50):
        both.run(fleet.publish, "t", b"%d" % number + b"x" * 200_000)
        assert both.call("echo", of="well")
    assert len(both.heard(50, of="well")) == 50
    assert 40 < both.status("deaf").waiting_events <= 50
    handed_over = fleet._fleet.members["deaf"].link.conversation.lanes.waiting(Lane.EVENT)
    assert handed_over <= 8  # the others wait where all who want the same share it


def test_the_key_order_of_events_is_publish_order_over_topics(both: Lab) -> None:
    topics = tuple(f"t{number}" for number in range(5))
    both.plugin(caps=BUS, hears=topics)
    fleet = both.fleet()
    sent = [(topics[number * 7 % 5], b"%d" % number) for number in range(100)]
    for topic, payload in sent:
        both.run(fleet.publish, topic, payload)
    assert both.heard(100) == sent


def test_payloads_come_through_whole(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",))
    fleet = both.fleet()
    payload = bytes(range(256)) * 1000
    both.run(fleet.publish, "t", payload)
    assert both.heard(1) == [("t", payload)]
    got = both.asks("host/snapshot/get", {"topic": "t"})
    assert base64.b64decode(got["result"]["payload"]) == payload


def test_what_was_said_behind_a_publish_is_heard_although_its_hearer_wants_to_exit(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.excepthook", lambda *_: None)  # if it is heard while nobody calls
    both.plugin(caps=BUS)
    fleet = both.fleet()
    both.call("echo")
    heard: list[bytes] = []

    def hear(snapshot: Any) -> None:
        heard.append(snapshot.payload)
        if len(heard) == 1:
            raise SystemExit(3)

    both.run(fleet.subscribe, "t", hear)
    said = [{"topic": "t", "payload": b64(word)} for word in (b"one", b"two")]
    data = b"".join(frame(method="host/snapshot/publish", params=each) for each in said)
    with suppress(SystemExit):
        both.call("write", written(data))  # heard in one piece
    both.until(lambda: len(heard) == 2 and both.status().pending == 0)
    assert heard == [b"one", b"two"]


def test_the_end_of_a_plugin_is_noticed_although_hearers_of_its_last_words_want_to_exit(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.excepthook", lambda *_: None)  # if it is heard while nobody calls
    both.plugin(caps=BUS, **AT_ONCE)
    fleet = both.fleet()
    pid = both.pid()
    heard: list[bytes] = []

    def hear(snapshot: Any) -> None:
        with suppress(ChildProcessError):  # it has been reaped
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        heard.append(snapshot.payload)
        raise SystemExit(3)

    both.run(fleet.subscribe, "t", hear)
    said = [{"topic": "t", "payload": b64(b"%d" % number)} for number in range(10)]
    data = b"".join(frame(method="host/snapshot/publish", params=each) for each in said)
    is_over = False
    call = partial(both.call, "write-then-exit", written(data))
    while not is_over:
        with suppress(SystemExit, PluginCrashed):
            call()
        call = partial(both.until, lambda: both.status().pending == 0)
        is_over = len(heard) == len(said)
    both.until(lambda: both.status().pending == 0)
    assert heard == [b"%d" % number for number in range(10)]
    assert both.pid() != pid
