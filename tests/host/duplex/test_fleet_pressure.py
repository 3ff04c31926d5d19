"""Plugins that say too much, and plugins that are told too much: nobody else notices, and memory is bounded."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from plughost_sdk.duplex import CHUNK_BYTES

from plughost.contracts.base import Channel
from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.failures import FailureCode, PluginFailure
from plughost.process.local import LocalProcess
from plughost.supervision.states import State
from tests.host.duplex.fleet_lab import EVERY, PATIENCE_S, QUICK, Lab

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

ROOT = Path(__file__).parents[3]
BUS = {"event_bus": True}
LARGE = b"x" * 300_000  # a few of these fill a pipe
MIB = 1_048_576


def key(letter: str) -> KeyEvent:
    return KeyEvent(KeyCode("char", ch=letter))


@pytest.mark.requirement("duplex:lane:keys-first")
def test_a_key_overtakes_the_events_and_calls_that_wait(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for number in range(50):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    begun = both.begin(both.calling("echo"))
    both.until(lambda: both.status().pending == 1)
    assert both.run(fleet["puppet"].key, "main", key("a"))
    both.meet(pipe)
    assert both.wait_for(begun) == [{"echo": {}}]
    order = [each["method"] for each in both.call("told")["told"]]
    ahead = order.index("plugin/handle_key")
    assert ahead < 8  # what fits the pipe, and the frame that was being written
    both.heard(50)


@pytest.mark.requirement("duplex:lane:keys-first")
def test_who_presses_more_keys_than_wait_is_told_that_not_all_are_delivered(both: Lab) -> None:
    both.plugin(write_s=60.0, key_lane=8)
    fleet = both.fleet()
    pipe = both.pipe("reading")

    def press(count: int) -> list[bool]:
        return [fleet["puppet"].key("x" * 3_000, key("a")) for _ in range(count)]

    early = both.run(press, 10)  # nothing runs yet
    assert early == [True] * 8 + [False] * 2
    both.call("block", {"pipe": str(pipe)})
    late = both.run(press, 200)  # it reads none of them
    assert late[0]
    assert late[-8:] == [False] * 8
    both.meet(pipe)
    told = len(both.told(method="plugin/handle_key"))
    assert told + both.status().dropped_keys == 210
    assert late.count(False) + early.count(False) == both.status().dropped_keys


@pytest.fixture
def swallowed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[bytes]]:
    """From its call on, pipes take everything at once, as of plugins that read as fast as one can write."""
    pieces: list[bytes] = []

    def write(_self: LocalProcess, data: bytes | memoryview, _channel: Channel = Channel.STDIN) -> int:
        pieces.append(bytes(data))
        return len(data)

    def begin() -> list[bytes]:
        monkeypatch.setattr(LocalProcess, "write", write)
        return pieces

    return begin


def test_what_waits_for_one_that_reads_fast_keeps_nobody_from_being_heard(
    both: Lab, swallowed: Callable[[], list[bytes]]
) -> None:
    both.plugin(caps=BUS, hears=("t",), **QUICK, write_s=60.0)
    fleet = both.fleet()
    pipe, count = both.pipe("reading"), 2_000
    both.call("block", {"pipe": str(pipe)})
    both.run(lambda: [fleet.publish("t", b"x" * CHUNK_BYTES) for _ in range(count)])
    pieces, looks = swallowed(), [0]
    both.at_each_look(lambda: looks.append(len(pieces)))
    both.meet(pipe)  # it reads what it has, and there is room
    both.until(lambda: both.status().waiting_events == 0)
    at_once = max(after - before for before, after in pairwise([*looks, len(pieces)]))
    assert len(pieces) >= count - 2
    assert at_once < count / 4


def test_one_that_reads_as_fast_as_is_published_loses_nothing_and_gets_keys_at_once(
    both: Lab, swallowed: Callable[[], list[bytes]]
) -> None:
    both.plugin(caps=BUS, hears=("t",), **QUICK)
    fleet = both.fleet()
    both.call("echo")
    pieces, count = swallowed(), 30_000  # more than may wait

    def publish() -> None:
        for _ in range(count):
            fleet.publish("t", b"x")
        fleet.publish("t", b"x" * CHUNK_BYTES)
        fleet["puppet"].key("main", key("a"))

    both.run(publish)
    written = b"".join(pieces)
    assert (written.count(b"handle_event"), written.count(b"handle_key")) == (count + 1, 1)
    assert both.status().dropped_events == 0


SIZED = pytest.mark.skipif(
    not hasattr(fcntl, "F_SETPIPE_SZ"), reason="only Linux lets a host say how much a pipe holds"
)


@SIZED
@pytest.mark.requirement("duplex:lane:keys-first")
def test_a_key_waits_for_no_more_than_two_chunks_of_the_sdks_size(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t" * 200,), write_s=60.0)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for number in range(50):
        both.run(fleet.publish, "t" * 200, b"%d " % number + bytes(CHUNK_BYTES - 3))
    assert both.run(fleet["puppet"].key, "main", key("a"))
    both.meet(pipe)
    both.heard(50)
    order = [each["method"] for each in both.call("told")["told"]]
    assert order.index("plugin/handle_key") <= 2  # one fills the pipe, and one may be written in part


@SIZED
@pytest.mark.requirement("duplex:lane:keys-first")
def test_a_large_frame_that_was_read_leaves_no_more_ahead_of_a_key_than_before(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.run(fleet.publish, "t", LARGE)
    both.heard(1)
    both.call("block", {"pipe": str(pipe)})
    for number in range(50):
        both.run(fleet.publish, "t", b"%d " % number + bytes(CHUNK_BYTES - 3))
    assert both.run(fleet["puppet"].key, "main", key("a"))
    both.meet(pipe)
    both.heard(51)
    order = [each["method"] for each in both.call("told")["told"]]
    assert order.index("plugin/handle_key") <= 1 + 2


@SIZED
@pytest.mark.requirement("duplex:lane:keys-first")
def test_a_large_frame_that_is_being_read_lets_no_chunks_follow_it_before_a_key(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for payload in (bytes(CHUNK_BYTES), LARGE, *[bytes(CHUNK_BYTES)] * 50):
        both.run(fleet.publish, "t", payload)
    assert both.run(fleet["puppet"].key, "main", key("a"))
    both.meet(pipe)
    both.heard(52)
    order = [each["method"] for each in both.call("told")["told"]]
    assert order.index("plugin/handle_key") <= 2  # the chunk that was written, and the large one


@pytest.mark.requirement("duplex:lane:keys-first")
@pytest.mark.parametrize("more", [-1, 0, 1, 36])
def test_64_keys_wait_and_then_the_oldest_go_and_are_counted(both: Lab, more: int) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for number in range(8):  # more than a pipe holds: nothing is written any more
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    for number in range(64 + more):
        assert both.run(fleet["puppet"].key, str(number), key("a")) is (number < 64)
    both.meet(pipe)
    both.heard(8)
    screens = [each["screen_id"] for each in both.told(method="plugin/handle_key")]
    assert screens == [str(number) for number in range(max(0, more), 64 + more)]
    assert both.status().dropped_keys == max(0, more)
    assert bool(both.named("lane_dropped")) == (more > 0)


@pytest.mark.parametrize("more", [0, 1, 10])
def test_keys_that_wait_for_a_process_are_as_many_and_counted_too(both: Lab, more: int) -> None:
    both.plugin("puppet", backoff_s=[0.3])
    fleet = both.fleet()
    both.together(both.calling("exit"))
    assert fleet["puppet"].state is State.BACKOFF
    for number in range(64 + more):
        assert both.run(fleet["puppet"].key, str(number), key("a")) is (number < 64)
    both.until(lambda: fleet["puppet"].state is State.RUNNING)
    screens = [each["screen_id"] for each in both.told(method="plugin/handle_key")]
    assert screens == [str(number) for number in range(more, 64 + more)]
    assert both.status().dropped_keys == more


def test_a_key_starts_a_plugin_and_is_numbered_over_all(both: Lab) -> None:
    both.plugin("one")
    both.plugin("two")
    fleet = both.fleet()
    for name in ("one", "two", "one"):
        both.run(fleet[name].key, "main", key("a"))
    assert [each["generation"] for each in both.told(of="one", method="plugin/handle_key")] == [0, 2]
    assert [each["generation"] for each in both.told(of="two", method="plugin/handle_key")] == [1]


@pytest.mark.parametrize("command", [None, ["/nowhere/at/all"]], ids=["init fails", "no program"])
def test_a_key_for_one_that_does_not_come_up_is_lost_and_not_for_a_later_one(
    both: Lab, command: list[str] | None
) -> None:
    both.plugin("puppet", "init-exits=3", command=command)
    fleet = both.fleet()
    both.run(fleet["puppet"].key, "main", key("y"))
    both.until(lambda: both.status().failures == 1 and both.status().pid is None)
    assert both.status().dropped_keys == 1
    both.plugin()
    both.run(fleet["puppet"].reload)
    both.run(fleet["puppet"].key, "main", key("n"))
    keys = [each["key"]["code"]["ch"] for each in both.told(method="plugin/handle_key")]
    assert keys == ["n"]


def test_a_key_for_one_in_quarantine_or_closed_is_not_told(both: Lab) -> None:
    both.plugin(failures_to_quarantine=1)
    fleet = both.fleet()
    both.together(both.calling("exit"))
    assert fleet["puppet"].state is State.QUARANTINED
    assert not both.run(fleet["puppet"].key, "main", key("a"))
    both.run(fleet.close)
    assert not both.run(fleet["puppet"].key, "main", key("a"))


@pytest.mark.requirement("duplex:lane:replies")
def test_answers_come_through_a_flood_of_events(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for number in range(40):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    both.meet(pipe)
    assert "result" in both.asks("host/snapshot/get", {"topic": "u"})
    both.heard(40)


@pytest.mark.requirement("duplex:lane:events")
def test_events_for_one_that_never_reads_are_bounded_and_harm_nobody(both: Lab) -> None:
    both.plugin("deaf", caps=BUS, hears=("t",), write_s=0.2, failures_to_quarantine=1, **QUICK)
    both.plugin("well", caps=BUS, hears=("t",))
    fleet = both.fleet()
    both.call("block", of="deaf")
    both.pid("well")
    for number in range(50):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    assert len(both.heard(50, of="well")) == 50
    both.until(lambda: fleet["deaf"].state is State.QUARANTINED)
    assert both.status("deaf").last_failure.code is FailureCode.TIMEOUT
    assert both.status("deaf").last_failure.autopsy.limit == "limits.write_s"


@pytest.mark.requirement("duplex:rpc:flood")
def test_answers_that_are_not_read_are_bounded_in_bytes(both: Lab) -> None:
    both.plugin(caps=BUS)
    fleet = both.fleet()
    both.run(fleet.publish, "t", bytes(12_000_000))
    got = both.call("ask-many", {"count": 20, "method": "host/snapshot/get", "params": {"topic": "t"}})
    assert sum(got["answers"].values()) == 20
    assert got["answers"]["-32603"] >= 1
    assert got["answers"]["result"] >= 4
    assert "result" in both.asks("host/snapshot/get", {"topic": "t"})


@pytest.mark.long
@pytest.mark.requirement("duplex:rpc:flood")
def test_calls_that_wait_for_another_plugin_are_bounded_in_bytes(both: Lab) -> None:
    both.plugin("owner", commands=("act",), write_s=60.0)
    both.plugin("asker", write_s=60.0)
    both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)}, of="owner")
    begun = both.begin(both.calling("ask-large", {"count": 6, "size": 12_000_000}, of="asker"))
    both.until(lambda: sum(b"-32603" in each.what.frame for each in both.named("frame", of="asker")) == 4)
    assert both.status("asker").unanswered == 2
    both.meet(pipe)
    assert both.wait_for(begun) == [{"answers": {"result": 2, "-32603": 4}}]
    again = both.together(both.calling("ask-large", {"count": 2, "size": 12_000_000}, of="asker"))
    assert again == [{"answers": {"result": 2}}]


def test_a_plugin_that_talks_without_end_on_stderr_harms_nobody(both: Lab) -> None:
    both.plugin("loud")
    both.plugin("quiet")
    both.fleet()
    for _ in range(20):
        both.call("log", {"text": "x" * 100_000 + "\n\xff"}, of="loud")
        assert both.call("echo", of="quiet")


HOST = """
    import resource, sys
    from plughost import blocking

    def now():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    with blocking.Host() as host:
        fleet = host.fleet(sys.argv[1], log_level="error")
        flood, well = fleet["flood"], fleet["well"]
        for plugin in (flood, well):
            plugin.start()
        turn = {turn}
        turn(flood)
        before, most = now(), 0
        for _ in range({times}):
            turn(flood)
            well.call("do/echo", {{}})
            most = max(most, now() - before)
        print(most, flood.status.starts, well.status.starts)
