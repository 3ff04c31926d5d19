"""What an autopsy shows of the wire: the last frames in their order, whoever noted them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plughost.process.wire_log import FRAME_HEAD, FRAMES_KEPT, PAIRS_KEPT, SHORT_FRAME, WireLog


def shown(log: WireLog) -> list[tuple[str, int, str]]:
    return [(each.direction, each.size, each.head) for each in log.frames()]


def test_nothing_has_passed() -> None:
    assert shown(WireLog()) == []


def test_a_call_without_an_answer_is_the_last() -> None:
    log = WireLog()
    log.note("in", b"hello")
    log.note_call(b"first")
    log.note_answer(b"one")
    log.note_call(b"second")
    assert shown(log) == [("in", 5, "hello"), ("out", 5, "first"), ("in", 3, "one"), ("out", 6, "second")]


def test_what_passes_after_a_call_comes_after_it() -> None:
    log = WireLog()
    log.note_call(b"asked")
    log.note("in", b"something else")
    log.note("in", b"the answer")
    assert [text for _, _, text in shown(log)] == ["asked", "something else", "the answer"]


def test_two_calls_in_a_row_are_both_shown() -> None:
    log = WireLog()
    log.note_call(b"one")
    log.note_call(b"two")
    assert shown(log) == [("out", 3, "one"), ("out", 3, "two")]


def test_a_long_call_is_shown_in_part() -> None:
    log = WireLog()
    log.note_call(b"x" * (SHORT_FRAME + 1))
    assert shown(log) == [("out", SHORT_FRAME + 1, "x" * FRAME_HEAD)]


def test_as_many_are_kept_as_an_autopsy_shows() -> None:
    log = WireLog()
    for number in range(10):
        log.note_call(b"ask %d" % number)
        log.note_answer(b"say %d" % number)
    assert len(log.frames()) == 2 * PAIRS_KEPT == FRAMES_KEPT
    assert [text for _, _, text in shown(log)][-2:] == ["ask 9", "say 9"]


@given(st.lists(st.sampled_from(["in", "out", "pair", "call", "long"]), max_size=30))
def test_the_last_are_kept_in_their_order(steps: list[str]) -> None:
    log, passed = WireLog(), list[tuple[str, int, str]]()
    for number, step in enumerate(steps):
        frame = b"%d" % number
        if step in ("in", "out"):
            log.note(step, frame)
            passed.append((step, len(frame), frame.decode()))
            continue
        if step == "long":
            frame += b" " * SHORT_FRAME
        log.note_call(frame)
        passed.append(("out", len(frame), frame[:FRAME_HEAD].decode()))
        if step == "pair":  # whatever was asked before, and not answered
            log.note_answer(frame)
            passed.append(("in", len(frame), frame.decode()))
    kept = shown(log)
    assert kept == passed[len(passed) - len(kept) :]
    assert len(kept) >= min(len(passed), FRAMES_KEPT - 1)


@given(
    st.lists(
        st.tuples(st.sampled_from(["in", "out"]), st.lists(st.binary(max_size=FRAME_HEAD + 5), max_size=9))
    )
)
def test_several_at_once_are_noted_as_one_by_one(runs: list[tuple[str, list[bytes]]]) -> None:
    together, single = WireLog(), WireLog()
    for log in (together, single):
        log.note_call(b"asked")
        log.note_answer(b"answered")
    for way, frames in runs:
        together.note_all(way, frames)
        for frame in frames:
            single.note(way, frame)
    assert shown(together) == shown(single)
