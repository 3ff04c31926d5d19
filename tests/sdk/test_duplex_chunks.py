"""Chunks: items cut by size, put together again, and every way in which some of them can be missing or wrong."""

import base64
import json
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk.duplex import CHUNK_BYTES, LIMIT, Accumulator, chunks
from plughost_sdk.frames import content_length

ITEMS = st.lists(st.text(max_size=40) | st.integers() | st.lists(st.integers(), max_size=10), max_size=40)
TARGETS = st.integers(1, 600)
PIPE_BYTES = 65_536  # what a pipe holds, where nobody has asked for more


def cut(items, target=400, **more):
    return [json.loads(each) for each in chunks(items, target_bytes=target, published_ns=5, **more)]


def chunk(index=0, *, final=False, batch=5, version=1, data=None):
    return json.dumps(
        {
            "version": version,
            "published_ns": batch,
            "partial": not final,
            "chunk_index": index,
            "is_final": final,
            "data": [index] if data is None else data,
        }
    ).encode()


def join(payloads, accumulator=None):
    """Return the data of every publish that came whole."""
    accumulator = accumulator or Accumulator(1)
    return [whole for each in payloads if (whole := accumulator.receive(each)) is not None]


# Cutting


def test_what_fits_is_one_chunk_that_is_final():
    assert cut([1, 2], version=3) == [
        {
            "version": 3,
            "published_ns": 5,
            "partial": False,
            "chunk_index": 0,
            "is_final": True,
            "data": [1, 2],
        }
    ]


def test_no_items_are_one_empty_chunk():
    (only,) = cut([])
    assert (only["chunk_index"], only["is_final"], only["data"]) == (0, True, [])


def test_all_chunks_of_a_publish_carry_the_time_at_which_it_began(monkeypatch):
    later = time.time_ns() + 10**9
    clock = iter([later, later + 1])
    monkeypatch.setattr("time.time_ns", lambda: next(clock))
    found = [json.loads(each)["published_ns"] for each in chunks(["x" * 100] * 9, target_bytes=300)]
    assert len(found) > 1
    assert set(found) == {later}


def test_a_later_publish_has_a_later_time_though_the_clock_goes_back(monkeypatch):
    later = time.time_ns() + 10**10
    clock = iter([later, later, later - 10**9])
    monkeypatch.setattr("time.time_ns", lambda: next(clock))
    found = [json.loads(each)["published_ns"] for _ in range(3) for each in chunks([])]
    assert found == [later, later + 1, later + 2]


def test_data_that_were_cut_short_say_so_in_every_chunk():
    found = [json.loads(each)["partial"] for each in chunks(["x" * 100] * 9, target_bytes=300, partial=True)]
    assert len(found) > 1
    assert set(found) == {True}


@given(items=ITEMS, target=TARGETS)
def test_chunks_are_numbered_whole_and_in_order_and_only_the_last_is_final(items, target):
    found = cut(items, target)
    assert [each["chunk_index"] for each in found] == list(range(len(found)))
    assert [each["is_final"] for each in found] == [False] * (len(found) - 1) + [True]
    assert {each["partial"] for each in found} == {False}
    assert [item for each in found for item in each["data"]] == items


@given(items=ITEMS, target=TARGETS)
def test_a_chunk_over_the_target_holds_a_single_item(items, target):
    for each in chunks(items, target_bytes=target):
        assert len(each) <= target or len(json.loads(each)["data"]) <= 1


def test_chunks_are_filled_as_far_as_they_go():
    sizes = [len(each) for each in chunks(["x" * 50] * 1_000, target_bytes=2_000)]
    assert all(1_850 < size <= 2_000 for size in sizes[:-1])


def test_an_outlier_goes_alone_and_the_others_stay_together():
    found = cut([1, 2, "x" * 10_000, 3, 4])
    assert [len(each["data"]) for each in found] == [2, 1, 2]


def test_a_usual_chunk_fits_the_pipe_with_base64_and_all():
    cut_up = list(chunks(["x" * 1_000] * 500))
    assert len(cut_up) > 10
    for each in cut_up:
        params = {"topic": "t" * 512, "payload": base64.b64encode(each).decode()}
        body = json.dumps({"jsonrpc": "2.0", "method": "plugin/handle_event", "params": params}).encode()
        assert len(content_length.encode(body, LIMIT)) <= PIPE_BYTES


def test_a_usual_chunk_is_no_larger_than_the_name_says():
    assert max(map(len, chunks(["x" * 1_000] * 500))) <= CHUNK_BYTES


def test_data_is_made_of_the_index_and_the_items():
    found = cut(
        ["x" * 100] * 9, 400, data=lambda index, items: {"total": None if index else 9, "calls": items}
    )
    assert [each["data"]["total"] for each in found] == [9] + [None] * (len(found) - 1)
    assert sum(len(each["data"]["calls"]) for each in found) == 9


