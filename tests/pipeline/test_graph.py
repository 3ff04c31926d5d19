"""An order respects what is needed, and a circle is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.pipeline import graph

NAMES = [*"abcdefgh"]
GRAPHS = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)).map(
    lambda found: {name: [each for each in needs if each in found] for name, needs in found.items()}
)


@given(GRAPHS)
def test_there_is_either_a_whole_order_or_a_circle(needs):
    order, circle = graph.order(needs), graph.circle(needs)
    assert (len(order) == len(needs)) == (circle == ())
    for at, name in enumerate(order):
        assert set(needs[name]) <= set(order[:at])
    for name, after in zip(circle, (*circle[1:], *circle[:1]), strict=True):
        assert after in needs[name]
    assert len(set(circle)) == len(circle)


@given(GRAPHS)
def test_of_what_could_come_next_the_first_written_does(needs):
    order, rank = graph.order(needs), {name: at for at, name in enumerate(needs)}
    for at, name in enumerate(order):
        ready = [other for other in order[at:] if set(needs[other]) <= set(order[:at])]
        assert name == min(ready, key=rank.__getitem__)


def test_a_circle_is_drawn_from_the_first_written():
    assert graph.drawn(graph.circle({"x": ["c"], "a": ["b"], "b": ["c"], "c": ["a"]})) == "a -> b -> c -> a"
    assert graph.drawn(graph.circle({"a": ["a"]})) == "a -> a"


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_long_circle_is_drawn_in_part(over):
    names = [f"n{number}" for number in range(graph.DRAWN + over)]
    drawn = graph.drawn(names).split(" -> ")
    assert drawn[0] == drawn[-1] == "n0"
    if over > 0:
        assert drawn[:-1] == [*names[: graph.DRAWN - 1], "…", names[-1]]
    else:
        assert drawn[:-1] == names


def test_a_chain_of_thousands_is_walked_without_recursion():
    needs = {str(number): [str(number + 1)] for number in range(5000)} | {"5000": []}
    assert graph.order(needs)[0] == "5000"
    needs["5000"] = ["0"]
    assert len(graph.circle(needs)) == 5001
