"""Questions are asked only if they can be answered, and answers are what their fields say."""

from datetime import UTC, date, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.envelope import prompts
from plughost.contracts.envelope.messages import Field, InputRequired
from plughost.contracts.envelope.prompts import (
    LONGEST_ID,
    LONGEST_TEXT,
    MOST_FIELDS,
    MOST_OPTIONS,
    accept,
    flaw,
    merged,
    missing,
    unanswered,
)

TYPES = ("string", "text", "choice", "date", "boolean")
OPTIONS = ("red", "dark red", 3, 0.5, True)
TOO_LONG_TO_SPELL = 10**5000
ENDLESS = []
ENDLESS.append(ENDLESS)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def one(type="string", **more):
    """Return a single field, as the fields of a question."""
    return (Field("x", type=type, options=OPTIONS if type == "choice" else None, **more),)


# Questions


def asked(*fields, reason=""):
    return flaw(InputRequired(fields, reason))


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize(
    ("most", "ask"),
    [
        (MOST_FIELDS, lambda size: asked(*(Field(f"x{n}") for n in range(size)))),
        (MOST_OPTIONS, lambda size: asked(Field("x", type="choice", options=tuple(range(size))))),
        (LONGEST_ID, lambda size: asked(Field("x" * size))),
        (LONGEST_TEXT, lambda size: asked(Field("x"), reason="r" * size)),
        (LONGEST_TEXT, lambda size: asked(Field("x", label="l" * size))),
        (LONGEST_TEXT, lambda size: asked(Field("x", hint="h" * size))),
    ],
    ids=["fields", "options", "id", "reason", "label", "hint"],
)
def test_a_question_may_be_asked_up_to_its_limits(most, ask, over):
    assert (ask(most + over) is not None) == (over > 0)


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (Field("x"), Field("x", type="date")),
        (Field(""),),
        (Field("  "),),
        (Field("a\nb"),),
        (Field("a\x1b[31m"),),
        (Field("a\u202eb"),),
        (Field("good"), Field("\0")),
        (Field("x", type="choice"),),
        (Field("x", type="choice", options=()),),
        (Field("x", type="choice", options=("a", None)),),
        (Field("x", type="choice", options=("a", ["b"])),),
        (Field("x", type="choice", options=({},)),),
    ],
    ids=repr,
)
def test_a_question_that_nobody_could_answer_is_not_asked(fields):
    assert asked(*fields) is not None


@pytest.mark.parametrize("type", TYPES)
def test_a_field_of_each_type_may_be_asked_for(type):
    assert flaw(InputRequired(one(type, label="Which?", hint="any", required=True))) is None


def test_ids_are_told_apart_by_case():
    assert asked(Field("x"), Field("X")) is None


# Answers

GOOD = [
    ("string", "a", "a"),
    ("string", " padded ", " padded "),
    ("string", "ä😀\t", "ä😀\t"),
    ("text", "a", "a"),
    ("text", "a\r\nb\n", "a\r\nb\n"),
    ("choice", "red", "red"),
    ("choice", "dark red", "dark red"),
    ("choice", 3, 3),
    ("choice", "3", 3),
    ("choice", "0.5", 0.5),
    ("choice", True, True),
    ("choice", "True", True),
    ("date", "2026-01-31", "2026-01-31"),
    ("date", " 2026-01-31 ", "2026-01-31"),
    ("date", "20260131", "2026-01-31"),
    ("date", "2024-02-29", "2024-02-29"),
    ("date", date(2026, 1, 31), "2026-01-31"),
    *(("boolean", word, True) for word in (True, "true", "TRUE", "yes", "Y", " on ", "1", 1)),
    *(("boolean", word, False) for word in (False, "false", "No", "n", "off", "0", 0)),
]
NONE_OF_IT = [["a"], {}, b"a", ENDLESS, TOO_LONG_TO_SPELL, [TOO_LONG_TO_SPELL], nested(100_000)]
BAD = [
    ("string", "a\nb"),
    ("string", "a\r"),
    ("string", "\ud800"),
    ("text", "a\udcff"),
    *product(("string", "text"), (5, 0.5, True, date(2026, 1, 31))),
    ("choice", "Red"),
    ("choice", " red "),
    ("choice", "blue"),
    ("choice", 4),
    ("choice", 3.0),
    ("choice", False),
    ("date", "2026-02-30"),
    ("date", "2025-02-29"),
    ("date", "31.01.2026"),
    ("date", "tomorrow"),
    ("date", "2026-01-31T10:00:00"),
    ("date", datetime(2026, 1, 31, tzinfo=UTC)),
    ("date", "\ud800"),
    ("date", 5),
    ("boolean", "maybe"),
    ("boolean", 2),
    ("boolean", 1.0),
    ("boolean", "yes please"),
    *product(TYPES, NONE_OF_IT),
]


