"""Fragments of real providers, through a whole run: which paths are refused, how they combine, who conflicts."""

from __future__ import annotations

import os

import pytest
from plughost_sdk import hook_messages as wire

from plughost import FragmentError, TreeError
from plughost.manifest.binding import Binding
from tests.host.hook.lab import Lab, generated, info, rounds

REPLACE, MERGE, APPEND = (
    wire.MERGE_STRATEGY_REPLACE,
    wire.MERGE_STRATEGY_MERGE,
    wire.MERGE_STRATEGY_APPEND,
)


def provider(lab: Lab, *fragments: wire.Fragment, name: str = "provider/raw") -> Binding:
    result = wire.GenerateResult(fragments=fragments)
    return lab.play(*rounds(result, introduction=info(name)))


def part(path: str, content: str, strategy: int = 0, order: int = 0, format: str = "") -> wire.Fragment:
    return wire.Fragment(path=path, content=content, strategy=strategy, order=order, format=format)


# Paths


@pytest.mark.requirement("hook:fragment:paths")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a/..",
        "..",
        "a\0b",
        "a\\b",
        "..\\x",
        "C:\\x",
        "C:x",
        "",
        ".",
        "a/",
        "a\nb",
        "\x1b[31m",
        ".git/hooks/pre-commit",
        "x/.GIT/config",
        ".plughost-generate/x",
        "a/" * 100 + "x",
        "x" * 256,
    ],
)
@pytest.mark.thin(3)
def test_a_path_that_leads_elsewhere_is_refused(path: str, both: Lab) -> None:
    both.write({"kept": "old\n"})
    before = both.portrait()
    with pytest.raises(FragmentError) as caught:
        both.generate(provider(both, part("good", "x"), part(path, "evil")))
    assert caught.value.plugin == "provider/raw"
    assert str(caught.value).isprintable()
    assert both.portrait() == before
    assert not (both.home / "x").exists()


@pytest.mark.requirement("hook:fragment:paths")
@pytest.mark.parametrize("path", ["./a/b", "a//b", "a/./b", "./././a/b"])
def test_a_path_is_written_in_its_one_spelling(path: str, both: Lab) -> None:
    both.generate(provider(both, part(path, "x")))
    assert both.files() == {"a/b": "x"}


@pytest.mark.requirement("hook:fragment:paths")
@pytest.mark.parametrize("target", ["outside", "inside", "missing"])
@pytest.mark.parametrize("link", ["directory", "file"])
def test_nothing_is_written_through_a_symbolic_link(link: str, target: str, both: Lab) -> None:
    both.write({"inside/f": "old\n"})
    outside = both.home / "outside"
    outside.mkdir()
    (outside / "f").write_text("old\n")
    where = {"outside": outside, "inside": both.out / "inside", "missing": both.home / "missing"}[target]
    (both.out / "link").symlink_to(where if link == "directory" else where / "f")
    before = both.portrait()
    with pytest.raises((FragmentError, TreeError)):
        both.generate(
            provider(both, part("good", "x"), part("link/f" if link == "directory" else "link", "evil\n"))
        )
    assert both.portrait() == before
    assert (outside / "f").read_text() == "old\n"
    assert not (both.home / "missing").exists()


@pytest.mark.requirement("hook:fragment:paths")
def test_two_spellings_of_one_file_are_refused(both: Lab) -> None:
    with pytest.raises(FragmentError):
        both.generate(provider(both, part("CI.yml", "x"), part("ci.yml", "x")))
    assert both.files() == {}


def test_a_file_where_another_fragment_wants_a_directory_is_refused(both: Lab) -> None:
    with pytest.raises(FragmentError):
        both.generate(provider(both, part("a", "x"), part("a/b", "x")))
    assert both.files() == {}


# Strategies


@pytest.mark.requirement("hook:fragment:strategies")
@pytest.mark.parametrize("strategy", [0, REPLACE])
def test_replace_and_no_strategy_replace(strategy: int, both: Lab) -> None:
    both.write({"a": "old\n"})
    both.generate(provider(both, part("a", "new\n", strategy)))
    assert both.files() == {"a": "new\n"}


@pytest.mark.requirement("hook:fragment:strategies")
def test_appended_parts_are_in_their_order_across_plugins(both: Lab) -> None:
    one = provider(both, part("a", "3\n", APPEND, 5), part("a", "1\n", APPEND, -5), name="one")
    other = provider(both, part("a", "2\n", APPEND, 0), part("a", "4\n", APPEND, 5), name="other")
    both.generate(one, other)
    assert both.files() == {"a": "1\n2\n3\n4\n"}


