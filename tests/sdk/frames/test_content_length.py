"""Content-Length: every case of the table, strict where two readers could disagree."""

import sys

import pytest
from plughost_sdk.frames.content_length import HEADER_LIMIT, SHORT_BODY, ContentLengthDecoder, encode, only
from plughost_sdk.frames.errors import FrameError, FrameTooLarge, TruncatedFrame

MIB = 1_048_576
HEADER = b"Content-Length: 5\r\n\r\n"


def test_a_frame_is_written_as_one_header_a_blank_line_and_the_body():
    assert encode(b"hello", 100) == b"Content-Length: 5\r\n\r\nhello"
    assert encode(b"", 100) == b"Content-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 5\r\n\r\n",
        b"Content-Length:5\r\n\r\n",
        b"content-length: 5\r\n\r\n",
        b"CONTENT-LENGTH: 5\r\n\r\n",
        b"Content-Length : 5\r\n\r\n",
        b" \tContent-Length\t:\t 5 \t\r\n\r\n",
        b"Content-Length: 005\r\n\r\n",
        b"Content-Length: 00000000000000000005\r\n\r\n",
        b"Content-Length: 5\r\r\n\r\n",
    ],
)
def test_blanks_case_and_leading_zeros_do_not_matter(feed, ways_to_cut, header):
    for pieces in ways_to_cut(header + b"hello" + HEADER + b"again"):
        assert feed(ContentLengthDecoder(100), *pieces) == ([b"hello", b"again"], None)


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Type: application/json\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length: 5\r\nContent-Type: application/json\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length 5\r\n\r\n",
        b"Content-Length: 5\n\n",
        b"Content-Length: 5\r\n\n",
        b"Content-Length: 5\n\r\n",
        b"Content-Length: 50\n\r\n",
        b"\r\n",
        b"\r\nContent-Length: 5\r\n\r\n",
        b"\n",
        b": 5\r\n\r\n",
        b"Content-Length: +5\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Length:\r\n\r\n",
        b"Content-Length: abc\r\n\r\n",
        b"Content-Length: 5_0\r\n\r\n",
        b"Content-Length: 1_000\r\n\r\n",
        b"Content-Length: 5.0\r\n\r\n",
        b"Content-Length: 0x5\r\n\r\n",
        b"Content-Length: 5 5\r\n\r\n",
        b"Content-Length: 5, 5\r\n\r\n",
        b"Content-Length: 000000000000000000005\r\n\r\n",
        "Content-Length: \uff15\r\n\r\n".encode(),
        "Content-Length: \u0665\r\n\r\n".encode(),
        "Content-Length:\u00a05\r\n\r\n".encode(),
        b"Content-Length: 5\xff\r\n\r\n",
        b"\xffContent-Length: 5\r\n\r\n",
        b"Content-Length: 5\0\r\n\r\n",
        b"Content-Length: 5\x0b\r\n\r\n",
        b'{"jsonrpc":"2.0"}\r\n\r\n',
        b"Starting up...\n",
    ],
)
def test_a_header_that_is_not_exactly_ours_is_an_error_for_every_cut(feed, ways_to_cut, header):
    for pieces in ways_to_cut(header):
        assert feed(ContentLengthDecoder(100), *pieces, b"hello", eof=False) == ([], FrameError)


def test_the_second_content_length_is_refused_even_if_it_says_the_same():
    decoder = ContentLengthDecoder(100)
    decoder.receive_data(b"Content-Length: 5\r\nContent-Length: 5\r\n")
    with pytest.raises(FrameError):
        decoder.next_frame()


@pytest.mark.parametrize("length", [11, 99_999_999_999_999, 2**64, 10**20 - 1])
def test_a_length_over_the_limit_is_refused_from_the_header_alone(feed, length):
    header = b"Content-Length: %d\r\n\r\n" % length
    assert feed(ContentLengthDecoder(10), header, eof=False) == ([], FrameTooLarge)


def test_a_number_of_more_digits_than_any_length_is_never_turned_into_one(feed):
    header = b"Content-Length: " + b"9" * 8000 + b"\r\n\r\n"
    assert feed(ContentLengthDecoder(10), header, eof=False) == ([], FrameError)


@pytest.mark.parametrize("limit", [len(HEADER), len(HEADER) + 1])
def test_a_header_block_within_its_limit_is_read(feed, ways_to_cut, limit):
    for pieces in ways_to_cut(HEADER + b"hello"):
        assert feed(ContentLengthDecoder(10, limit), *pieces) == ([b"hello"], None)


def test_a_header_block_one_over_its_limit_is_refused_line_ends_included(feed, ways_to_cut):
    for pieces in ways_to_cut(HEADER + b"hello"):
        assert feed(ContentLengthDecoder(10, len(HEADER) - 1), *pieces) == ([], FrameTooLarge)


def test_the_usual_header_limit_is_8_kibibytes_to_the_byte(feed):
    def padded(size):
        return HEADER.replace(b": ", b":" + b" " * (size - len(HEADER) + 1))

    assert HEADER_LIMIT == 8192
    assert len(padded(8192)) == 8192
    assert feed(ContentLengthDecoder(10), padded(8191) + b"hello") == ([b"hello"], None)
    assert feed(ContentLengthDecoder(10), padded(8192) + b"hello") == ([b"hello"], None)
    assert feed(ContentLengthDecoder(10), padded(8193) + b"hello") == ([], FrameTooLarge)


def test_an_endless_header_line_is_refused_at_the_first_byte_that_is_too_many(feed):
    assert feed(ContentLengthDecoder(10, 50), b"x" * 50, eof=False) == ([], None)
    assert feed(ContentLengthDecoder(10, 50), b"x" * 50, b"x", eof=False) == ([], FrameTooLarge)


