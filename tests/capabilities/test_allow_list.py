"""The allow-list against what a plugin declares: default deny, and never a grant by naming."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.capabilities.allow_list import flaw, judge
from plughost.failures import FailureCode

NOT_DECLARED = FailureCode.CAPABILITY_NOT_DECLARED
NOT_ALLOWED = FailureCode.CAPABILITY_NOT_ALLOWED

NAMES = st.sampled_from(["read", "write", "Read", "read:all", "net", "ä"])
ANY_NAMES = NAMES | st.sampled_from(["", " ", " read", "read ", "\tread", "read\n", "\u00a0read"])


def code(allowed, declared):
    refusal = judge(allowed, declared)
    return None if refusal is None else refusal.code


@pytest.mark.parametrize(
    ("allowed", "declared", "expected"),
    [
        ([], None, None),
        ([], [], None),
        (["read"], ["read"], None),
        (["read", "write"], ["write", "read"], None),
        (["read", "write"], ["write"], None),
        (["read"], None, NOT_DECLARED),
        (["read"], [], NOT_DECLARED),
        (["read"], [""], NOT_DECLARED),
        (["read"], [" "], NOT_DECLARED),
        (["read"], [" read"], NOT_DECLARED),
        (["read"], ["read "], NOT_DECLARED),
        (["read"], ["read\n"], NOT_DECLARED),
        (["read"], ["read", "read"], NOT_DECLARED),
        ([], [""], NOT_DECLARED),
        ([], ["read", "read"], NOT_DECLARED),
        (["read"], ["write"], NOT_ALLOWED),
        (["read"], ["read", "write"], NOT_ALLOWED),
        (["read"], ["Read"], NOT_ALLOWED),
        (["read"], ["rea"], NOT_ALLOWED),
        (["read"], ["read:all"], NOT_ALLOWED),
        (["*"], ["read"], NOT_ALLOWED),
        ([], ["read"], NOT_ALLOWED),
    ],
)
def test_the_verdict_on_a_declaration(allowed, declared, expected):
    assert code(allowed, declared) == expected


def test_a_badly_written_list_is_judged_before_what_it_asks_for():
    assert code(["read"], ["write", "write"]) is NOT_DECLARED
    assert code(["read"], ["write", " padded"]) is NOT_DECLARED


def test_a_refusal_names_the_capability():
    assert "write" in judge(["read"], ["read", "write"]).message


@given(allowed=st.lists(NAMES, unique=True, max_size=4), declared=st.none() | st.lists(ANY_NAMES, max_size=4))
def test_what_is_accepted_is_declared_properly_and_within_the_list(allowed, declared):
    if code(allowed, declared) is None:
        assert set(declared or ()) <= set(allowed)
        assert flaw(declared or ()) is None
        assert declared or not allowed


@given(allowed=st.lists(NAMES, unique=True, min_size=1, max_size=4), data=st.data())
def test_any_part_of_the_list_may_be_declared_in_any_order(allowed, data):
    declared = data.draw(st.lists(st.sampled_from(allowed), unique=True, min_size=1))
    assert code(allowed, declared) is None


@pytest.mark.parametrize("names", [[], ["read"], ["read", "write"], ["Read", "read"], ["two words"]])
def test_a_list_of_different_plain_names_has_no_flaw(names):
    assert flaw(names) is None


@pytest.mark.parametrize(
    "names", [[""], [" "], ["read", ""], [" read"], ["read "], ["\tread"], ["read\u2028"], ["a", "b", "a"]]
)
def test_an_empty_padded_or_repeated_name_is_a_flaw(names):
    assert flaw(names)