"""


def growth(lab: Lab, turn: str, times: int) -> int:
    """Return how many bytes a host grows by while one of its plugins does *turn* so often. A host of its own."""
    lab.plugin("flood", caps=BUS)
    lab.plugin("well", caps=BUS)
    script = textwrap.dedent(HOST.format(turn=turn, times=times))
    done = subprocess.run(
        [sys.executable, "-c", script, str(lab.root)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    most, *starts = map(int, done.stdout.split())
    assert starts == [1, 1]
    return most


def test_logs_without_end_do_not_make_the_host_grow(lab: Lab) -> None:
    tell = '{"method": "host/log", "params": {"level": "info", "message": "x" * 100}, "times": 1000}'
    assert growth(lab, f'lambda flood: flood.call("do/tell", {tell})', 20) < 16 * MIB


@pytest.mark.long
def test_a_million_logs_do_not_make_the_host_grow(lab: Lab) -> None:
    tell = '{"method": "host/log", "params": {"level": "info", "message": "x" * 100}, "times": 50_000}'
    assert growth(lab, f'lambda flood: flood.call("do/tell", {tell})', 20) < 16 * MIB


def test_large_snapshots_without_end_do_not_make_the_host_grow(lab: Lab) -> None:
    publish = '{"topic": "t", "size": 12_000_000, "times": 2}'
    assert growth(lab, f'lambda flood: flood.call("do/publish-large", {publish})', 4) < 120 * MIB


def test_odd_messages_without_end_do_not_make_the_host_grow(lab: Lab) -> None:
    tell = '{"method": "no/such", "params": {"x": "y" * 100}, "times": 1000}'
    assert growth(lab, f'lambda flood: flood.call("do/tell", {tell})', 20) < 16 * MIB


MANY = 200  # publishes: many times as many as are handed to a process ahead


@pytest.mark.requirement("duplex:lane:events")
def test_a_call_finds_the_plugin_as_everything_that_was_published_before_has_made_it(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0)
    fleet = both.fleet()
    for number in range(MANY):  # before it is even started
        both.run(fleet.publish, "t", b"%d" % number)
    assert len(both.call("told")["told"]) == MANY
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for number in range(MANY):
        both.run(fleet.publish, "t", b"%d" % number)
    begun = both.begin(both.calling("told"), lambda: fleet["puppet"].render(1, 1))
    both.until(lambda: both.status().pending == 2)
    for number in range(MANY):
        both.run(fleet.publish, "t", b"later %d" % number)
    both.meet(pipe)
    told, _ = both.wait_for(begun)
    assert len(told["told"]) == 2 * MANY
    both.heard(3 * MANY)


def test_a_call_that_waits_behind_what_was_published_can_be_given_up_and_times_out_by_itself(
    both: Lab,
) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for number in range(MANY):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    with pytest.raises(PluginFailure) as caught:
        both.call("echo", timeout=0.05)
    assert (caught.value.code, caught.value.autopsy.delivered) == (FailureCode.TIMEOUT, False)
    assert both.status().pending == 0
    both.meet(pipe)
    assert both.call("echo") == {"echo": {}}
    assert both.status().starts == 1


def test_a_call_waits_no_longer_behind_what_was_published_than_for_an_answer(both: Lab) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0, timeout_s=0.5)
    fleet = both.fleet()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)}, timeout=PATIENCE_S)
    for number in range(MANY):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    with pytest.raises(PluginFailure) as caught:
        both.call("echo")
    assert (caught.value.code, caught.value.autopsy.delivered) == (FailureCode.TIMEOUT, False)
    assert caught.value.autopsy.limit == "limits.timeout_s"
    assert both.status().pending == 0
    both.meet(pipe)
    assert both.call("echo", timeout=PATIENCE_S) == {"echo": {}}
    assert both.status().starts == 1


def test_a_call_that_waits_behind_what_was_published_goes_to_the_next_process_if_this_one_dies(
    both: Lab,
) -> None:
    both.plugin(caps=BUS, hears=("t",), write_s=60.0, **QUICK)
    fleet = both.fleet()
    pid = both.pid()
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)})
    for number in range(MANY):
        both.run(fleet.publish, "t", b"%d" % number + LARGE)
    begun = both.begin(both.calling("pid"))
    both.until(lambda: both.status().pending == 1)
    os.kill(pid, signal.SIGKILL)
    (answer,) = both.wait_for(begun)
    assert answer["pid"] != pid
