"""Names of tools: what every client takes, the same each time, each used once."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from plughost.frontends.mcp.names import LONGEST, tool_names

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")
names = st.text(min_size=1, max_size=80)
plain = st.from_regex(r"[a-z_-]{1,40}", fullmatch=True)


def test_a_plain_name_is_the_plugin_and_the_tool():
    assert tool_names([("greeter-c", "greet"), ("a", "b")]) == {
        "a__b": ("a", "b"),
        "greeter-c__greet": ("greeter-c", "greet"),
    }


def test_names_that_read_the_same_are_told_apart():
    found = tool_names([("a", "b__c"), ("a__b", "c"), ("a", "é"), ("a", "è"), ("a", "_")])
    assert sorted(found.values()) == [("a", "_"), ("a", "b__c"), ("a", "è"), ("a", "é"), ("a__b", "c")]
    assert "a___" not in found  # three read like that: each has a hash
    assert len(found) == 5


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