@pytest.mark.requirement("envelope:input:validated")
@pytest.mark.parametrize(("type", "answer", "value"), GOOD)
def test_a_fitting_answer_becomes_what_the_field_says(type, answer, value):
    accepted, problems = accept(one(type, required=True), {"x": answer})
    assert problems == ()
    assert (accepted["x"], accepted["x"].__class__) == (value, value.__class__)


@pytest.mark.requirement("envelope:input:validated")
@pytest.mark.parametrize(
    ("type", "answer"), [pytest.param(*row, id=f"{row[0]}-{n}") for n, row in enumerate(BAD)]
)
def test_an_answer_that_does_not_fit_is_not_accepted_and_its_field_is_named(type, answer):
    accepted, (problem,) = accept(one(type), {"x": answer})
    assert accepted == {}
    assert problem.startswith("x: ")


@pytest.mark.parametrize("type", ["string", "text"])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_text_is_accepted_up_to_its_limit(type, over):
    _, problems = accept(one(type), {"x": "a" * (LONGEST_TEXT + over)})
    assert bool(problems) == (over > 0)


@pytest.mark.parametrize("empty", [None, "", "  ", "\t\n"])
@pytest.mark.parametrize("type", TYPES)
def test_an_empty_answer_is_none(type, empty):
    for answers in ({"x": empty}, {}):
        assert accept(one(type), answers) == ({}, ())
        accepted, problems = accept(one(type, required=True), answers)
        assert (accepted, len(problems)) == ({}, 1)


@pytest.mark.parametrize(
    ("type", "default", "value"),
    [
        ("string", "a", "a"),
        ("text", "a\nb", "a\nb"),
        ("choice", "3", 3),
        ("date", "20260131", "2026-01-31"),
        ("boolean", False, False),
        ("boolean", 0, False),
    ],
)
def test_a_default_stands_in_for_an_empty_answer_and_only_for_that(type, default, value):
    fields = one(type, required=True, default=default)
    for answers in ({}, {"x": None}, {"x": " "}):
        assert accept(fields, answers) == ({"x": value}, ())
    assert accept(fields, {"x": ["other"]})[0] == {}


@pytest.mark.parametrize(
    ("type", "default"), [("string", 5), ("choice", "blue"), ("date", "soon"), ("boolean", {})]
)
def test_a_default_has_to_fit_like_any_answer(type, default):
    accepted, problems = accept(one(type, default=default), {})
    assert (accepted, len(problems)) == ({}, 1)


@pytest.mark.parametrize("unknown", ["y", "X", "", "x ", 5, None, "a" * 1000])
def test_an_answer_that_was_not_asked_for_is_a_problem_and_is_left_out(unknown):
    accepted, problems = accept(one(), {"x": "a", unknown: "b"})
    assert (accepted, len(problems)) == ({"x": "a"}, 1)


