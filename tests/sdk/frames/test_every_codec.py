"""What holds for every codec. A new codec gets all of these by being listed."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plughost_sdk.frames import content_length, length_prefix, lines
from plughost_sdk.frames.errors import FrameTooLarge, TruncatedFrame

ANY_SIZE = 2**31


@dataclass(frozen=True)
class Codec:
    name: str
    encode: Any
    decoder: Any
    bodies: Any  # a strategy for what it can carry
    endless: bytes  # a beginning that promises, or already is, more than ten bytes
    truncates: bool = True  # an end of stream inside a frame is an error


CODECS = [
    Codec(
        "lines",
        lines.encode,
        lines.LineDecoder,
        st.binary(max_size=40).map(lambda body: body.replace(b"\n", b"").rstrip(b"\r")),
        b"x" * 11,
        truncates=False,
    ),
    Codec(
        "content-length",
        content_length.encode,
        content_length.ContentLengthDecoder,
        st.binary(max_size=40),
        b"Content-Length: 11\r\n\r\n",
    ),
    Codec(
        "content-length, spelled unusually",
        lambda body, limit: content_length.encode(body, limit).replace(
            b"Content-Length: ", b"content-length:", 1
        ),
        content_length.ContentLengthDecoder,
        st.binary(max_size=40),
        b"content-length:11\r\n\r\n",
    ),
    Codec(
        "length-prefix",
        length_prefix.encode,
        length_prefix.LengthPrefixDecoder,
        st.binary(max_size=40),
        b"\0\0\0\x0b",
    ),
]
BODIES = [b'{"a":1}', b"", b"\xff\x00{", b"\r x", b"0123456789"]

pytestmark = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)


def stream_of(codec, bodies):
    return b"".join(codec.encode(body, ANY_SIZE) for body in bodies)


def test_frames_do_not_depend_on_where_the_stream_is_cut(codec, feed, ways_to_cut):
    stream = stream_of(codec, BODIES)
    for pieces in ways_to_cut(stream):
        assert feed(codec.decoder(100), *pieces) == (BODIES, None)


@settings(max_examples=60)
@given(data=st.data())
def test_any_bodies_survive_any_cuts(codec, feed, data):
    bodies = data.draw(st.lists(codec.bodies, max_size=5))
    stream = stream_of(codec, bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert feed(codec.decoder(100), *pieces) == (bodies, None)


@settings(max_examples=60)
@given(data=st.data())
def test_a_decoder_that_is_asked_only_now_and_then_returns_the_same_frames_in_the_same_order(
    codec, drain, data
):
    bodies = data.draw(st.lists(codec.bodies, max_size=5))
    decoder, stream, frames = codec.decoder(100), stream_of(codec, bodies), []
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        decoder.receive_data(stream[start:end])
        if data.draw(st.booleans()):
            frames += drain(decoder)
    decoder.receive_eof()
    assert frames + drain(decoder) == bodies


def test_every_frame_has_the_limit_to_itself(codec, feed, ways_to_cut):
    bodies = [b"0123456789"] * 12
    for pieces in ways_to_cut(stream_of(codec, bodies)):
        assert feed(codec.decoder(10), *pieces) == (bodies, None)


@settings(max_examples=100)
@given(junk=st.binary(max_size=60))
def test_garbage_is_only_ever_a_frame_error_and_the_same_for_every_cut(codec, feed, ways_to_cut, junk):
    whole = feed(codec.decoder(20), junk)
    for pieces in ways_to_cut(junk):
        assert feed(codec.decoder(20), *pieces) == whole


@settings(max_examples=60)
@given(data=st.data())
def test_frames_before_garbage_are_returned_first(codec, feed, data):
    junk = data.draw(st.binary(max_size=30))
    frames, _ = feed(codec.decoder(100), stream_of(codec, BODIES) + junk)
    assert frames[: len(BODIES)] == BODIES


def test_a_tail_waits_until_the_rest_of_it_comes(codec, drain):
    one, two = codec.encode(b"one", ANY_SIZE), codec.encode(b"two", ANY_SIZE)
    for at in range(1, len(two)):
        decoder = codec.decoder(100)
        decoder.receive_data(one + two[:at])
        assert drain(decoder) == [b"one"]
        assert decoder.pending == at
        assert decoder.next_frame() is None
        decoder.receive_data(two[at:])
        assert drain(decoder) == [b"two"]
        assert decoder.pending == 0


def test_the_end_of_the_stream_between_frames_is_no_error(codec, feed):
    for count in range(len(BODIES) + 1):
        assert feed(codec.decoder(100), stream_of(codec, BODIES[:count])) == (BODIES[:count], None)


def test_the_end_of_the_stream_is_answered_the_same_however_often_it_is_asked(codec):
    decoder = codec.decoder(100)
    decoder.receive_eof()
    assert decoder.next_frame() is None
    assert decoder.next_frame() is None


def test_the_end_of_the_stream_inside_a_frame_is_noticed_at_every_position(codec, feed):
    bodies = [b"one", b"two"]
    stream = stream_of(codec, bodies)
    ends = [len(stream_of(codec, bodies[:count])) for count in range(3)]
    for at in range(len(stream) + 1):
        frames, error = feed(codec.decoder(100), stream[:at])
        whole = sum(at >= end for end in ends[1:])
        assert frames[:whole] == bodies[:whole]
        if at in ends:
            assert (len(frames), error) == (whole, None)
        elif codec.truncates:
            assert (len(frames), error) == (whole, TruncatedFrame)
        else:
            assert (len(frames), error) == (whole + 1, None)
            assert bodies[whole].startswith(frames[whole])


@pytest.mark.parametrize("size", [0, 9, 10])
def test_a_body_within_the_limit_is_written_and_read(codec, feed, size):
    assert feed(codec.decoder(10), codec.encode(b"x" * size, 10)) == ([b"x" * size], None)


def test_a_body_one_over_the_limit_is_neither_written_nor_read(codec, feed, ways_to_cut):
    with pytest.raises(FrameTooLarge):
        codec.encode(b"x" * 11, 10)
    for pieces in ways_to_cut(codec.encode(b"x" * 11, ANY_SIZE)):
        assert feed(codec.decoder(10), *pieces) == ([], FrameTooLarge)


def test_a_frame_over_the_limit_is_refused_before_all_of_it_has_come(codec, feed):
    assert feed(codec.decoder(10), codec.endless, eof=False) == ([], FrameTooLarge)
    assert feed(codec.decoder(11), codec.endless, eof=False) == ([], None)


@pytest.mark.parametrize("rest", [b"", b"and more of it", b"\nand\nmore\n"])
def test_a_failed_decoder_raises_the_same_ever_after_and_keeps_nothing(codec, rest):
    decoder = codec.decoder(10)
    decoder.receive_data(codec.endless + rest)
    with pytest.raises(FrameTooLarge) as first:
        decoder.next_frame()
    assert decoder.pending == 0
    decoder.receive_data(codec.encode(b"good", 10))
    decoder.receive_eof()
    with pytest.raises(FrameTooLarge) as again:
        decoder.next_frame()
    assert again.value is first.value
    assert decoder.pending == 0


@settings(max_examples=60)
@given(data=st.data())
def test_pending_counts_what_came_and_was_not_returned(codec, data):
    bodies = data.draw(st.lists(codec.bodies, min_size=1, max_size=4))
    decoder, waiting = codec.decoder(100), stream_of(codec, bodies)
    decoder.receive_data(waiting)
    for body in bodies:
        assert decoder.pending == len(waiting)
        assert decoder.next_frame() == body
        waiting = waiting[len(codec.encode(body, ANY_SIZE)) :]
    assert decoder.pending == 0


def test_frames_are_bytes_that_do_not_change_any_more(codec, feed):
    frames, _ = feed(codec.decoder(100), stream_of(codec, BODIES))
    assert {type(frame) for frame in frames} == {bytes}
