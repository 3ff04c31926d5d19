"""Small JSON agrees with json on everything it does not decline, and declines everything that is not plain."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from plughost_sdk import small_json
from plughost_sdk.small_json import DEEPEST, LONGEST, MOST, Declined

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
# Text that is nearly JSON: its characters, and pieces of it.
NEARLY = st.lists(
    st.sampled_from(
        [*'{}[]",:\\ \n\t01239-+.eEtrufalsn', "true", "null", '"a"', "\u0663", "\u2028", "é", "-0", "\x00"]
    )
).map("".join)


def agree(text: str) -> None:
    try:
        ours = small_json.loads(text)
    except Declined:
        return
    theirs = json.loads(text)  # must not raise either
    assert json.dumps(ours) == json.dumps(theirs)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_whatever_json_writes_is_read_alike_or_declined(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    agree(json.dumps(value, indent=indent, ensure_ascii=ascii_only))


@given(NEARLY)
@example("01")
@example("-")
@example("-0")
@example('{"a":1,}')
@example("[1 2]")
@example('"\x1f"')
@example("\u06631")
@example("1\u0663")
@example("")
@example("  ")
@example('{"a"')
@example("[1]]")
def test_text_that_is_nearly_json_is_never_taken_for_json(text: str) -> None:
    agree(text)


@given(VALUES)
def test_whatever_is_written_is_json_for_the_same_value_or_declined(value: object) -> None:
    try:
        text = small_json.dumps(value)
    except Declined:
        return
    assert json.loads(text) == value
    assert "\n" not in text


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"handshake","protocol_version":"rterm.plugin.v1"}',
        ' { "a" : [ 1 , -2, true,false , null, "x"] } ',
        "[]",
        "{}",
        "0",
    ],
)
def test_plain_messages_are_not_declined(text: str) -> None:
    assert small_json.loads(text) == json.loads(text)
    assert json.loads(small_json.dumps(json.loads(text))) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "1.5",
        "1e3",
        '"\\n"',
        "9" * 16,
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        '"' + "x" * LONGEST + '"',
        "nul",
        "NaN",
    ],
)
def test_what_is_not_small_and_plain_is_declined(text: str) -> None:
    with pytest.raises(Declined):
        small_json.loads(text)


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value", [1.5, {1: 2}, Text("x"), b"x", object(), 10**15, [1] * (5 * MOST), "x" * (LONGEST + 1)]
)
def test_values_that_are_not_small_and_plain_are_declined(value: object) -> None:
    with pytest.raises(Declined):
        small_json.dumps(value)


def test_a_value_that_holds_itself_is_declined() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(Declined):
        small_json.dumps(loop)


def test_a_circle_is_refused_and_what_it_held_is_written_afterwards() -> None:
    circle: dict[str, object] = {}
    circle["again"] = circle
    for _ in range(2):
        with pytest.raises(ValueError, match="Circular"):
            small_json.to_json({"x": circle})
    del circle["again"]
    assert small_json.to_json([circle, circle]) == b"[{},{}]"


def test_a_value_that_fails_in_its_middle_can_be_written_when_it_is_mended() -> None:
    value: dict[str, object] = {"odd": object()}
    with pytest.raises(TypeError):
        small_json.to_json([value])
    value["odd"] = 5
    assert small_json.to_json([value]) == b'[{"odd":5}]'


def test_threads_may_write_the_same_value_at_once() -> None:
    shared = {"deep": [[[{"x": ["y"] * 50}] * 20] * 5]}
    expected = small_json.to_json(shared)
    written: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: written.extend(small_json.to_json(shared) == expected for _ in range(50))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    written.extend(small_json.to_json(shared) == expected for _ in range(50))
    for thread in threads:
        thread.join()
    assert written == [True] * 250
