"""What is urgent leaves first, what waits is bounded, and nothing changes its order without a reason."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.contracts.duplex.lanes import JOINED, JOINED_BYTES, Bounds, Lane, Lanes
from tests.sdk.tripwire import Tripwire


def put(lanes, lane, text):
    return lanes.put(lane, text.encode(), b"")


def take(lanes, *, all_lanes=True):
    return [waiting.frame.decode() for waiting in lanes.take(all_lanes=all_lanes)]


def drain(lanes):
    return list(iter(lambda: take(lanes), []))


def drain_all(lanes):
    return [text for taken in drain(lanes) for text in taken]


BIG = "x" * JOINED_BYTES


def test_every_key_leaves_first_and_one_big_frame_of_the_rest_with_them():
    lanes = Lanes(Bounds())
    put(lanes, Lane.EVENT, f"{BIG}1")
    put(lanes, Lane.EVENT, f"{BIG}2")
    put(lanes, Lane.KEY, "k1")
    put(lanes, Lane.KEY, "k2")
    assert drain(lanes) == [["k1", "k2", f"{BIG}1"], [f"{BIG}2"]]


@pytest.mark.parametrize("keys", [0, 1, 64])
def test_small_frames_leave_together_a_bounded_number_of_them(keys):
    lanes = Lanes(Bounds())
    for number in range(2 * JOINED + 1):
        put(lanes, Lane.EVENT, str(number))
    for number in range(keys):
        put(lanes, Lane.KEY, f"k{number}")
    assert [len(taken) for taken in drain(lanes)] == [keys + JOINED, JOINED, 1]


@pytest.mark.parametrize(
    ("size", "pieces"),
    [
        (1, [3]),
        (JOINED_BYTES // 3, [3]),
        (JOINED_BYTES // 2, [2, 1]),
        (JOINED_BYTES // 2 + 1, [1, 1, 1]),
        (JOINED_BYTES, [1, 1, 1]),
        (JOINED_BYTES + 1, [1, 1, 1]),
    ],
)
def test_frames_leave_together_as_long_as_they_fit_and_alone_if_they_never_do(size, pieces):
    lanes = Lanes(Bounds())
    for _ in range(3):
        put(lanes, Lane.EVENT, "x" * size)
    assert [len(taken) for taken in drain(lanes)] == pieces


def test_a_frame_that_does_not_fit_beside_those_before_it_waits_for_its_turn():
    lanes = Lanes(Bounds())
    put(lanes, Lane.EVENT, "small")
    put(lanes, Lane.EVENT, BIG)
    put(lanes, Lane.KEY, "key")
    assert drain(lanes) == [["key", "small"], [BIG]]


def test_replies_leave_before_calls_and_events_and_those_in_the_order_of_arrival():
    lanes = Lanes(Bounds())
    put(lanes, Lane.EVENT, "e1")
    lanes.put_call(1, b"c1", b"")
    put(lanes, Lane.EVENT, "e2")
    lanes.put_call(2, b"c2", b"")
    put(lanes, Lane.REPLY, "r1")
    put(lanes, Lane.REPLY, "r2")
    assert drain(lanes) == [["r1", "r2", "e1", "c1", "e2", "c2"]]


def test_only_replies_leave_while_the_plugin_is_not_ready():
    lanes = Lanes(Bounds())
    for lane in (Lane.KEY, Lane.EVENT, Lane.REPLY):
        put(lanes, lane, lane.value)
    lanes.put_call(1, b"call", b"")
    assert take(lanes, all_lanes=False) == ["reply"]
    assert take(lanes, all_lanes=False) == []
    assert drain(lanes) == [["key", "event", "call"]]


@pytest.mark.parametrize("lane", [Lane.KEY, Lane.EVENT])
@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_a_full_lane_loses_its_oldest_and_counts_them(lane, count):
    lanes = Lanes(Bounds(keys=3, events=3))
    gone = [put(lanes, lane, str(number)) for number in range(count)]
    assert sum(gone) == lanes.dropped[lane] == max(0, count - 3)
    assert [text for taken in drain(lanes) for text in taken] == [str(number) for number in range(count)][-3:]


def test_events_are_bounded_in_bytes_and_one_alone_is_always_kept():
    lanes = Lanes(Bounds(event_bytes=10))
    assert [put(lanes, Lane.EVENT, text) for text in ("aaaaa", "bbbbb", "c", "d" * 11, "e")] == [
        0,
        0,
        1,
        2,
        1,
    ]
    assert drain(lanes) == [["e"]]
    assert put(lanes, Lane.EVENT, "f" * 10) == 0  # the bytes of those that left are not counted


def test_calls_and_replies_are_never_lost():
    lanes = Lanes(Bounds(keys=1, events=1, event_bytes=1))
    for number in range(50):
        put(lanes, Lane.REPLY, "r")
        lanes.put_call(number, b"c", b"")
    assert lanes.waiting(Lane.REPLY) == lanes.waiting(Lane.CALL) == 50


def test_a_call_can_be_withdrawn_while_it_waits_and_no_longer():
    lanes = Lanes(Bounds())
    lanes.put_call(1, b"c1", b"")
    lanes.put_call(2, b"c2", b"")
    assert lanes.holds(1)
    assert lanes.withdraw(1)
    assert not lanes.holds(1)
    assert not lanes.withdraw(1)
    assert take(lanes) == ["c2"]
    assert not lanes.withdraw(2)


def test_what_is_cleared_is_gone():
    lanes = Lanes(Bounds(event_bytes=4))
    for lane in (Lane.KEY, Lane.EVENT, Lane.REPLY):
        put(lanes, lane, "abcd")
    lanes.put_call(1, b"c", b"")
    lanes.clear_notifications()
    assert len(lanes) == 2
    lanes.clear()
    assert len(lanes) == 0
    assert put(lanes, Lane.EVENT, "abcd") == 0


@settings(max_examples=25)
@given(st.lists(st.sampled_from([*Lane, None]), max_size=40))
def test_within_its_lane_everything_leaves_in_order_and_once(steps):
    lanes = Lanes(Bounds())
    put_in = {lane: [] for lane in Lane}
    taken = {lane: [] for lane in Lane}
    for number, lane in enumerate(steps):
        if lane is None:
            for text in take(lanes):
                taken[Lane(text.split()[0])].append(text)
        else:
            text = f"{lane.value} {number}"
            put_in[lane].append(text)
            if lane is Lane.CALL:
                lanes.put_call(number, text.encode(), b"")
            else:
                put(lanes, lane, text)
    for text in (text for group in drain(lanes) for text in group):
        taken[Lane(text.split()[0])].append(text)
    assert taken == put_in
    assert len(lanes) == 0


@given(st.lists(st.integers(1, JOINED_BYTES + 2) | st.integers(1, 9), max_size=40))
def test_calls_alone_leave_as_they_do_among_others(sizes):
    alone, among = Lanes(Bounds()), Lanes(Bounds())
    for lanes in (alone, among):
        for call_id, size in enumerate(sizes):
            lanes.put_call(call_id, b"x" * size, b"%d" % call_id)
    while among:
        taken = among.take(all_lanes=True)
        frames, shown = alone.take_calls()
        assert frames == b"".join(waiting.frame for waiting in taken)
        assert shown == [waiting.shown for waiting in taken]
        assert list(alone.calls) == list(among.calls)
    assert not alone


def put_call(lanes, number, text):
    lanes.put_call(number, text.encode(), text.encode())


def of_all_kinds(lanes, prefix, number):
    for lane in (Lane.EVENT, Lane.KEY, Lane.REPLY):
        put(lanes, lane, f"{prefix}{lane.value}")
    put_call(lanes, number, f"{prefix}call")


PUT = {
    "calls": [f"call{number}" for number in range(JOINED + 2)],
    "one call": ["call0"],
    "calls and an event": ["call0", "call1", "event"],
    "replies": ["reply", "reply2"],
    "events": ["event", "event2"],
    "keys": ["key", "key2"],
}
WORK = {
    "take": lambda lanes: take(lanes),
    "take replies": lambda lanes: take(lanes, all_lanes=False),
    "take calls": lambda lanes: [each.decode() for each in lanes.take_calls()[1]],
    "put an event": lambda lanes: put(lanes, Lane.EVENT, "eventW") and [],
    "put a key": lambda lanes: put(lanes, Lane.KEY, "keyW") and [],
}
HANDLERS = {
    "puts": lambda lanes: of_all_kinds(lanes, "h", 1000) or [],
    "takes": lambda lanes: drain_all(lanes),
    "takes one": lambda lanes: take(lanes),
    "takes and puts": lambda lanes: [drain_all(lanes), of_all_kinds(lanes, "h", 1000)][0],
}


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("waiting", PUT)
def test_a_signal_handler_that_comes_in_between_loses_nothing_and_doubles_nothing(waiting, work, handler):
    number, has_come = 0, True
    while has_come:
        number += 1
        lanes, said = Lanes(Bounds()), list(PUT[waiting])
        for at, text in enumerate(said):
            if text.startswith("call"):
                put_call(lanes, at, text)
            else:
                put(lanes, Lane(text.rstrip("2")), text)
        taken = []
        tripwire = Tripwire(
            number,
            lambda lanes=lanes, taken=taken: taken.extend(HANDLERS[handler](lanes)),
            watched=("duplex/lanes.py",),
            always=True,
        )
        taken += tripwire.watch(WORK[work], lanes) or []
        has_come = tripwire.has_come
        taken += drain_all(lanes)
        said += {"put an event": ["eventW"], "put a key": ["keyW"]}.get(work, [])
        if has_come and "puts" in handler:
            said += ["hevent", "hkey", "hreply", "hcall"]
        assert sorted(taken) == sorted(said), f"step {number}"
        assert not lanes.is_fed(1, 1)
        assert lanes.dropped == {Lane.KEY: 0, Lane.EVENT: 0}
    assert number > 1


@pytest.mark.parametrize("lane", [Lane.KEY, Lane.EVENT])
def test_a_signal_handler_that_takes_what_was_to_be_dropped_breaks_nothing(lane):
    number, has_come = 0, True
    while has_come:
        number += 1
        lanes, taken = Lanes(Bounds(keys=2, events=2)), []
        put(lanes, lane, "1")
        put(lanes, lane, "2")
        tripwire = Tripwire(
            number,
            lambda lanes=lanes, taken=taken: taken.extend(drain_all(lanes)),
            watched=("duplex/lanes.py",),
            always=True,
        )
        tripwire.watch(put, lanes, lane, "3")
        has_come = tripwire.has_come
        taken += drain_all(lanes)
        assert len(taken) + lanes.dropped[lane] == 3
        assert not lanes.is_fed(1, 1)
    assert number > 1
