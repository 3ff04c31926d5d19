"""A key waits behind one frame at most, an answer is never starved, and one that does not read is found out."""

import pytest

from plughost.contracts.base import Channel
from plughost.contracts.duplex.lanes import JOINED, JOINED_BYTES, Bounds, Lane
from plughost.contracts.duplex.news import Dropped
from plughost.contracts.duplex.states import State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from tests.contracts.duplex.wire import INIT, NEW, frame

BIG = "x" * JOINED_BYTES  # so that no two frames are written together


def tell(talked, number, lane=Lane.EVENT, params=None):
    return talked.session.notify(f"{lane.value} {number}", params or {}, lane)


def names(taken):
    return [message.get("method", "reply") for message in taken]


def step(talked):
    """Take the next piece and write it. Returns the names of its messages."""
    taken = names(talked.step())
    talked.session.receive_sent()
    return taken


@pytest.mark.requirement("duplex:lane:keys-first")
def test_a_key_waits_behind_one_big_frame_at_most(talk):
    talked = talk().run()
    for number in range(50):
        tell(talked, number, params={"big": BIG})
    assert names(talked.step()) == ["event 0"]
    tell(talked, 1, Lane.KEY)
    tell(talked, 2, Lane.KEY)
    assert talked.session.data_to_send() == []  # until the first frame is written
    talked.session.receive_sent()
    assert names(talked.step()) == ["key 1", "key 2", "event 1"]
    assert talked.session.data_to_send() == []


@pytest.mark.requirement("duplex:lane:keys-first")
def test_a_key_waits_behind_a_few_small_frames_at_most(talk):
    talked = talk().run()
    for number in range(50):
        tell(talked, number)
    assert names(talked.step()) == [f"event {number}" for number in range(JOINED)]
    tell(talked, 1, Lane.KEY)
    talked.session.receive_sent()
    assert names(talked.step())[:2] == ["key 1", f"event {JOINED}"]


@pytest.mark.requirement("duplex:lane:replies")
def test_answers_overtake_a_flood_of_events_and_calls(talk):
    talked = talk().run()
    for number in range(50):
        tell(talked, number, params={"big": BIG})
    talked.session.call("call", {})
    talked.session.receive_data(frame(id=1, method="a") + frame(id=2, method="b"), Channel.STDOUT)
    talked.session.answer(1, {})
    talked.session.refuse(2, -32601, "no")
    tell(talked, 0, Lane.KEY)
    assert [step(talked) for _ in range(3)] == [["key 0", "reply", "reply"], ["event 0"], ["event 1"]]


@pytest.mark.requirement("duplex:lane:events")
def test_a_call_leaves_after_the_events_before_it_and_before_those_after_it(talk):
    talked = talk().run()
    tell(talked, 1)
    talked.session.call("call", {})
    tell(talked, 2)
    assert [step(talked) for _ in range(2)] == [["event 1", "call", "event 2"], []]


@pytest.mark.requirement("duplex:lane:keys-first", "duplex:lane:events")
@pytest.mark.parametrize("lane", [Lane.KEY, Lane.EVENT], ids=lambda lane: lane.value)
def test_a_full_lane_loses_its_oldest_and_says_so_rarely(talk, lane):
    talked = talk(bounds=Bounds(keys=64, events=64)).begin()
    assert all(tell(talked, number, lane) for number in range(64))
    talked.listen()
    assert talked.told(Dropped) == []
    assert all(tell(talked, number, lane) for number in range(64, 100))
    talked.listen()
    assert [news.count for news in talked.told(Dropped)] == [1, 2, 4, 8, 16, 32]
    assert talked.session.dropped[lane] == 36
    talked.hear(frame(id=1, result=NEW))
    assert talked.methods()[1:] == [f"{lane.value} {number}" for number in range(36, 100)]


def test_the_keys_that_wait_are_64_unless_told_otherwise():
    assert Bounds().keys == 64


@pytest.mark.parametrize("lane", [Lane.CALL, Lane.REPLY])
def test_a_notification_goes_by_its_own_lanes_only(talk, lane):
    with pytest.raises(LocalProtocolError):
        talk().run().session.notify("m", {}, lane)


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_one_that_does_not_read_in_time_has_failed(talk):
    talked = talk(write_s=2.0).run().tick(10.0)
    call_id = talked.session.call("plugin/render", {})
    assert talked.step()
    assert talked.session.next_deadline() == 12.0
    talked.session.receive_tick(11.9)
    assert talked.outcome is State.RUNNING
    talked.session.receive_tick(12.0)
    assert talked.outcome == (FailureCode.TIMEOUT, Stage.EXECUTE)
    assert talked.session.fault.limit == "limits.write_s"
    talked.listen()
    assert talked.answers()[call_id] is talked.session.fault


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_one_that_reads_slowly_but_steadily_has_its_time_again_with_every_part(talk):
    talked = talk(write_s=2.0).run().tick(10.0)
    talked.session.call("plugin/render", {})
    assert talked.step()
    for now in (11.9, 13.8, 15.7):
        talked.session.note_time(now)
        talked.session.receive_progress()
        assert talked.session.next_deadline() == now + 2.0
    talked.session.receive_tick(17.6)
    assert talked.outcome is State.RUNNING
    talked.session.receive_tick(17.7)
    assert talked.outcome == (FailureCode.TIMEOUT, Stage.EXECUTE)


@pytest.mark.requirement("duplex:lane:write-deadline")
def test_one_that_reads_has_no_deadline_for_reading(talk):
    talked = talk(write_s=2.0).run()
    tell(talked, 1)
    assert talked.collect().session.next_deadline() is None


@pytest.mark.parametrize("write_s", [2.0, None])
def test_before_init_is_answered_only_its_own_deadline_runs(talk, write_s):
    talked = talk(write_s=write_s, handshake_s=10.0)
    talked.session.begin(INIT)
    assert talked.step()  # and not written
    assert talked.session.next_deadline() == 10.0


def test_without_a_deadline_for_reading_it_waits_for_ever(talk):
    talked = talk(write_s=None).run()
    tell(talked, 1)
    assert talked.step()
    assert talked.session.next_deadline() is None


def test_a_frame_that_is_still_being_written_does_not_keep_shutdown_from_its_time(talk):
    talked = talk(write_s=2.0, ack_s=1.0).run()
    tell(talked, 1)
    assert talked.step()
    talked.session.shutdown(now=1.5)
    assert talked.session.next_deadline() == 2.5
    talked.session.receive_sent()
    assert talked.session.next_deadline() == 2.5
    assert names(talked.step()) == ["plugin/shutdown"]


def test_nothing_waits_for_a_process_that_is_gone(talk):
    talked = talk().run()
    tell(talked, 1)
    talked.session.receive_broken_pipe()
    assert not tell(talked, 2)
    assert talked.session.data_to_send() == []
