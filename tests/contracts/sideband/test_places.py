"""A picture stands where its mark does, whichever came first; and none is lost when one of them never comes."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.base import Channel
from plughost.contracts.sideband import places
from plughost.contracts.sideband.items import Image, Stream, Text
from plughost.contracts.sideband.output import (
    ImageMarked,
    Marked,
    OutputStream,
    counted_token,
    sequence,
)
from plughost.contracts.sideband.places import MOST_EMPTY, MOST_WAITING
from plughost.contracts.sideband.states import State
from plughost.contracts.sideband.timeline import Budget
from tests.contracts.sideband.wire import MARK, TOKEN, hello, image, line

requirement = pytest.mark.requirement

END = line("request_end", request_id=1, marked=True)
BASE = TOKEN  # the tests' sessions are given one token for everything


def mark(number):
    return sequence(counted_token(BASE, number))


def picture(number, **members):
    """Return the message of a request's picture."""
    told = {"request_id": 1, "mark": counted_token(BASE, number), **members}
    return image(id=f"p{number}", **told)


@pytest.fixture
def worker(talk):
    """A worker that marks its pictures, and runs something."""
    return talk().tell(hello(image_marks=True)).run()


def shown(worker):
    """Take what was shown: text as it is, pictures by their ids."""
    items = worker.session.take()
    return [item.text if isinstance(item, Text) else item.id for item in items]


def test_the_marks_of_pictures_count_from_what_the_request_was_given():
    assert counted_token("a" * 24 + "00000000", 1) == "a" * 24 + "00000001"
    assert counted_token("a" * 24 + "0000000f", 1) == "a" * 24 + "00000010"
    assert counted_token("a" * 24 + "ffffffff", 2) == "a" * 24 + "00000001"


@requirement("sideband:request:announced")
def test_a_worker_that_marks_pictures_is_given_what_their_marks_are_made_from_and_no_other_is(talk):
    ours = talk().tell(hello(image_marks=True)).run()
    assert ours.told[-1]["image_mark"] == TOKEN
    for other in ({}, {"image_marks": True, "marks": False}, {"image_marks": True, "request_ids": False}):
        worker = talk().tell(hello(**other)).tick(1.0).run()
        assert "image_mark" not in worker.told[-1]


@requirement("sideband:image:placed", "sideband:output:order")
def test_a_picture_stands_between_the_texts_around_its_mark_in_whatever_order_the_pipes_are_read(talk):
    output = [b"one", mark(1), b"two", mark(2), b"three", MARK]
    told = [picture(1), picture(2)]
    for sent in itertools.combinations(range(8), 2):
        worker = talk().tell(hello(image_marks=True)).run()
        out, side = iter(output), iter(told)
        for at in range(8):
            worker.tell(next(side)) if at in sent else worker.show(next(out))
        worker.tell(END).show(MARK, Channel.STDERR)
        assert worker.state is State.IDLE
        assert shown(worker) == ["one", "p1", "two", "p2", "three"]


@requirement("sideband:image:placed")
def test_every_cut_of_the_output_leads_to_the_same(talk):
    output = "tö".encode() + mark(1) + "€".encode() + MARK
    for at in range(len(output) + 1):
        worker = talk().tell(hello(image_marks=True)).run()
        worker.show(output[:at]).tell(picture(1)).show(output[at:]).tell(END).show(MARK, Channel.STDERR)
        assert shown(worker) == ["tö", "p1", "€"]


@requirement("sideband:image:placed")
@pytest.mark.parametrize("how", ["marked", "closed", "settled", "gone"])
def test_a_picture_whose_mark_never_comes_is_shown_at_the_end_of_what_there_is(worker, how):
    worker.show(b"text").tell(picture(1))
    assert shown(worker) == ["text"]
    match how:
        case "marked":
            worker.show(b"more" + MARK)
        case "closed":
            worker.show(b"more").close(Channel.STDOUT)
        case "settled":
            worker.show(b"more").tell(line("request_end", request_id=1)).tick(1.0)
        case "gone":
            worker.show(b"more").exit(1)
    assert shown(worker) == ["more", "p1"]


@requirement("sideband:image:placed")
def test_a_mark_whose_picture_never_comes_leaves_nothing_behind(worker):
    worker.show(b"a" + mark(1) + b"b").mark().tell(END)
    assert "".join(shown(worker)) == "ab"
    worker.run().tell(image(id="next", request_id=2, mark=counted_token(BASE, 1))).show(b"c" + MARK)
    assert shown(worker) == ["c", "next"]


@requirement("sideband:image:placed")
def test_a_picture_comes_after_what_was_taken_meanwhile(worker):
    worker.show(b"a" + mark(1) + b"b")
    assert shown(worker) == ["a", "b"]
    worker.tell(picture(1)).show(b"c")
    assert shown(worker) == ["p1", "c"]


@requirement("sideband:image:placed")
@pytest.mark.parametrize(
    "token",
    ["", "x", TOKEN, "f" * 32, counted_token(BASE, 1).upper(), "é" * 32]
    + [TOKEN[:24] + odd for odd in ("       1", "+0000001", "0_000001", "89abcdf")],
)
def test_a_mark_that_is_not_one_of_the_request_places_nothing(worker, token):
    worker.show(b"a").tell(image(id="odd", request_id=1, mark=token)).show(b"b" + mark(1))
    assert shown(worker) == ["a", "odd", "b"]