def test_every_frame_has_a_header_limit_of_its_own(feed):
    stream = (HEADER + b"hello") * 100
    assert feed(ContentLengthDecoder(10, len(HEADER)), stream) == ([b"hello"] * 100, None)


def test_a_body_that_looks_like_a_header_is_only_a_body(feed, ways_to_cut):
    for pieces in ways_to_cut(encode(HEADER, 100) + encode(b"\r\n\r\n", 100)):
        assert feed(ContentLengthDecoder(100), *pieces) == ([HEADER, b"\r\n\r\n"], None)


@pytest.mark.parametrize(
    "stream", [b"C", b"Content-Length: 5", b"Content-Length: 5\r\n", HEADER, HEADER + b"hell"]
)
def test_the_end_of_the_stream_in_a_header_or_body_is_truncation(feed, stream):
    assert feed(ContentLengthDecoder(100), stream) == ([], TruncatedFrame)


def test_a_body_of_16_mebibytes_is_not_searched_at_all():
    decoder, piece = ContentLengthDecoder(16 * MIB), b"\n" * 65_536
    header = b"Content-Length: %d\r\n\r\n" % (16 * MIB)
    decoder.receive_data(header)
    for _ in range(256):
        assert decoder.next_frame() is None
        decoder.receive_data(piece)
    body = decoder.next_frame()
    assert body is not None
    assert len(body) == 16 * MIB
    assert decoder.scanned == len(header)


def test_no_byte_of_a_header_that_comes_byte_by_byte_is_searched_twice(feed):
    decoder = ContentLengthDecoder(10)
    stream = HEADER + b"hello"
    feed(decoder, *(stream[at : at + 1] for at in range(len(stream))))
    assert decoder.scanned == len(HEADER)


def test_what_was_returned_is_not_held_until_more_comes():
    decoder, data = ContentLengthDecoder(MIB), encode(b"x" * 65_536, MIB)
    before = sys.getrefcount(data)
    decoder.receive_data(data)
    assert decoder.next_frame() == b"x" * 65_536
    assert sys.getrefcount(data) == before
    assert decoder.is_between


def test_usual_frames_are_cut_out_in_one_step_and_all_others_left_as_they_were(ways_to_cut):
    bodies = [b"hello", b"again", b"", b"", HEADER, b"hello", b"x" * 100, b"hello"]
    frames = [encode(each, 100) for each in bodies]
    frames[5] = frames[5].lower()
    for pieces in ways_to_cut(b"".join(frames)):
        decoder, found = ContentLengthDecoder(100), []
        for piece in pieces:
            decoder.receive_data(piece)
            while (body := decoder.next_usual()) is not None or (body := decoder.next_frame()) is not None:
                found.append(body)
            assert decoder.is_between == (decoder.pending == 0)
        assert found == bodies


def test_what_came_later_is_still_there_when_a_run_was_used_up():
    decoder = ContentLengthDecoder(100)
    decoder.receive_data(HEADER + b"hello")
    decoder.receive_data(HEADER + b"again")
    assert decoder.next_usual() == b"hello"
    assert not decoder.is_between
    assert decoder.next_frame() == b"again"
    assert decoder.is_between


def test_only_what_is_usual_and_whole_is_cut_out_in_one_step():
    decoder = ContentLengthDecoder(100)
    assert decoder.next_usual() is None
    decoder.receive_data(HEADER + b"hello" + HEADER + b"again" + HEADER + b"hal")
    assert [decoder.next_usual(), decoder.next_usual(), decoder.next_usual()] == [b"hello", b"again", None]
    assert decoder.next_frame() is None  # and now its header block is read
    decoder.receive_data(b"f." + HEADER.lower() + b"other")
    assert [decoder.next_usual(), decoder.next_frame()] == [None, b"half."]
    assert [decoder.next_usual(), decoder.next_frame()] == [None, b"other"]
    assert decoder.is_between


@pytest.mark.parametrize(
    "garbage", [b"\n", b"hello\n", b"\r\n\r\n", b"Content-Length: 5\n\n", b"Content-Length: 101\r\n\r\n"]
)
def test_garbage_is_left_to_the_decoder_that_says_what_is_wrong_with_it(garbage):
    for before in (b"", HEADER + b"hello"):
        decoder = ContentLengthDecoder(100)
        decoder.receive_data(before + garbage + HEADER + b"hello")
        assert decoder.next_usual() == (b"hello" if before else None)
        for _ in range(2):
            assert decoder.next_usual() is None
            with pytest.raises(FrameError):
                decoder.next_frame()


@pytest.mark.parametrize(
    "size", [0, 1, 9, 10, 99, 100, 999, SHORT_BODY - 1, SHORT_BODY, SHORT_BODY + 1, 9_999, 100_000]
)
def test_one_frame_alone_is_taken_for_its_body(size):
    body = b"\r" * size
    frame = encode(body, size)
    assert frame == b"Content-Length: %d\r\n\r\n%b" % (size, body)
    for _ in range(2):  # once without its header block being known, and once with it
        assert only(frame) == body
    assert only(frame + b"C") is None
    assert only(frame[:-1]) is None
    assert only(b"c" + frame[1:]) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n\r\n",
        b"hello",
        b"Content-Length: 05\r\n\r\nhello",
        b"Content-Length:5\r\n\r\nhello",
        b"Content-Length: 5\n\nhello",
        b"content-length: 5\r\n\r\nhello",
        b"Content-Length: 5\r\nX: 1\r\n\r\nhello",
        b"Content-Length: 2\r\n\r\nhiContent-Length: 2\r\n\r\nhi",
    ],
)
def test_whatever_else_it_is_is_left_to_the_decoder(data):
    encode(b"hello", 5)  # whose header block is known from here on
    assert only(data) is None
