"""Lines: LF ends one, a CR before it is dropped, the last one may lack its end."""

import pytest
from plughost_sdk.frames.errors import FrameError, FrameTooLarge
from plughost_sdk.frames.lines import LineDecoder, encode

MIB = 1_048_576


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"\n", [b""]),
        (b"\r\n", [b""]),
        (b"\n\n\n", [b"", b"", b""]),
        (b"a\rb\n", [b"a\rb"]),
        (b"a\r\r\n", [b"a\r"]),
        (b"last", [b"last"]),
        (b"last\r", [b"last"]),
        (b"\r", [b""]),
        (b"a\n\0\xff\n", [b"a", b"\0\xff"]),
        ("a\u2028b\x85c\n".encode(), ["a\u2028b\x85c".encode()]),
    ],
)
def test_only_a_line_feed_ends_a_line_and_one_cr_before_it_is_dropped(feed, ways_to_cut, stream, expected):
    for pieces in ways_to_cut(stream):
        assert feed(LineDecoder(100), *pieces) == (expected, None)


def test_a_line_is_complete_when_its_end_was_seen(drain):
    decoder = LineDecoder(100)
    decoder.receive_data(b"a\nb\r\n")
    decoder.receive_eof()
    assert drain(decoder) == [b"a", b"b"]
    assert decoder.complete


@pytest.mark.parametrize("rest", [b"b", b"b\r"])
def test_the_last_line_without_its_end_is_returned_and_marked(drain, rest):
    decoder = LineDecoder(100)
    decoder.receive_data(b"a\n" + rest)
    assert drain(decoder) == [b"a"]
    assert decoder.complete
    decoder.receive_eof()
    assert drain(decoder) == [b"b"]
    assert not decoder.complete
    assert decoder.pending == 0


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"", b"\r"])
@pytest.mark.parametrize("size", [9, 10])
def test_the_limit_does_not_count_the_line_ending(feed, ways_to_cut, size, ending):
    for pieces in ways_to_cut(b"x" * size + ending):
        assert feed(LineDecoder(10), *pieces) == ([b"x" * size], None)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"", b"\r", b"\r\r\n"])
def test_a_line_one_over_the_limit_is_refused_with_every_ending(feed, ways_to_cut, ending):
    for pieces in ways_to_cut(b"x" * 11 + ending):
        assert feed(LineDecoder(10), *pieces) == ([], FrameTooLarge)


def test_an_endless_line_is_refused_at_the_first_byte_that_is_too_many(feed):
    assert feed(LineDecoder(10), b"x" * 10, eof=False) == ([], None)
    assert feed(LineDecoder(10), b"x" * 10, b"x", eof=False) == ([], FrameTooLarge)


def test_a_cr_after_a_line_that_just_fits_may_be_its_ending_until_something_else_follows(feed):
    assert feed(LineDecoder(10), b"x" * 10 + b"\r", eof=False) == ([], None)
    assert feed(LineDecoder(10), b"x" * 10 + b"\r", b"\n", eof=False) == ([b"x" * 10], None)
    assert feed(LineDecoder(10), b"x" * 10 + b"\r", b"\r", eof=False) == ([], FrameTooLarge)
    assert feed(LineDecoder(10), b"x" * 10 + b"\r", b"x", eof=False) == ([], FrameTooLarge)


def test_lines_before_one_that_is_too_long_are_returned(feed):
    assert feed(LineDecoder(3), b"abc\nde\nabcd\nf\n") == ([b"abc", b"de"], FrameTooLarge)


@pytest.mark.parametrize("size", [MIB - 1, MIB, MIB + 1])
def test_a_mebibyte_is_the_limit_to_the_byte(feed, size):
    line = b"x" * size
    pieces = [line[at : at + 65_536] for at in range(0, size, 65_536)]
    expected = ([line], None) if size <= MIB else ([], FrameTooLarge)
    assert feed(LineDecoder(MIB), *pieces, b"\n") == expected


def test_no_byte_of_a_line_of_16_mebibytes_in_64_kibibyte_pieces_is_searched_twice():
    decoder, piece = LineDecoder(16 * MIB), b"x" * 65_536
    for _ in range(256):
        decoder.receive_data(piece)
        assert decoder.next_frame() is None
    decoder.receive_data(b"\n")
    line = decoder.next_frame()
    assert line is not None
    assert len(line) == 16 * MIB
    assert decoder.scanned == 16 * MIB + 1


def test_no_byte_of_many_lines_in_one_piece_is_searched_twice(feed):
    decoder = LineDecoder(100)
    frames, _ = feed(decoder, b"0123456789\n" * 1000)
    assert len(frames) == 1000
    assert decoder.scanned == 11_000


@pytest.mark.parametrize("body", [b"a\nb", b"\n", b"a\n", b"a\r", b"\r"])
def test_what_would_be_read_back_differently_is_not_written(body):
    with pytest.raises(FrameError):
        encode(body, 100)


def test_a_line_is_written_with_a_line_feed_and_nothing_else():
    assert encode(b"a\rb", 100) == b"a\rb\n"
