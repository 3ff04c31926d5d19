"""Merging: what two texts hold becomes one, as it was written, or a conflict that names both plugins and the place."""

import json

import pytest
from ruamel.yaml import YAML

from plughost.errors import FragmentError
from plughost.fragments import budget, combine
from plughost.fragments.structure import DEPTH_LIMIT
from tests.fragments.offering import MERGE, REPLACE, offer


def merged(*texts, path="a.yml", base=False):
    first = REPLACE if base else MERGE
    offers = [offer(f"p{at}", path, text, first if at == 0 else MERGE) for at, text in enumerate(texts)]
    (only,) = combine(offers)
    return only.content.decode()


def values(text):
    return YAML(typ="safe", pure=True).load(text)


def refused(*texts, path="a.yml"):
    with pytest.raises(FragmentError) as caught:
        merged(*texts, path=path)
    return caught.value


def test_mappings_merge_key_by_key_in_the_order_of_first_sight():
    found = merged("on: push\njobs:\n  b: {x: 1}\n", "jobs:\n  a: 1\n  b: {y: 2}\nname: CI\n")
    assert values(found) == {"on": "push", "jobs": {"b": {"x": 1, "y": 2}, "a": 1}, "name": "CI"}
    assert list(values(found)) == ["on", "jobs", "name"]
    assert list(values(found)["jobs"]) == ["b", "a"]
    assert found.startswith("on: push\n")


def test_lists_follow_each_other_without_what_is_there_already():
    found = merged("a: [1, {x: [1]}, 2]", "a: [2, {x: [1]}, '2', {x: [2]}, 3, 3]")
    assert values(found) == {"a": [1, {"x": [1]}, 2, "2", {"x": [2]}, 3]}


def test_lists_may_be_the_whole():
    assert values(merged("- 1\n- 2\n", "- 2\n- 3\n")) == [1, 2, 3]
    assert json.loads(merged("[1]", "[1, 2]", path="a.json")) == [1, 2]


def test_the_base_and_all_merges_become_one_by_order():
    offers = [
        offer("one", "a.yml", "z: 3\n", MERGE, order=2),
        offer("two", "a.yml", "y: 2\n", MERGE, order=1),
        offer("three", "a.yml", "x: 1\n", REPLACE, order=9),
    ]
    (found,) = combine(offers)
    assert found.content == b"x: 1\ny: 2\nz: 3\n"
    assert found.plugins == ("three", "two", "one")
    assert found.strategies == ("replace", "merge")


def test_comments_quotes_and_texts_of_the_base_are_kept():
    base = (
        "# made by hand\n\nname: CI # the name\non:\n  # when\n  push:\n    branches: [main, 'rel/*']\n"
        "version: 3.10\nzero: 007\nyes: no\njobs:\n  build:\n    steps:\n      # first\n      - run: |\n"
        '          make\n          make test\n      - uses: "a/b@v1" # pinned\n'
    )
    found = merged(base, "jobs:\n  build:\n    steps:\n      - run: last\n", base=True)
    assert found == base + "      - run: last\n"


def test_lists_stay_indented_as_in_the_base():
    assert merged("a:\n- 1\n", "a: [2]") == "a:\n- 1\n- 2\n"
    assert merged("a:\n  - 1\n", "a: [2]") == "a:\n  - 1\n  - 2\n"


def test_words_are_never_read_as_something_else():
    words = (
        "on: off\nyes: y\nv: 1.10\nd: 2001-01-01\nn: ~\nh: 0x1F\no: 0o17\nb: True\ne: 1e3\ni: .inf\ns: 1:30\n"
    )
    assert merged(words, "x: 1") == words + "x: 1\n"


def test_a_folded_text_keeps_what_it_says():
    text = "a: >\n  one\n  two\n\n  three\nb: >-\n  four\n  five\n"
    assert values(merged(text, "c: 1")) == {**values(text), "c": 1}
    assert values(merged(text, text)) == values(text)


