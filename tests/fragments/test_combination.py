"""Offers to files: who is the file, who follows whom, and what two plugins may not do to one path."""

import pytest
from plughost_sdk import hook_messages as m

from plughost.errors import FragmentError
from plughost.fragments import Output, Strategy, combination, combine
from plughost.fragments.offers import STRATEGIES
from tests.fragments.offering import APPEND, MERGE, REPLACE, offer


def refused(*offers):
    with pytest.raises(FragmentError) as caught:
        combine(offers)
    return caught.value


def content(*offers):
    (only,) = combine(offers)
    return only.content.decode()


def test_every_strategy_of_the_schema_is_known_by_its_number():
    by_name = {value: name.removeprefix("MERGE_STRATEGY_").lower() for name, value in m.MergeStrategy.items()}
    by_name[0] = "replace"
    assert {number: str(strategy) for number, strategy in STRATEGIES.items()} == by_name


def test_nothing_comes_of_nothing():
    assert combine([]) == []


def test_outputs_come_by_path_with_their_content_and_who_made_them():
    found = combine([offer("two", "z", "Z"), offer("one", "./a//b", "ü", 0), offer("two", "b", "")])
    assert found == [
        Output("a/b", "ü".encode(), ("one",), ("replace",)),
        Output("b", b"", ("two",), ("replace",)),
        Output("z", b"Z", ("two",), ("replace",)),
    ]


def test_two_plugins_that_replace_one_path_conflict_even_if_they_agree():
    for second in ("same", "other"):
        error = refused(offer("one", "a", "same"), offer("two", "./a", second))
        assert {"one", "two"} <= set(str(error).replace(":", " ").replace(".", " ").split())
        assert error.path == "a"


def test_a_plugin_may_repeat_itself_but_not_contradict_itself():
    assert content(offer("one", "a", "x"), offer("one", "a", "x", 0)) == "x"
    assert refused(offer("one", "a", "x"), offer("one", "a", "x ")).plugin == "one"


@pytest.mark.parametrize("strategy", [-1, 4, 99, 2**31 - 1])
def test_a_strategy_that_nobody_knows_is_refused_by_its_number(strategy):
    error = refused(offer("one", "a", "x", strategy))
    assert str(strategy) in error.problem


def test_appends_follow_the_base_by_order_then_plugin_then_arrival():
    offers = [
        offer("two", "a", "base\n", REPLACE, order=100),
        offer("one", "a", "1b\n", APPEND, order=1),
        offer("two", "a", "2a\n", APPEND, order=1),
        offer("one", "a", "1c\n", APPEND, order=1),
        offer("one", "a", "1a\n", APPEND, order=-(2**31)),
        offer("two", "a", "2b\n", APPEND, order=2**31 - 1),
    ]
    assert content(*offers) == "base\n1a\n2a\n1b\n1c\n2b\n"
    (found,) = combine(offers)
    assert found.plugins == ("two", "one")
    assert found.strategies == ("replace", "append")


def test_appends_need_no_base():
    assert (
        content(offer("one", "a", "2\n", APPEND, order=2), offer("two", "a", "1\n", APPEND, order=1))
        == "1\n2\n"
    )


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["a", "b"], "a\nb"),
        (["a\n", "b\n"], "a\nb\n"),
        (["a\n\n", "b"], "a\n\nb"),
        (["a", ""], "a"),
        (["", "a"], "a"),
        (["a", "", "b"], "a\nb"),
        (["", ""], ""),
        (["a\r\n", "b"], "a\r\nb"),
    ],
)
def test_only_an_end_of_line_that_is_missing_between_two_parts_is_added(parts, whole):
    assert content(*(offer("one", "a", part, APPEND) for part in parts)) == whole


def test_one_path_is_either_appended_to_or_merged_into():
    error = refused(offer("one", "a.yml", "a: 1", APPEND), offer("two", "a.yml", "b: 1", MERGE))
    assert {"one", "two"} <= set(str(error).replace(":", " ").replace(".", " ").split())