@requirement("sideband:image:placed")
def test_a_picture_of_another_request_is_shown_where_it_came(worker):
    worker.mark().tell(END).run().show(b"a")
    worker.tell(picture(1)).show(b"b")
    assert shown(worker) == ["a", "p1", "b"]


@requirement("sideband:image:placed")
def test_a_picture_that_is_named_twice_is_shown_twice_and_waits_for_nothing(worker):
    worker.tell(picture(1)).tell(image(id="again", request_id=1, mark=counted_token(BASE, 1))).show(b"a")
    worker.show(mark(1)).tell(image(id="third", request_id=1, mark=counted_token(BASE, 1)))
    assert shown(worker) == ["p1", "a", "again", "third"]


@requirement("sideband:image:placed")
def test_a_mark_that_was_skipped_is_no_longer_waited_for(worker):
    worker.tell(picture(1)).tell(picture(2)).show(b"a" + mark(2) + mark(1) + b".")
    assert shown(worker) == ["a", "p1", "p2", mark(1).decode() + "."]


@requirement("sideband:image:placed", "sideband:image:bounded")
def test_pictures_that_wait_are_bounded_in_number_and_the_first_is_shown_where_the_output_is(worker):
    for number in range(1, MOST_WAITING + 2):
        worker.tell(picture(number))
    assert shown(worker) == ["p1"]
    worker.show(b"a" + mark(1) + b"b" + mark(2) + b"c" + mark(3))
    assert shown(worker) == ["a", "b", "p2", "c", "p3"]


@requirement("sideband:image:placed", "sideband:image:bounded")
def test_pictures_that_wait_are_bounded_in_size(worker, monkeypatch):
    assert places.WAITING_BYTES == 67_108_864
    monkeypatch.setattr(places, "WAITING_BYTES", 100)
    third = b"x" * 33
    for number in (1, 2, 3):
        worker.tell(picture(number, data=third))
    assert shown(worker) == []
    worker.tell(picture(4, data=b"1"))
    assert shown(worker) == []
    worker.tell(picture(5, data=b"2"))
    assert shown(worker) == ["p1"]


@requirement("sideband:image:placed")
def test_places_that_are_empty_are_bounded(worker):
    worker.show(b"".join(mark(number) for number in range(1, MOST_EMPTY + 2)) + b"text")
    worker.tell(picture(1)).tell(picture(2))
    assert shown(worker) == ["p2", "text", "p1"]


@requirement("sideband:image:latest")
def test_only_the_last_version_of_a_picture_is_kept_at_the_place_of_its_own_mark(worker):
    worker.show(b"a" + mark(1) + b"b" + mark(2) + b"c")
    for number in (1, 2):
        worker.tell(
            image(
                id="p",
                is_new=number == 1,
                request_id=1,
                mark=counted_token(BASE, number),
                data=b"%d" % number,
            )
        )
    assert [getattr(item, "data", None) or item.text for item in worker.session.take()] == [
        "a",
        "b",
        b"2",
        "c",
    ]


@requirement("sideband:image:placed")
def test_a_place_that_has_fallen_out_with_the_text_around_it_loses_no_picture(talk):
    worker = talk(budget=Budget(head_chars=0, tail_chars=300)).tell(hello(image_marks=True)).run()
    worker.show(b"a" + mark(1) + b"b" * 1_000).tell(picture(1)).show(b"c")
    items = worker.session.take()
    assert [item.id for item in items if isinstance(item, Image)] == ["p1"]
    assert items[-1] == Text(Stream.STDOUT, "c", 1)


def test_marks_of_pictures_in_stderr_or_while_nothing_runs_are_text(worker):
    worker.show(mark(1) + b".", Channel.STDERR)
    assert shown(worker) == [mark(1).decode() + "."]
    worker.mark().tell(END).show(mark(1))
    assert shown(worker) == [mark(1).decode()]


@requirement("sideband:output:cut")
@given(
    st.lists(st.sampled_from([b"a", b"\x1e", mark(1), mark(2), mark(1)[:30], MARK]), max_size=8), st.data()
)
def test_no_cut_changes_what_is_heard(parts, data):
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    def heard(pieces):
        stream = OutputStream()
        stream.expect(TOKEN, 1)
        stream.expect_images(BASE)
        found = [each for piece in pieces for each in stream.receive_data(piece)] + [stream.receive_eof()]
        joined = [""]
        for each in found:
            if isinstance(each, str):
                joined[-1] += each
            else:
                joined += [each, ""]
        return joined

    assert heard(pieces) == heard([whole])
    assert all(isinstance(each, str | Marked | ImageMarked) for each in heard(pieces))


@requirement("sideband:image:placed")
@pytest.mark.parametrize("seed", range(20))
def test_many_texts_and_pictures_come_in_their_order_however_the_pipes_are_read(talk, seed):
    chance = random.Random(seed)
    output, told, expected = bytearray(), bytearray(), []
    for number in range(1, 51):
        output += b"text %d" % number + mark(number)
        told += picture(number)
        expected += [f"text {number}", f"p{number}"]
    output += MARK
    worker = talk().tell(hello(image_marks=True)).run()
    while output or told:
        pipe, read = (told, worker.tell) if told and chance.random() < 0.5 else (output, worker.show)
        size = chance.randrange(1, 400)
        piece = bytes(pipe[:size])
        del pipe[:size]
        read(piece)
    worker.tell(END).show(MARK, Channel.STDERR)
    assert shown(worker) == expected