def test_equal_scalars_agree_however_they_are_quoted():
    assert merged("a: x\nb: ~\nc: true\n", "a: 'x'\nb: null\nc: True\n") == "a: x\nb: ~\nc: true\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "2"),
        ("1", "'1'"),
        ("1", "true"),
        ("1", "1.0"),
        ("a", "[a]"),
        ("{a: 1}", "[a]"),
        ("", "{a: 1}"),
        ("null", "'null'"),
        ("x", "X"),
    ],
)
def test_values_that_differ_conflict_with_both_plugins_and_the_place(one, other):
    for first, second in ((one, other), (other, one)):
        error = refused(f"top:\n  key: {first}\n", f"top:\n  key: {second}\n")
        assert error.plugin == "p1"
        assert "p0" in error.problem
        assert "top.key" in error.problem


def test_a_conflict_names_the_plugin_that_said_it_first():
    error = refused("a: 1", "b: {c: 1}", "b: {c: 2}")
    assert error.plugin == "p2"
    assert "p1" in error.problem
    assert "p0" not in error.problem


def test_one_fragment_alone_stays_as_it_is_but_must_be_valid():
    odd = "a:   1   # odd\n\n\n\nb: [ 1,2 ]"
    assert merged(odd) == odd
    assert merged('{"a":1}', path="a.json") == '{"a":1}'
    assert refused("a: [").plugin == "p0"
    assert refused("{", path="a.json").plugin == "p0"


def test_texts_without_a_value_add_nothing():
    assert merged("# only words\n", "a: 1\n") == "a: 1\n"
    assert merged("a: 1\n", "", "# words") == "a: 1\n"
    assert merged("# a\n", "# b") == "# a\n"
    assert merged("", "~", "---\n") == ""


def test_aliases_are_written_out_so_that_places_stay_apart():
    found = merged("a: &x {k: 1}\nb: *x\n", "a: {m: 2}")
    assert values(found) == {"a": {"k": 1, "m": 2}, "b": {"k": 1}}
    assert "&" not in found
    assert "*" not in found


def test_a_merge_key_stays_a_key():
    found = merged("d: &d {k: 1}\ne:\n  <<: *d\n  n: 2\n", "z: 1")
    assert "<<: {k: 1}" in found


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)
BAD_YAML = {
    "laughs": LAUGHS,
    "cycle": "a: &a [*a]",
    "cycle-mapping": "&a {k: *a}",
    "tag": "a: !x 1",
    "tag-text": "a: !!str 5",
    "tag-empty": "!!str ",
    "tag-number": "a: !!int '5'",
    "tag-python": "a: !!python/object/apply:os.system [id]",
    "tag-binary": "a: !!binary aGk=",
    "tag-set": "a: !!set {x}",
    "tag-omap": "a: !!omap [x: 1]",
    "tag-mapping": "!x {a: 1}",
    "directive": "%YAML 1.1\n---\na: 1",
    "directive-after-comment": "# c\n\n%TAG ! tag:x,2000:\n---\na: 1",
    "directive-after-end": "...\n%YAML 1.1\n---\na: on",
    "second-document": "a: 1\n---\nb: 1",
    "duplicate": "a: 1\nb: 2\na: 1",
    "duplicate-quoted": "a: 1\n'a': 2",
    "duplicate-deep": "x: [{y: {a: 1, a: 2}}]",
    "key-list": "[a, b]: 1",
    "key-mapping": "? {a: 1}\n: 1",
    "key-empty": "? ",
    "key-null": "~: 1",
    "unknown-alias": "a: *x",
    "tab": "a:\n\tb: 1",
    "brackets": "[" * 100_000,
    "braces": "{a: " * 10_000,
    "dashes": "- " * 10_000,
    "questions": "? " * 10_000,
    "indent": "".join(" " * at + "a:\n" for at in range(400)),
    "flow-depth+1": "a: " + "[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT,
    "unclosed": "a: 'x",
    "control": "a: \x01",
    "colon": "a: b: c",
    "at": "@",
    "percent": "a: 1\n%b",
}