def test_the_conflicts_of_paths_are_found_across_plugins():
    assert refused(offer("one", "README", ""), offer("two", "readme", "")).plugin == "two"
    assert refused(offer("one", "a", "", APPEND), offer("two", "a/b", "")).plugin == "two"


def test_a_path_that_escapes_is_refused_with_all_the_rest():
    assert (
        refused(offer("one", "good", "x"), offer("two", ".github/workflows/../../../x", "x")).plugin == "two"
    )


def test_the_number_of_files_is_bounded(monkeypatch):
    monkeypatch.setattr(combination, "FILES_LIMIT", 3)
    offers = [offer("one", f"f{number}", "") for number in range(3)]
    assert len(combine([*offers, offer("one", "f0", "")])) == 3
    assert refused(*offers, offer("two", "more", "")).plugin == "two"


def test_the_size_of_a_file_is_bounded_after_combination(monkeypatch):
    monkeypatch.setattr(combination, "FILE_LIMIT", 10)
    assert len(content(offer("one", "a", "x" * 10))) == 10
    assert refused(offer("one", "a", "x" * 11)).path == "a"
    assert refused(offer("one", "a", "ü" * 6)).path == "a"
    assert len(content(offer("one", "a", "1234"), offer("two", "a", "12345", APPEND))) == 10
    assert refused(offer("one", "a", "1234"), offer("two", "a", "123456", APPEND)).plugin == "two"


def test_the_size_of_all_files_is_bounded(monkeypatch):
    monkeypatch.setattr(combination, "TOTAL_LIMIT", 10)
    assert len(combine([offer("one", "a", "x" * 5), offer("one", "b", "x" * 5)])) == 2
    assert refused(offer("one", "a", "x" * 5), offer("two", "b", "x" * 6)).plugin == "two"


def test_what_is_merged_is_bounded_by_file_and_by_run(monkeypatch):
    monkeypatch.setattr(combination, "MERGE_LIMIT", 8)
    assert combine([offer("one", "a.yml", "a: 1", MERGE), offer("two", "a.yml", "b: 2", MERGE)])
    assert (
        refused(offer("one", "a.yml", "a: 1", MERGE), offer("two", "a.yml", "b: 22", MERGE)).plugin == "two"
    )
    assert combine([offer("one", "a.yml", "a: 1000000000")])
    monkeypatch.setattr(combination, "MERGES_LIMIT", 8)
    assert combine([offer("one", "a.yml", "a: 1", MERGE), offer("two", "b.yml", "b: 2", MERGE)])
    assert (
        refused(offer("one", "a.yml", "a: 1", MERGE), offer("two", "b.yml", "b: 22", MERGE)).plugin == "two"
    )


@pytest.mark.parametrize(
    ("path", "format"), [("a.txt", ""), ("a", ""), ("a.yaml.txt", ""), ("a.yml", "toml"), ("a.json", "text")]
)
def test_only_yaml_and_json_are_merged(path, format):
    assert refused(offer("one", path, "a: 1", MERGE, format=format)).plugin == "one"


@pytest.mark.parametrize(
    ("path", "format"), [("a.yml", ""), ("a.YAML", ""), ("a.json", "yaml"), ("a", "YML"), ("b/.x", "Yaml")]
)
def test_the_format_that_is_said_counts_and_else_the_end_of_the_name(path, format):
    assert content(offer("one", path, "a: 1", MERGE, format=format)) == "a: 1"


def test_parts_of_two_formats_are_refused():
    error = refused(
        offer("one", "a", "{}", MERGE, format="json"), offer("two", "a", "a: 1", MERGE, format="yaml")
    )
    assert error.plugin == "two"
    assert (
        refused(offer("one", "a", "{}", format="text"), offer("two", "a", "{}", MERGE, format="json")).plugin
        == "one"
    )
    assert content(offer("one", "a", "a: 1\n", format="yml"), offer("two", "a", "b: 1", MERGE, format="yaml"))


def test_strategies_are_told_by_their_names():
    (found,) = combine([offer("one", "a.json", "{}"), offer("two", "a.json", "{}", MERGE)])
    assert found.strategies == (Strategy.REPLACE, Strategy.MERGE) == ("replace", "merge")
