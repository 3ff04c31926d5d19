"""The fields of a question: whole ones pass, and each thing that can be wrong is named."""

import json

import pytest
from plughost_sdk.envelope_prompt import checked_all, field

PLAIN = {"id": "color", "label": "Colour?"}


def test_a_field_says_what_it_was_given_and_no_more():
    assert field("color", "Colour?") == {**PLAIN, "type": "string", "required": True}
    assert field("go", "Go?", "boolean", required=False, default=False, hint="or not") == {
        "id": "go",
        "label": "Go?",
        "type": "boolean",
        "required": False,
        "default": False,
        "hint": "or not",
    }


@pytest.mark.parametrize(
    "more",
    [
        {"type": "text", "default": ""},
        {"type": "choice", "options": ["red", "blue"]},
        {"type": "choice", "options": ["red", "blue"], "default": "blue"},
        {"type": "date", "default": "2024-02-29"},
        {"type": "boolean", "default": True},
        {"default": None, "options": None, "hint": None},
    ],
)
def test_a_whole_field_passes(more):
    (found,) = checked_all([{**PLAIN, **more}])
    assert found.items() >= {key: value for key, value in more.items() if value is not None}.items()
    assert json.dumps(found)


def test_what_a_field_leaves_out_is_filled_in_and_the_authors_dict_is_left_alone():
    given = dict(PLAIN)
    assert checked_all([given]) == [{**PLAIN, "type": "string", "required": True}]
    assert given == PLAIN


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"label": "x"}, "id"),
        ({**PLAIN, "id": " "}, "id"),
        ({**PLAIN, "id": 7}, "id"),
        ({"id": "color"}, "label"),
        ({**PLAIN, "label": ""}, "label"),
        ({**PLAIN, "type": "number"}, "number"),
        ({**PLAIN, "type": ["string"]}, "type"),
        ({**PLAIN, "required": "yes"}, "required"),
        ({**PLAIN, "requird": True}, "requird"),
        ({**PLAIN, "hint": 3}, "hint"),
        ({**PLAIN, "options": ["a"]}, "options"),
        ({**PLAIN, "type": "choice"}, "options"),
        ({**PLAIN, "type": "choice", "options": []}, "options"),
        ({**PLAIN, "type": "choice", "options": "red"}, "options"),
        ({**PLAIN, "type": "choice", "options": ["a", 1]}, "options"),
        ({**PLAIN, "type": "choice", "options": ["a"], "default": "b"}, "'b'"),
        ({**PLAIN, "type": "boolean", "default": "true"}, "default"),
        ({**PLAIN, "type": "date", "default": "31.12.2024"}, "date"),
        ({**PLAIN, "type": "date", "default": "20241231"}, "date"),
        ({**PLAIN, "default": 3}, "default"),
        ("color", "str"),
        (None, "NoneType"),
    ],
)
def test_what_is_wrong_with_a_field_is_named(given, named):
    with pytest.raises(ValueError, match=named):
        checked_all([given])


def test_a_wrong_field_is_named_by_its_id():
    with pytest.raises(ValueError, match="color"):
        checked_all([{**PLAIN, "hint": 3}])


@pytest.mark.parametrize("fields", [[], None, "color", {"id": "a", "label": "A"}])
def test_a_question_without_fields_is_refused(fields):
    with pytest.raises(ValueError, match="at least one"):
        checked_all(fields)


def test_a_field_asked_for_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        checked_all([PLAIN, {**PLAIN, "label": "Again?"}])
