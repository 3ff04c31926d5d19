"""Length prefix: four bytes say how many follow."""

import pytest
from plughost_sdk.frames.errors import FrameTooLarge, TruncatedFrame
from plughost_sdk.frames.length_prefix import LARGEST, LengthPrefixDecoder, encode

MIB = 1_048_576


@pytest.mark.parametrize(
    ("body", "header"),
    [(b"", b"\0\0\0\0"), (b"hello", b"\0\0\0\x05"), (b"x" * 258, b"\0\0\x01\x02")],
)
def test_the_length_is_four_bytes_big_endian_before_the_body(body, header):
    assert encode(body, 1000) == header + body


def test_a_frame_of_length_zero_is_a_frame(feed):
    assert feed(LengthPrefixDecoder(10), b"\0\0\0\0" * 3) == ([b""] * 3, None)


def test_a_frame_of_length_zero_is_allowed_even_by_a_limit_of_zero(feed):
    assert feed(LengthPrefixDecoder(0), b"\0\0\0\0") == ([b""], None)
    assert feed(LengthPrefixDecoder(0), b"\0\0\0\x01") == ([], FrameTooLarge)


@pytest.mark.parametrize("length", [11, MIB, 2**31, LARGEST])
def test_a_length_over_the_limit_is_refused_from_the_header_alone(feed, length):
    header = length.to_bytes(4, "big")
    assert feed(LengthPrefixDecoder(10), header, eof=False) == ([], FrameTooLarge)


def test_the_length_is_unsigned(feed):
    assert feed(LengthPrefixDecoder(LARGEST), b"\xff\xff\xff\xff", eof=False) == ([], None)


def test_three_bytes_of_a_header_promise_nothing_yet(feed):
    assert feed(LengthPrefixDecoder(10), b"\xff\xff\xff", eof=False) == ([], None)


def test_a_body_that_the_header_cannot_announce_is_not_written_whatever_the_limit():
    class FourGibibytes(bytes):
        def __len__(self):
            return LARGEST + 1

    with pytest.raises(FrameTooLarge):
        encode(FourGibibytes(), LARGEST + 10)


@pytest.mark.parametrize("stream", [b"\0", b"\0\0\0", b"\0\0\0\x02", b"\0\0\0\x02x"])
def test_the_end_of_the_stream_in_a_header_or_body_is_truncation(feed, stream):
    assert feed(LengthPrefixDecoder(10), stream) == ([], TruncatedFrame)


def test_text_is_taken_for_a_length_and_refused(feed):
    assert feed(LengthPrefixDecoder(16 * MIB), b'{"type":"handshake"}', eof=False) == ([], FrameTooLarge)


def test_a_frame_of_16_mebibytes_in_64_kibibyte_pieces_is_read_whole(feed):
    body = b"0123456789abcdef" * MIB
    stream = encode(body, len(body))
    pieces = [stream[at : at + 65_536] for at in range(0, len(stream), 65_536)]
    assert feed(LengthPrefixDecoder(len(body)), *pieces) == ([body], None)