def test_every_problem_is_told_at_once():
    fields = (Field("a", required=True), Field("b", type="date"), Field("c"), Field("d", type="boolean"))
    accepted, problems = accept(fields, {"b": "soon", "c": "fine", "d": "maybe", "e": 1})
    assert accepted == {"c": "fine"}
    assert len(problems) == 4


def test_the_same_options_are_told_apart_by_their_spelling_and_the_first_wins():
    fields = (Field("x", type="choice", options=("1", 1, 1.0)),)
    assert accept(fields, {"x": 1}) == ({"x": "1"}, ())
    assert accept(fields, {"x": 1.0}) == ({"x": 1.0}, ())


@pytest.mark.parametrize("default", [None, "", " "])
def test_what_is_missing_is_what_would_not_be_accepted_as_empty(default):
    needed, optional = Field("a", required=True, default=default), Field("b", default=default)
    given, defaulted = Field("c", required=True), Field("d", required=True, default="x")
    assert missing((needed, optional, given, defaulted), {"a": " ", "c": "y"}) == (needed,)


def test_a_label_stands_in_a_sentence_only_as_far_as_it_can_be_read():
    assert prompts.name(Field("x")) == prompts.name(Field("x", label="x")) == "x"
    assert prompts.name(Field("x", label="Which?")) == "x (Which?)"
    hostile = prompts.name(Field("x", label="\x1b[31m\nx: fine" + "!" * 1000))
    assert hostile.isprintable()
    assert len(hostile) < 200


PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(codec=None)), st.dates()
)
ANSWERS = st.one_of(
    PLAIN,
    st.sampled_from(["red", "3", "yes", "2026-01-31", "1", b"\xff", ENDLESS]),
    st.just(5000).map(lambda digits: 10**digits),  # it cannot even be shown
    st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5),
)
OFFERED = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.booleans(), st.sampled_from(["red", 3, "3"]))
FIELDS = st.lists(
    st.builds(
        Field,
        id=st.sampled_from("abcd"),
        label=st.text(max_size=5),
        type=st.sampled_from(TYPES),
        required=st.booleans(),
        default=ANSWERS,
        options=st.lists(OFFERED, min_size=1, max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda field: field.id,
).map(tuple)


@pytest.mark.requirement("envelope:input:validated")
@given(fields=FIELDS, answers=st.dictionaries(st.sampled_from("abcde") | st.integers(), ANSWERS, max_size=5))
def test_no_answer_raises_and_what_was_accepted_is_accepted_again_as_it_is(fields, answers):
    accepted, problems = accept(fields, answers)
    again, more = accept(fields, accepted)
    assert set(accepted) <= {field.id for field in fields}
    assert {key: repr(value) for key, value in accepted.items()}.items() <= {
        key: repr(value) for key, value in again.items()
    }.items()
    if not problems:
        assert (again, more) == (accepted, ())
        assert missing(fields, answers) == ()


# Asking for the rest


def test_a_field_is_unanswered_if_nothing_is_said_of_it_or_what_does_not_fit():
    a, b, c = Field("a", required=True), Field("b", type="date"), Field("c")
    assert unanswered((a, b, c), {}) == (a, b, c)
    assert unanswered((a, b, c), {"a": "x", "b": "soon", "c": ""}) == (b,)
    assert unanswered((a, b, c), {"a": " ", "b": "2026-01-31", "c": None}) == (a,)
    assert unanswered((Field("a", required=True, default="x"),), {"a": ""}) == ()


def test_answers_join_what_is_known_and_nothing_leaves_it_unless_it_was_asked_for():
    a = Field("a")
    assert merged((a,), {"a": "wrong", "b": "kept", "c": "kept"}, {"a": "", "b": "", "c": "new"}) == {
        "a": "",
        "b": "kept",
        "c": "new",
    }
    assert merged((a,), {"a": "wrong"}, {}) == {"a": None}
    assert merged((a,), {}, {"x": ""}) == {"a": None, "x": ""}
