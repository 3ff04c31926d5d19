"""Plugins that are to work together: what is required, excluded and claimed, over whole sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.capabilities.provider_set import Member, judge, matches

GITHUB = Member("provider/github", ("provider:github", "cache:native"), (), ("provider:*",))
CIRCLECI = Member("provider/circleci", ("provider:circleci",), (), ("provider:*",))


def verdict(*members: Member) -> list[tuple[str, str]]:
    return [(problem.name, problem.key) for problem in judge(members)]


@pytest.mark.parametrize(
    ("pattern", "capability", "expected"),
    [
        ("lang:go", "lang:go", True),
        ("lang:go", "lang:golang", False),
        ("lang:go", "Lang:go", False),
        ("lang:*", "lang:go", True),
        ("lang:*", "lang:*", True),
        ("lang:*", "language:go", False),
        ("lang:*", "lang", False),
        ("lang:g*", "lang:go", False),
        ("*", "lang:go", False),
        ("*:go", "lang:go", False),
        ("lang", "lang:go", False),
        ("lang", "lang", True),
        ("lang:go", "lang:*", False),
        ("a:b:*", "a:b:c", False),
        ("a:b:*", "a:b:*", True),
    ],
)
def test_a_pattern_is_a_capability_or_all_of_a_kind(pattern: str, capability: str, expected: bool) -> None:
    assert matches(pattern, capability) is expected


def test_nobody_has_no_problems() -> None:
    assert verdict() == []


@pytest.mark.requirement("hook:set:conflicts")
def test_the_known_providers_work_side_by_side() -> None:
    assert verdict(GITHUB, CIRCLECI) == []


@pytest.mark.requirement("hook:set:conflicts")
def test_a_target_has_one_owner() -> None:
    other = Member("mine/github", ("provider:github",))
    assert verdict(GITHUB, other) == [("provider/github", "conflicts_with")]
    assert verdict(other, GITHUB) == [("provider/github", "conflicts_with")]


@pytest.mark.requirement("hook:set:conflicts")
def test_a_kind_that_one_does_not_offer_itself_is_excluded_as_a_whole() -> None:
    alone = Member("alone", ("lang:go",), (), ("provider:*",))
    assert verdict(alone, GITHUB, CIRCLECI) == [("alone", "conflicts_with")] * 2


@pytest.mark.requirement("hook:set:conflicts")
def test_a_capability_that_is_named_is_excluded_also_by_one_that_has_it() -> None:
    exclusive = Member("a", ("lang:go",), (), ("lang:go",))
    assert verdict(exclusive) == []
    assert verdict(exclusive, Member("b", ("lang:go",))) == [("a", "conflicts_with")]


@pytest.mark.requirement("hook:set:conflicts")
def test_one_does_not_conflict_with_itself() -> None:
    assert verdict(Member("a", ("x:1", "x:2"), (), ("x:*", "x:1", "x:2"))) == []


@pytest.mark.requirement("hook:set:requires")
@pytest.mark.parametrize("wanted", ["lang:go", "lang:*"])
def test_what_one_requires_may_be_offered_by_any_of_them(wanted: str) -> None:
    needy = Member("needy", (), (wanted,))
    assert verdict(needy) == [("needy", "requires")]
    assert verdict(needy, Member("go", ("lang:go",))) == []
    assert verdict(Member("go", ("lang:go",)), needy) == []
    assert verdict(Member("self", ("lang:go",), (wanted,))) == []


@pytest.mark.requirement("hook:set:requires")
def test_a_pattern_that_is_offered_as_such_meets_no_requirement_but_its_own() -> None:
    odd = Member("odd", ("lang:*",))
    assert verdict(Member("a", (), ("lang:go",)), odd) == [("a", "requires")]


@pytest.mark.requirement("hook:set:names")
def test_no_two_have_one_name() -> None:
    a, b = Member("a"), Member("b")
    assert verdict(a, b) == []
    assert verdict(a, b, a) == [("a", "name")]
    assert verdict(a, a, a) == [("a", "name")] * 2


def test_every_problem_is_told() -> None:
    bad = Member("bad", ("x:1",), ("y:1", "y:2"), ("z:*",))
    assert verdict(bad, Member("z", ("z:1",))) == [("bad", "requires")] * 2 + [("bad", "conflicts_with")]


def test_names_that_a_plugin_made_up_are_quoted_in_the_explanation() -> None:
    hostile = Member("x\n\x1b[31m" + "y" * 1000, ("a\n:b" + "z" * 1000,), ("q\n:r",))
    problems = judge([hostile, hostile, Member("b", (), (), ("a\n:*",))])
    assert {problem.key for problem in problems} == {"name", "requires", "conflicts_with"}
    assert all(problem.message.isprintable() and len(problem.message) < 500 for problem in problems)


names = st.sampled_from(["x:1", "x:2", "y:1", "x:*", "y:*", "x"])
members = st.builds(
    Member,
    st.sampled_from("abc"),
    st.lists(names, max_size=3).map(tuple),
    st.lists(names, max_size=2).map(tuple),
    st.lists(names, max_size=2).map(tuple),
)


@given(st.lists(members, max_size=4))
def test_the_order_of_a_set_does_not_matter(found: list[Member]) -> None:
    assert sorted(verdict(*found)) == sorted(verdict(*reversed(found)))


@given(st.lists(members, max_size=3), members)
def test_one_more_plugin_never_solves_a_conflict(found: list[Member], more: Member) -> None:
    conflicts = [each for each in verdict(*found) if each[1] == "conflicts_with"]
    assert len([each for each in verdict(*found, more) if each[1] == "conflicts_with"]) >= len(conflicts)
