"""What several plugins have detected, as one picture."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import hook_messages as wire

from plughost.contracts.hook.detection import Detection, Disagreement, aggregate


def said(plugin, confidence, *signals, **facts):
    return plugin, wire.DetectResult(signals=signals, facts=facts, confidence=confidence)


def test_nothing_was_detected_by_nobody():
    assert aggregate([]) == Detection()


def test_signals_are_those_of_all_each_once():
    found = aggregate([said("a", 0.1, "python", "docker"), said("b", 0.9, "python", "go")])
    assert found.signals == ("docker", "go", "python")


@pytest.mark.requirement("hook:round:detect")
def test_facts_are_combined_and_the_surest_is_believed():
    found = aggregate([said("a", 0.2, lang="python", os="linux"), said("b", 0.8, lang="go", ci="yes")])
    assert found.facts == {"ci": "yes", "lang": "go", "os": "linux"}
    assert found.disagreements == (Disagreement("lang", believed="b", doubted="a"),)


@pytest.mark.requirement("hook:round:detect")
def test_of_two_that_are_equally_sure_the_first_is_believed():
    found = aggregate([said("a", 0.5, lang="python"), said("b", 0.5, lang="go")])
    assert found.facts == {"lang": "python"}
    assert found.disagreements == (Disagreement("lang", believed="a", doubted="b"),)


def test_those_who_agree_do_not_disagree():
    assert aggregate([said("a", 0.2, lang="go"), said("b", 0.8, lang="go")]).disagreements == ()


def test_every_doubted_plugin_is_named():
    found = aggregate([said("a", 0.9, x="1"), said("b", 0.5, x="2"), said("c", 0.1, x="3")])
    assert [each.doubted for each in found.disagreements] == ["b", "c"]
    assert {each.believed for each in found.disagreements} == {"a"}


def test_the_confidence_of_each_is_kept_as_it_was_said():
    found = aggregate([said("a", 0.1), said("b", 0.9)])
    assert found.confidence == {"a": 0.1, "b": 0.9}


def test_an_empty_value_is_a_value():
    found = aggregate([said("a", 1.0, lang=""), said("b", 0.1, lang="go")])
    assert found.facts == {"lang": ""}
    assert len(found.disagreements) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.25, 1.0]),
            st.dictionaries(st.sampled_from("xyz"), st.sampled_from("123"), max_size=3),
        ),
        max_size=4,
    )
)
def test_a_believed_value_is_that_of_nobody_less_sure(said_by):
    results = [
        (str(number), wire.DetectResult(confidence=confidence, facts=facts))
        for number, (confidence, facts) in enumerate(said_by)
    ]
    found = aggregate(results)
    for fact, value in found.facts.items():
        believing = [confidence for confidence, facts in said_by if facts.get(fact) == value]
        doubting = [confidence for confidence, facts in said_by if facts.get(fact, value) != value]
        assert max(believing) >= max(doubting, default=0.0)
        assert sum(each.fact == fact for each in found.disagreements) == len(doubting)
