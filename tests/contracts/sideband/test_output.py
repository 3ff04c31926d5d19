"""Output becomes text and marks, however it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.sideband.output import MOST_EXPECTED, Marked, OutputStream, new_token, sequence
from tests.contracts.sideband.wire import MARK, TOKEN

requirement = pytest.mark.requirement


def heard(*pieces, expected=((TOKEN, 1),), eof=True):
    """Return text and marks of what came in *pieces*; neighbouring text is joined."""
    stream = OutputStream()
    for token, request_id in expected:
        stream.expect(token, request_id)
    found = [each for piece in pieces for each in stream.receive_data(piece)]
    found += [stream.receive_eof()] if eof else []
    joined = []
    for each in found:
        if isinstance(each, str) and joined and isinstance(joined[-1], str):
            joined[-1] += each
        elif each:
            joined.append(each)
    return joined


CUT = {
    "text around": ("before é".encode() + MARK + "after €\n".encode(), ["before é", Marked(1), "after €\n"]),
    "alone": (MARK, [Marked(1)]),
    "twice": (MARK + MARK, [Marked(1), MARK.decode()]),
    "behind a separator": (b"\x1e" + MARK, ["\x1e", Marked(1)]),
    "behind its own beginning": (MARK[:20] + MARK, [MARK[:20].decode(), Marked(1)]),
    "sharing a separator": (MARK[:-1] + MARK, [Marked(1), TOKEN + "\x1e"]),
    "of another": (sequence("f" * 32) + MARK, [sequence("f" * 32).decode(), Marked(1)]),
    "in capitals": (MARK.upper() + MARK, [MARK.upper().decode(), Marked(1)]),
    "never": (b"x" + MARK[:-1], ["x" + MARK[:-1].decode()]),
    "character cut off": (b"\xe2\x82" + MARK + b"\xac", ["\ufffd", Marked(1), "\ufffd"]),
    "NUL": (b"\x00\x1e\x00" + MARK, ["\x00\x1e\x00", Marked(1)]),
}


@requirement("sideband:output:cut")
@pytest.mark.parametrize("name", CUT)
def test_marks_are_cut_out_wherever_reads_cut_them(name):
    data, expected = CUT[name]
    assert heard(data) == expected
    assert heard(*(data[at : at + 1] for at in range(len(data)))) == expected
    for at in range(len(data) + 1):
        assert heard(data[:at], data[at:]) == expected


@requirement("sideband:output:cut")
@given(st.lists(st.sampled_from([b"a", b"\x1e", MARK, MARK[:9], MARK[5:], "é".encode(), b"\xff"])), st.data())
def test_no_cut_changes_what_is_heard(parts, data):
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert heard(*pieces) == heard(whole)
    at = whole.find(MARK)
    expected = [whole] if at < 0 else [whole[:at], whole[at + len(MARK) :]]
    assert [each for each in heard(whole) if isinstance(each, str)] == [
        text for part in expected if (text := part.decode(errors="replace"))
    ]


def test_without_an_expected_mark_nothing_is_held_back_or_cut():
    stream = OutputStream()
    assert list(stream.receive_data(b"\x1e")) == ["\x1e"]
    assert list(stream.receive_data(MARK[:-1])) == [MARK[:-1].decode()]


def test_nothing_but_the_beginning_of_a_mark_is_held_back():
    stream = OutputStream()
    stream.expect(TOKEN, 1)
    assert list(stream.receive_data(b"abc\x1e01234")) == ["abc"]
    assert list(stream.receive_data(b"x")) == ["\x1e01234x"]
    assert list(stream.receive_data(b"\x1e9")) == ["\x1e9"]


@requirement("sideband:output:utf8")
@pytest.mark.parametrize("text", ["é", "€", "𝄞", "a€b𝄞c"])
def test_a_character_survives_every_cut(text):
    data = text.encode()
    for at in range(len(data) + 1):
        assert heard(data[:at], data[at:], expected=()) == [text]


@requirement("sideband:output:utf8")
@given(st.binary(max_size=60), st.integers(0, 60))
def test_what_is_not_utf8_is_replaced_as_if_it_had_come_at_once(data, at):
    assert "".join(heard(data[:at], data[at:], expected=())) == data.decode(errors="replace")


@requirement("sideband:output:utf8")
def test_a_character_that_is_cut_off_is_sealed():
    stream = OutputStream()
    assert list(stream.receive_data(b"a\xe2\x82")) == ["a"]
    assert stream.seal() == "\ufffd"
    assert stream.seal() == ""
    assert list(stream.receive_data(b"\xac")) == ["\ufffd"]


def test_the_end_of_a_stream_ends_the_wait_for_its_marks():
    stream = OutputStream()
    stream.expect(TOKEN, 1)
    assert list(stream.receive_data(MARK[:5])) == []
    assert stream.receive_eof() == MARK[:5].decode()
    assert not stream.awaits(1)
    stream.expect(TOKEN, 2)
    assert not stream.awaits(2)


@requirement("sideband:request:unmarked")
def test_a_mark_that_comes_late_is_cut_out_and_belongs_to_its_own_request():
    late, right = "a" * 32, "b" * 32
    data = b"old" + sequence(late) + b"new" + sequence(right)
    expected = ((late, 1), (right, 2))
    assert heard(data, expected=expected) == ["old", Marked(1), "new", Marked(2)]
    assert heard(b"new" + sequence(right) + sequence(late), expected=expected) == [
        "new",
        Marked(2),
        sequence(late).decode(),
    ]


def test_marks_that_never_come_are_forgotten_in_the_end():
    stream = OutputStream()
    for request_id in range(1, MOST_EXPECTED + 2):
        stream.expect(f"{request_id:032x}", request_id)
    assert not stream.awaits(1)
    assert stream.next_marked == 2
    stream.forget(2)
    assert stream.next_marked == 3


def test_a_token_is_32_hexadecimal_digits_and_never_the_same():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 32 and int(token, 16) >= 0 for token in tokens)
