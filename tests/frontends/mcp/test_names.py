"""Names of tools: what every client takes, the same each time, each used once."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.frontends.mcp.names import HASH_CHARS, LONGEST, tool_names

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")
names = st.text(min_size=1, max_size=80)
pieces = st.text("ab_é", min_size=1, max_size=6)  # that read alike
plain = st.from_regex(r"[a-z_-]{1,40}", fullmatch=True)


def test_a_plain_name_is_the_plugin_and_the_tool():
    assert tool_names([("greeter-c", "greet"), ("a", "b")]) == {
        "a__b": ("a", "b"),
        "greeter-c__greet": ("greeter-c", "greet"),
    }


def test_names_that_read_the_same_are_told_apart():
    found = tool_names([("a", "b__c"), ("a__b", "c"), ("a", "é"), ("a", "è"), ("a", "_")])
    assert sorted(found.values()) == [("a", "_"), ("a", "b__c"), ("a", "è"), ("a", "é"), ("a__b", "c")]
    assert found["a___"] == ("a", "_")  # it is what it reads like; the others have a hash
    assert found["a__b__c"] == ("a", "b__c")
    assert len(found) == 5


@pytest.mark.parametrize("pair", [("a__b", "c"), ("a_", "b"), ("a", "b_" + "0" * HASH_CHARS), ("a", "é")])
def test_a_name_that_could_be_read_in_another_way_ends_in_a_hash(pair):
    (name,) = tool_names([pair])
    assert name != "__".join(pair)
    assert re.search(rf"_[0-9a-f]{{{HASH_CHARS}}}$", name)


def test_no_tool_can_take_the_name_that_another_gets_by_its_hash():
    (hashed,) = tool_names([("a", "é")])
    impostor = ("a", hashed.removeprefix("a__"))
    assert tool_names([("a", "é"), impostor])[hashed] == ("a", "é")


@given(st.sets(st.tuples(pieces, pieces), min_size=1, max_size=20), st.tuples(pieces, pieces))
def test_a_name_depends_on_nothing_but_the_plugin_and_the_tool(others, pair):
    (name,) = tool_names([pair])
    assert tool_names({*others, pair})[name] == pair


def test_a_name_of_64_characters_is_kept_and_a_longer_one_is_cut():
    exact, long = ("p" * 30, "t" * 32), ("p" * 30, "t" * 33)
    assert tool_names([exact]) == {"p" * 30 + "__" + "t" * 32: exact}
    (cut,) = tool_names([long])
    assert len(cut) == LONGEST
    assert cut.startswith("p" * 30 + "__t")


def test_another_plugin_changes_no_name_that_stays_alone():
    alone = tool_names([("a", "x" * 100)])
    assert set(alone) < set(tool_names([("a", "x" * 100), ("a", "x" * 101), ("b", "c")]))


@given(st.sets(st.tuples(names, names) | st.tuples(plain, plain), max_size=20), st.randoms())
def test_every_tool_has_one_fit_name_whatever_the_order(pairs, chance: random.Random):
    found = tool_names(pairs)
    assert sorted(found.values()) == sorted(pairs)
    assert all(ALLOWED.fullmatch(name) for name in found)
    assert list(found) == sorted(found)
    shuffled = sorted(pairs)
    chance.shuffle(shuffled)
    assert list(tool_names(shuffled).items()) == list(found.items())


def test_a_name_with_dots_stays_readable() -> None:
    pair = ("example.python_reference", "plugin.python_echo")
    assert tool_names([pair]) == {"example--python_reference__plugin--python_echo": pair}


def test_a_dot_and_what_looks_like_one_have_different_names() -> None:
    tools = [("a", tool) for tool in ("b.c", "b--c", "b-c", "b_c", "b-.c", "b.-c", "b..c", "b---c", "b----c")]
    found = tool_names(tools)
    assert sorted(found.values()) == sorted(tools)
    assert {found["a__b--c"], found["a__b----c"]} == {("a", "b.c"), ("a", "b..c")}
