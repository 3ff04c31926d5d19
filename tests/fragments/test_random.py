"""Any offers at all: a FragmentError or files, whatever order they come in where that does not count."""

import tempfile
from io import StringIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from plughost.errors import FragmentError
from plughost.fragments import combine, compare, write
from tests.fragments.offering import APPEND, MERGE, REPLACE, offer

NAMES = st.text("ab.:\\~ü\u200d\n", max_size=4) | st.sampled_from(
    [".git", "..", ".", "", "A", "é", "e\u0301"]
)
PATHS = st.lists(NAMES, max_size=4).map("/".join)
PLAIN = st.lists(st.sampled_from(["a", "b", "c.yml", "d.json"]), min_size=1, max_size=3).map("/".join)
TEXTS = st.text("ab:-[]{}&*!#'\"|>\n %,?1", max_size=30) | st.text(max_size=30).filter(
    lambda text: text.isprintable()
)
PLUGINS = st.sampled_from(["one", "two", "three"])
ANY = st.builds(
    offer,
    PLUGINS,
    PATHS | PLAIN,
    TEXTS,
    st.sampled_from([REPLACE, APPEND, MERGE, 0, 7]),
    order=st.integers(-(2**31), 2**31 - 1),
    format=st.sampled_from(["", "yaml", "json", "YML", "text"]),
)
VALUES = st.recursive(
    st.sampled_from([1, 2, True, None, "on", "yes", "x: y", "# no", "1", "ü\n\n z \n", "", "a\tb", 1.5]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "on", "1", "x y"]), inner, max_size=3)
    ),
    max_leaves=8,
)
TABLES = st.dictionaries(st.sampled_from(["a", "b", "on", "null"]), VALUES, max_size=4)


def plain(value):
    stream = StringIO()
    YAML(typ="safe", pure=True).dump(value, stream)
    return stream.getvalue()


def load(text):
    return YAML(typ="safe", pure=True).load(text)


@given(st.lists(ANY, max_size=6))
def test_offers_become_files_or_a_fragment_error(offers):
    try:
        found = combine(offers)
    except FragmentError:
        return
    assert [each.path for each in found] == sorted({each.path for each in found})
    assert combine(offers) == found


@given(TEXTS, TEXTS)
def test_texts_that_are_merged_become_a_file_or_a_fragment_error(one, other):
    for path in ("a.yml", "a.json"):
        try:
            (found,) = combine([offer("one", path, one, MERGE), offer("two", path, other, MERGE)])
        except FragmentError:
            continue
        again = offer("one", path, found.content.decode(), MERGE)
        assert combine([again])[0].content == found.content, "it can be read"


@given(st.permutations(range(6)))
def test_the_order_of_plugins_does_not_count_where_order_says_all(places):
    offers = [
        offer("one", "a", "base", REPLACE),
        offer("two", "a", "second", APPEND, order=2),
        offer("three", "a", "first", APPEND, order=1),
        offer("one", "b.yml", "x: 1\n", MERGE, order=1),
        offer("two", "b.yml", "y: 2\n", MERGE, order=2),
        offer("three", "c", "c", REPLACE),
    ]
    assert combine([offers[place] for place in places]) == combine(offers)


@given(TABLES, TABLES)
def test_a_merge_holds_what_both_hold(one, other):
    offers = [offer("one", "a.yml", plain(one), REPLACE), offer("two", "a.yml", plain(other), MERGE)]
    try:
        (found,) = combine(offers)
    except FragmentError:
        return
    whole = load(found.content.decode()) or {}
    assert list(whole)[: len(one)] == list(load(plain(one)) or {})
    for table in (one, other):
        for key, value in table.items():
            assert holds(whole[key], value)


def holds(whole, part):
    if isinstance(part, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return all(any(type(each) is type(item) and each == item for each in whole) for item in part)
    return type(whole) is type(part) and whole == part


@given(TABLES)
def test_a_merge_with_itself_changes_nothing(table):
    (once,) = combine(
        [offer("one", "a.yml", plain(table), REPLACE), offer("two", "a.yml", plain(table), MERGE)]
    )
    assert load(once.content.decode()) == load(plain(table))


@given(st.lists(ANY.filter(lambda each: each.fragment.strategy in (REPLACE, APPEND)), max_size=6))
def test_what_was_written_is_up_to_date(offers):
    try:
        outputs = combine(offers)
    except FragmentError:
        return
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        assert {change.kind for change in write(outputs, out)} <= {"created"}
        assert {change.kind for change in compare(outputs, out)} <= {"unchanged"}
        assert {change.kind for change in write(outputs, out)} <= {"unchanged"}