def test_data_that_is_larger_than_its_items_is_cut_again():
    found = list(
        chunks(range(100), target_bytes=500, data=lambda index, items: [str(item) * 20 for item in items])
    )
    assert all(len(each) <= 500 for each in found)
    assert [int(each[: len(each) // 20]) for one in found for each in json.loads(one)["data"]] == list(
        range(100)
    )
    assert [json.loads(each)["is_final"] for each in found] == [False] * (len(found) - 1) + [True]


def test_items_are_taken_as_they_are_needed():
    taken = []

    def items():
        for number in range(1_000):
            taken.append(number)
            yield "x" * 100

    next(iter(chunks(items(), target_bytes=500)))
    assert len(taken) < 20


# Putting together


@given(items=ITEMS, target=TARGETS)
def test_what_was_cut_comes_back(items, target):
    accumulator = Accumulator(7)
    (whole,) = join(chunks(items, target_bytes=target, version=7), accumulator)
    assert [item for data in whole for item in data] == items
    assert (accumulator.state, accumulator.dropped, accumulator.lost) == ("complete", 0, 0)


def test_another_codec_may_be_used_at_both_ends():
    cut_up = chunks([b"a", {1}], pickle.dumps, 10, published_ns=5)
    (whole,) = join(cut_up, Accumulator(1, pickle.loads))
    assert whole == [[b"a"], [{1}]]


@given(items=ITEMS, target=TARGETS, data=st.data())
def test_a_publish_with_a_chunk_missing_is_never_taken_for_whole(items, target, data):
    payloads = list(chunks(items, target_bytes=target, published_ns=5))
    missing = data.draw(st.integers(0, len(payloads) - 1))
    accumulator = Accumulator(1)
    assert join(payloads[:missing] + payloads[missing + 1 :], accumulator) == []
    again = list(chunks(items, target_bytes=target, published_ns=6))
    assert len(join(again, accumulator)) == 1


@given(order=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([5, 6])), max_size=20))
def test_only_the_whole_sequence_of_one_publish_ever_comes_out(order):
    for whole in join(
        chunk(index, final=index == 3, batch=batch, data=[batch, index]) for index, batch in order
    ):
        assert whole in ([[5, index] for index in range(4)], [[6, index] for index in range(4)])


def test_a_lost_chunk_in_the_middle_is_noticed():
    accumulator = Accumulator(1)
    assert join([chunk(0), chunk(2), chunk(3, final=True)], accumulator) == []
    assert (accumulator.state, accumulator.lost, accumulator.dropped) == ("lost", 1, 1)


def test_a_chunk_without_its_beginning_is_dropped():
    accumulator = Accumulator(1)
    assert join([chunk(1), chunk(2, final=True)], accumulator) == []
    assert (accumulator.state, accumulator.lost, accumulator.dropped) == ("empty", 0, 2)


def test_a_chunk_of_another_publish_is_dropped_and_the_rest_goes_on():
    accumulator = Accumulator(1)
    assert join([chunk(0), chunk(1, batch=6), chunk(1, final=True)], accumulator) == [[[0], [1]]]
    assert (accumulator.state, accumulator.dropped) == ("complete", 1)


def test_a_repeated_chunk_is_dropped_and_the_rest_goes_on():
    accumulator = Accumulator(1)
    assert join([chunk(0), chunk(1), chunk(1), chunk(2, final=True)], accumulator) == [[[0], [1], [2]]]
    assert accumulator.dropped == 1


def test_a_new_beginning_discards_what_was_there():
    accumulator = Accumulator(1)
    assert join([chunk(0), chunk(0, batch=6), chunk(1, batch=6, final=True)], accumulator) == [[[0], [1]]]
    assert accumulator.lost == 1


def test_nothing_follows_the_final_chunk():
    accumulator = Accumulator(1)
    assert join([chunk(0, final=True), chunk(1, final=True)], accumulator) == [[[0]]]
    assert (accumulator.state, accumulator.dropped) == ("complete", 1)


def test_a_chunk_that_does_not_say_is_the_only_one():
    assert join([b'{"version":1,"published_ns":5,"data":[1]}']) == [[[1]]]


def test_another_version_is_a_state_until_the_right_one_begins_again():
    accumulator = Accumulator(1)
    assert join([chunk(0), chunk(1, version=2)], accumulator) == []
    assert accumulator.state == "mismatch"
    assert join([chunk(1, final=True)], accumulator) == []
    assert accumulator.state == "mismatch"
    assert join([chunk(0, final=True)], accumulator) == [[[0]]]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"version":1}',
        b'{"version":"1","published_ns":5,"data":[]}',
        b'{"version":true,"published_ns":5,"data":[]}',
        b'{"version":1,"published_ns":-5,"data":[]}',
        b'{"version":1,"published_ns":5}',
        b'{"version":1,"published_ns":5,"chunk_index":1.0,"data":[]}',
        b'{"version":1,"published_ns":5,"chunk_index":-1,"data":[]}',
        b'{"version":1,"published_ns":5,"is_final":1,"data":[]}',
        b'{"version":1,"published_ns":5,"is_final":null,"data":[]}',
    ],
    ids=lambda payload: repr(payload[:60]),
)
def test_what_is_no_chunk_is_dropped_and_the_rest_goes_on(payload):
    accumulator = Accumulator(1)
    assert join([chunk(0), payload, chunk(1, final=True)], accumulator) == [[[0], [1]]]
    assert accumulator.dropped == 1


@pytest.mark.parametrize(("over", "state"), [(0, "complete"), (-1, "lost")])
def test_a_publish_over_the_limit_is_lost(over, state):
    payloads = [chunk(0), chunk(1), chunk(2, final=True)]
    accumulator = Accumulator(1, limit_bytes=sum(map(len, payloads)) + over)
    assert len(join(payloads, accumulator)) == (state == "complete")
    assert accumulator.state == state
    assert join([chunk(0, final=True)], accumulator) == [[[0]]]
