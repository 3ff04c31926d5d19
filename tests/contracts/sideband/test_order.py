"""stdout and stderr of one request, merged by order marks, however the two pipes are read."""

from __future__ import annotations

import itertools

import pytest

from plughost.contracts.base import Channel
from plughost.contracts.sideband.items import Text
from plughost.contracts.sideband.order import HELD_CHARS
from plughost.contracts.sideband.output import counted_token, sequence
from tests.contracts.sideband.wire import MARK, TOKEN, hello

requirement = pytest.mark.requirement
OUT, ERR = Channel.STDOUT, Channel.STDERR


def mark(number):
    return sequence(counted_token(TOKEN, number))


@pytest.fixture
def worker(talk):
    """A worker that writes order marks, and runs something."""
    return talk().tell(hello(order_marks=True)).run()


def show(worker, data, channel):
    worker.session.receive_data(data, channel)


def shown(worker):
    return [(str(item.stream), item.text) for item in worker.session.take() if isinstance(item, Text)]


@requirement("sideband:request:announced")
def test_only_a_worker_with_order_marks_is_given_what_they_are_made_from(talk):
    assert talk().tell(hello(order_marks=True)).run().told[-1]["order_mark"] == TOKEN
    for other in ({}, {"order_marks": True, "marks": False}, {"order_marks": True, "request_ids": False}):
        assert "order_mark" not in talk().tell(hello(**other)).tick(1.0).run().told[-1]


@requirement("sideband:output:merged")
def test_both_streams_are_merged_as_they_were_written_in_whatever_order_the_pipes_are_read(talk):
    out = [b"a", mark(1) + mark(2), b"c", mark(3) + mark(4), b"e", MARK]
    err = [mark(1), b"b", mark(2) + mark(3), b"d", mark(4), MARK]
    whole = [("stdout", "a"), ("stderr", "b"), ("stdout", "c"), ("stderr", "d"), ("stdout", "e")]
    for places in itertools.combinations(range(12), 6):
        worker = talk().tell(hello(order_marks=True)).run()
        left, right = iter(out), iter(err)
        for at in range(12):
            show(worker, next(left) if at in places else next(right), OUT if at in places else ERR)
        assert shown(worker) == whole


@requirement("sideband:output:merged")
def test_marks_are_found_wherever_a_read_cuts_them(worker):
    for byte in b"one" + mark(1) + mark(2) + b"three":
        show(worker, bytes([byte]), OUT)
    for byte in mark(1) + b"two" + mark(2):
        show(worker, bytes([byte]), ERR)
    assert "".join(text for _, text in shown(worker)) == "onetwothree"


@requirement("sideband:output:merged")
def test_what_comes_behind_a_mark_waits_for_the_other_stream(worker):
    show(worker, b"a" + mark(1) + mark(2) + b"c", OUT)
    assert shown(worker) == [("stdout", "a")]
    show(worker, mark(1) + b"b" + mark(2), ERR)
    assert shown(worker) == [("stderr", "b"), ("stdout", "c")]


@requirement("sideband:output:merged")
def test_a_stream_whose_marks_do_not_come_holds_back_no_more_than_a_bound(worker):
    show(worker, mark(1), OUT)
    show(worker, b"x" * HELD_CHARS, OUT)
    assert shown(worker) == []
    show(worker, b"y", OUT)
    [(_, text)] = shown(worker)
    assert len(text) == HELD_CHARS + 1
    show(worker, b"z", OUT)
    assert shown(worker) == [("stdout", "z")]


@requirement("sideband:output:merged")
@pytest.mark.parametrize("end", ["eof", "mark", "exit"])
def test_the_end_of_the_other_stream_shows_what_waits_for_it(worker, end):
    show(worker, mark(1) + b"waits", OUT)
    assert shown(worker) == []
    if end == "eof":
        worker.session.receive_eof(ERR)
    elif end == "mark":
        show(worker, MARK, ERR)
    else:
        worker.session.receive_eof(Channel.CONTROL_IN)
        worker.exit(1)
    assert shown(worker) == [("stdout", "waits")]


@requirement("sideband:output:cut")
def test_an_order_mark_that_is_not_due_is_text(worker):
    later = mark(9)
    show(worker, later, OUT)
    show(worker, MARK, OUT)
    assert shown(worker) == [("stdout", later.decode())]


def test_a_flood_of_separators_is_text_and_costs_no_search_for_each(worker):
    show(worker, b"\x1e" * 65_536, OUT)
    show(worker, MARK, OUT)
    assert shown(worker) == [("stdout", "\x1e" * 65_536)]
