"""The buffer below every decoder: nothing is lost, nothing is searched twice."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk.frames.buffer import Buffer


def filled(data):
    buffer = Buffer()
    buffer.append(data)
    return buffer


def test_a_new_buffer_is_empty():
    buffer = Buffer()
    assert len(buffer) == 0
    assert buffer.find(b"\n") == -1
    assert buffer.take(10) == b""


def test_bytes_come_out_in_the_order_they_went_in():
    buffer = filled(b"one")
    buffer.append(b"two")
    assert buffer.take(4) == b"onet"
    assert buffer.take(9) == b"wo"
    assert len(buffer) == 0


def test_taken_bytes_are_no_longer_counted():
    buffer = filled(b"abcdef")
    buffer.take(2, drop=1)
    assert len(buffer) == 3
    assert buffer.take(3) == b"def"


def test_what_was_taken_does_not_change_when_more_is_appended():
    buffer = filled(b"abc")
    taken = buffer.take(3)
    buffer.append(b"xyz")
    assert taken == b"abc"


def test_a_mark_is_found_at_its_first_place():
    assert filled(b"ab\ncd\n").find(b"\n") == 2


def test_a_mark_that_came_later_is_found():
    buffer = filled(b"ab")
    assert buffer.find(b"\n") == -1
    buffer.append(b"c\n")
    assert buffer.find(b"\n") == 3


def test_after_a_take_the_search_begins_at_the_new_front():
    buffer = filled(b"ab\ncd\n")
    buffer.take(buffer.find(b"\n"), drop=1)
    assert buffer.find(b"\n") == 2


def test_a_cleared_buffer_searches_what_comes_next_from_its_beginning():
    buffer = filled(b"abc")
    buffer.append(b"def")
    buffer.find(b"\n")
    buffer.clear()
    assert len(buffer) == 0
    buffer.append(b"\n")
    assert buffer.find(b"\n") == 0


def test_bytes_without_the_mark_are_searched_once_however_often_it_is_looked_for():
    buffer = Buffer()
    for _ in range(100):
        buffer.append(b"x" * 10)
        assert buffer.find(b"\n") == -1
        assert buffer.find(b"\n") == -1
    assert buffer.scanned == 1000


@given(st.lists(st.text("\nab", max_size=8).map(str.encode), max_size=20))
def test_taking_every_marked_run_searches_every_byte_exactly_once(pieces):
    buffer, runs = Buffer(), []
    for piece in pieces:
        buffer.append(piece)
        while (at := buffer.find(b"\n")) >= 0:
            runs.append(buffer.take(at, drop=1))
    stream = b"".join(pieces)
    assert [*runs, buffer.take(len(buffer))] == stream.split(b"\n")
    assert buffer.scanned == len(stream)


@given(
    st.lists(
        st.text("\nab", max_size=6).map(str.encode)
        | st.just("find")
        | st.tuples(st.integers(0, 8), st.integers(0, 2)),
        max_size=30,
    )
)
def test_whatever_is_asked_in_whatever_order_it_behaves_like_one_run_of_bytes(asked):
    buffer, run = Buffer(), b""
    for each in asked:
        if isinstance(each, bytes):
            buffer.append(each)
            run += each
        elif isinstance(each, tuple):
            count = min(each[0], len(run))
            drop = min(each[1], len(run) - count)
            assert buffer.take(count, drop=drop) == run[:count]
            run = run[count + drop :]
        else:
            assert buffer.find(b"\n") == run.find(b"\n")
        assert len(buffer) == len(run)
    assert buffer.find(b"\n") == run.find(b"\n")
    assert buffer.take(len(run)) == run


def test_what_follows_a_long_run_in_its_last_piece_does_not_keep_the_run_in_memory():
    size, buffer = 4_194_304, Buffer()
    tracemalloc.start()
    try:
        for _ in range(63):
            buffer.append(bytes(65_536))
        buffer.append(bytes(65_536) + b"next")
        buffer.take(size)
        assert tracemalloc.get_traced_memory()[0] < size / 4
    finally:
        tracemalloc.stop()
    assert buffer.take(4) == b"next"
