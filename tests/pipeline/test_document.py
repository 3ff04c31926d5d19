"""YAML becomes nodes with lines, within bounds, and whatever else is in a file is one kind of error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.errors import ManifestError
from plughost.pipeline import document, yaml_events, yaml_text
from plughost.pipeline.document import DEPTH_LIMIT, EVENT_LIMIT, KEY_LIMIT, parse
from plughost.pipeline.node import Scalar
from plughost.pipeline.yaml_events import SIZE_LIMIT

SOUP = [*"ab01.:-?[]{},&*!|>'\"%@`#~<= \n\t\\x_ue+", "\n  ", ": ", "- ", "!!", "---\n", "&a ", "*a", "<<: "]


def refused(text):
    with pytest.raises(ManifestError) as caught:
        parse(text, "f.yml")
    assert caught.value.source == "f.yml"
    assert caught.value.remedy
    return caught.value


def test_values_and_keys_know_where_they_are():
    tree = parse("a: 1\nb:\n  - x\n  -   {c: 'y'}\n", "f")
    b = tree.entries["b"]
    assert tree.entries["a"] == Scalar("1", "", 1, 4)
    assert (tree.keys["b"].line, tree.keys["b"].column) == (2, 1)
    assert b.items[0] == Scalar("x", "", 3, 5)
    assert b.items[1].entries["c"] == Scalar("y", "'", 4, 11)


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("", "", 1),
        ("# nothing\n", "", 1),
        ("null", "", 1),
        ("- a", "", 1),
        ("\ntext", "", 2),
        ("a: 1\nb: *x", "b", 2),
        ("a: &x [*x]", "a", 1),
        ("a: &x\n  b: {c: *x}", "a.b.c", 2),
        ("a: &x 1\nb: &x 2", "b", 2),
        ("a: &x [&x 1]", "a", 1),
        ("a: 1\nb: !!str 2", "b", 2),
        ("a: !!python/object/apply:os.system [true]", "a", 1),
        ("a: ! b", "a", 1),
        ("a: !!set {b}", "a", 1),
        ("%YAML 1.1\n---\na: yes", "", 2),
        ("---\na: 1\n---\nb: 2", "", 3),
        ("a: 1\na: 2", "", 2),
        ("a:\n  b: 1\n  'b': 2", "a", 3),
        ("1: a", "", 1),
        ("a: 1\ntrue: b", "", 2),
        ("~: b", "", 1),
        ("? [a]\n: b", "", 1),
        ("x: &k [a]\n? *k\n: b", "", 2),
        ("a: 1\n<<: 2", "", 2),
        ("<<: [{a: 1}, 2]", "", 1),
        ("<<: {a: 1}\n<<: {b: 1}", "<<", 2),
        ('a: "\\ud800"', "a", 1),
        ('a: 1\nb: "\\0"', "b", 2),
        ("a: 1\nb: [", "", 2),
        ("a:\n\tb: 1", "", 2),
        ("a: 'open\n", "", 2),
        ("a: b: c", "", 1),
        ("a: 1\nb: \0", "", 2),
        ("a: 1\n\nb: \x07", "", 3),
        ("a: @b", "", 1),
        ("a: |x\n b", "", 1),
        ("a: 1\n b: 2", "", 2),
        ("a: \ud800", "", 1),
    ],
)
def test_what_is_refused_is_refused_with_its_line(text, key, line):
    error = refused(text)
    assert (error.key, error.problem.partition(":")[0]) == (key, f"line {line}")


@given(st.lists(st.sampled_from(SOUP), max_size=60).map("".join))
def test_soup_is_a_manifest_error_or_a_tree_that_can_be_written_and_read_again(text):
    try:
        found = parse(text, "f.yml")
    except ManifestError:
        return
    assert yaml_text.dump(
        parse(yaml_text.dump(found), "f.yml") if found.entries else found
    ) == yaml_text.dump(found)


def nested(depth):
    return "a: " + "[" * (depth - 1) + "]" * (depth - 1)


def test_depth_is_bounded():
    parse(nested(DEPTH_LIMIT), "f")
    refused(nested(DEPTH_LIMIT + 1))


def test_the_depth_of_an_alias_is_counted_where_it_stands():
    inner = DEPTH_LIMIT - 2
    text = "a: &x " + "[" * inner + "]" * inner + "\nb: "
    parse(text + "[*x]", "f")
    refused(text + "[[*x]]")


def listing(events):
    return "a: [" + "b," * (events - 5) + "]"  # the mapping is two, the key one, the list two


def test_values_are_counted():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "EVENT_LIMIT", 100)
        parse(listing(100), "f")
        refused(listing(101))
    assert EVENT_LIMIT == 100_000


def test_values_are_counted_as_if_aliases_were_written_out():
    laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{after}: &{after} [{', '.join(['*' + name] * 10)}]\n"
        for name, after in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "line 5" in refused(laughs).problem


def test_characters_are_counted_as_if_aliases_were_written_out(monkeypatch):
    monkeypatch.setattr(document, "TEXT_LIMIT", 1_000)
    text = "a: &a " + "x" * 200 + "\nb: ["
    parse(text + "*a, " * 3 + "]", "f")
    assert "line 2" in refused(text + "*a, " * 4 + "x" * 9 + "]").problem


def test_keys_are_bounded():
    parse("x" * KEY_LIMIT + ": 1", "f")
    refused("x" * (KEY_LIMIT + 1) + ": 1")


def test_the_text_is_bounded(monkeypatch):
    monkeypatch.setattr(yaml_events, "SIZE_LIMIT", 1_000)
    parse("a: " + "x" * 997, "f")
    refused("a: " + "x" * 998)


@pytest.mark.parametrize("piece", ["[", "{a: ", "- ", "? ", "a: {", "- [", "? - "])
def test_a_mebibyte_of_openings_is_refused_at_once(piece):
    refused(piece * (SIZE_LIMIT // len(piece)))


def test_what_a_key_merges_counts():
    text = "a: &a {" + ", ".join(f"k{number}: 1" for number in range(1000)) + "}\n"
    refused(text + "".join(f"b{number}: {{<<: *a}}\n" for number in range(50)))