@pytest.mark.requirement("hook:fragment:strategies")
def test_what_is_appended_follows_what_replaces_and_not_what_is_on_disk(both: Lab) -> None:
    both.write({"a": "old\n"})
    for _ in range(2):
        both.generate(provider(both, part("a", "tail\n", APPEND, -1), part("a", "head\n", REPLACE, 9)))
        assert both.files() == {"a": "head\ntail\n"}


@pytest.mark.requirement("hook:fragment:strategies")
def test_yaml_is_merged_key_by_key_and_keeps_its_order_and_its_on(both: Lab) -> None:
    one = provider(both, part("ci.yml", "name: CI\non:\n  push:\njobs:\n  z: {x: 1}\n", MERGE), name="one")
    other = provider(both, part("ci.yml", "jobs:\n  a: {y: 2}\non:\n  pull_request:\n", MERGE), name="other")
    both.generate(one, other)
    text = both.files()["ci.yml"]
    places = [text.index(key) for key in ("name:", "on:", "push:", "pull_request:", "jobs:", "z:", "a:")]
    assert places == sorted(places)
    assert "true:" not in text.lower()


@pytest.mark.requirement("hook:fragment:strategies")
def test_json_is_merged_key_by_key(both: Lab) -> None:
    one = provider(both, part("a.json", '{"z": {"x": 1}}', MERGE), name="one")
    other = provider(both, part("a.json", '{"a": 2, "z": {"y": 3}}', MERGE), name="other")
    both.generate(one, other)
    assert "".join(both.files()["a.json"].split()) == '{"z":{"x":1,"y":3},"a":2}'


@pytest.mark.requirement("hook:fragment:strategies", "hook:frame:lenient")
@pytest.mark.parametrize("strategy", [4, 99, -1, 2**31 - 1])
def test_an_unknown_strategy_is_refused(strategy: int, both: Lab) -> None:
    with pytest.raises(FragmentError):
        both.generate(provider(both, part("good", "x"), part("a", "x", strategy)))
    assert both.files() == {}


@pytest.mark.parametrize("content", ["a: [", "\t- x", "a: 1\na: 2\n"])
def test_what_is_to_be_merged_has_to_be_what_its_format_says(content: str, both: Lab) -> None:
    with pytest.raises(FragmentError):
        both.generate(provider(both, part("a.yml", "b: 1\n", MERGE), part("a.yml", content, MERGE)))
    assert both.files() == {}


# Conflicts


@pytest.mark.requirement("hook:fragment:conflicts")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (part("a.yml", "x: 1\n"), part("a.yml", "x: 2\n")),
        (part("a.yml", "x: 1\n"), part("./a.yml", "x: 1\n", REPLACE)),
        (part("a.yml", "x: 1\n", MERGE), part("a.yml", "x: 2\n", MERGE)),
        (part("a.yml", "x: {y: 1}\n", MERGE), part("a.yml", "x: 1\n", MERGE)),
        (part("a.json", '{"x": 1}', MERGE), part("a.json", '{"x": "1"}', MERGE)),
        (part("a.yml", "x: 1\n", MERGE), part("a.yml", "y: 1\n", APPEND)),
    ],
    ids=["replace", "replace alike", "merge", "merge of shapes", "merge of kinds", "merge and append"],
)
def test_two_plugins_that_disagree_are_both_named(
    one: wire.Fragment, other: wire.Fragment, both: Lab
) -> None:
    with pytest.raises(FragmentError) as caught:
        both.generate(provider(both, one, name="provider/one"), provider(both, other, name="provider/two"))
    assert "provider/one" in str(caught.value)
    assert "provider/two" in str(caught.value)
    assert both.files() == {}


def test_the_files_of_a_run_do_not_depend_on_who_answers_first(both: Lab) -> None:
    pipe = both.pipe("go")
    late = rounds(generated(("a", "1")), introduction=info("first"))
    late.insert(3, f"await:{pipe}")
    early = rounds(generated(("b", "2")), introduction=info("second"))
    early.insert(4, f"signal:{pipe}")
    result = both.generate(both.play(*late[:-1], "read"), both.play(*early[:-1], "read"))
    assert [each.plugin for each in result.fragments] == ["first", "second"]
    assert [change.path for change in result.changes] == ["a", "b"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_to_is_left_as_it_was(both: Lab) -> None:
    both.write({"kept": "old\n"})
    both.out.chmod(0o500)
    try:
        with pytest.raises(TreeError):
            both.generate(provider(both, part("a", "x")))
    finally:
        both.out.chmod(0o700)
    assert both.files() == {"kept": "old\n"}