@pytest.mark.parametrize("text", BAD_YAML.values(), ids=BAD_YAML)
def test_yaml_that_is_broken_hostile_or_not_plain_is_refused(text):
    assert refused(text).plugin == "p0"
    assert refused("x: 1", text).plugin == "p1"


def test_yaml_is_nested_up_to_its_limit():
    deepest = "[" * (DEPTH_LIMIT - 1) + "]" * (DEPTH_LIMIT - 1)
    assert values(merged(f"a: {deepest}\n", "b: 1"))["b"] == 1
    assert merged("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT)


def test_the_values_that_aliases_expand_to_are_counted(monkeypatch):
    text = "a: &a [1, 2]\nb: [*a, *a]\n"  # 1 + 2 keys + (1+2) + (1 + 2*(1+2))
    monkeypatch.setattr(budget, "VALUES_LIMIT", budget.TEXT_VALUES + 13)
    assert merged(text)
    monkeypatch.setattr(budget, "VALUES_LIMIT", budget.TEXT_VALUES + 12)
    assert str(budget.TEXT_VALUES + 12) in refused(text).problem


def test_reused_anchors_are_no_warning():
    assert values(merged("a: &x 1\nb: &x 2\nc: *x\n", "d: 1")) == {"a": 1, "b": 2, "c": 2, "d": 1}


def test_json_is_written_indented_with_every_number_as_it_was():
    one = '{"b": 1.10, "a": {"x": 123456789012345678901234567890, "e": 1E400}, "l": [], "o": {}}'
    found = merged(one, '{"a": {"y": -0, "ü\\u0000": "\\u2028"}, "l": [true, null]}', path="a.json")
    assert found == (
        '{\n  "b": 1.10,\n  "a": {\n    "x": 123456789012345678901234567890,\n    "e": 1E400,\n    "y": -0,\n'
        '    "ü\\u0000": "\u2028"\n  },\n  "l": [\n    true,\n    null\n  ],\n  "o": {}\n}\n'
    )


BAD_JSON = {
    "empty": "",
    "nan": '{"a": NaN}',
    "infinity": "[Infinity]",
    "minus-infinity": "[-Infinity]",
    "duplicate": '{"a": 1, "a": 1}',
    "duplicate-escaped": '{"a": 1, "\\u0061": 1}',
    "trailing": "{} {}",
    "comma": "[1,]",
    "comment": "{} // x",
    "single-quotes": "{'a': 1}",
    "bom": "\ufeff{}",
    "surrogate": '["\\ud800"]',
    "surrogate-key": '{"\\udc00": 1}',
    "depth+1": "[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1),
    "bottomless": "[" * 200_000,
    "leading-zero": "[01]",
    "control": '["\x01"]',
}


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON)
def test_json_that_is_not_strict_is_refused(text):
    assert refused(text, path="a.json").plugin == "p0"
    assert refused("{}", text, path="a.json").plugin == "p1"


def test_json_is_nested_up_to_its_limit():
    text = "[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT
    assert merged(text, path="a.json") == text


@pytest.mark.parametrize(
    ("one", "other"), [("1", "1.0"), ("1", "true"), ('"1"', "1"), ("null", '"null"'), ("[]", "{}")]
)
def test_json_values_that_differ_conflict(one, other):
    error = refused(f'{{"a": {{"b": {one}}}}}', f'{{"a": {{"b": {other}}}}}', path="a.json")
    assert (error.plugin, "p0" in error.problem, "a.b" in error.problem) == ("p1", True, True)


def test_texts_of_a_conflict_are_shown_without_what_a_terminal_would_obey():
    error = refused('{"\\u001b[2J": "\\u001b[31m"}', '{"\\u001b[2J": "x"}', path="a.json")
    assert str(error).isprintable()
