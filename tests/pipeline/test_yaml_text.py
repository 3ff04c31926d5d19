"""A node comes back from its YAML text unchanged, whoever reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from plughost.pipeline import document, yaml_text
from plughost.pipeline.node import Mapping, Scalar, Sequence

TEXTS = st.text(
    st.one_of(
        st.characters(codec="utf-8", exclude_characters="\0"),
        st.sampled_from(" \n\t'\"#:-|>{}[]&*!%@`\\\r\x85\u2028"),
    )
)
STYLED = st.builds(Scalar, TEXTS, st.sampled_from("'\"|>"))
PLAIN = st.sampled_from(["a", "3.10", "true", "null", "~", "", "on", "yes", "a b", "-1", "2024-01-01"]).map(
    Scalar
)
KEYS = TEXTS.filter(lambda text: len(text) <= document.KEY_LIMIT)


def mapping(entries):
    return Mapping(entries, {key: Scalar(key, "'") for key in entries})


NODES = st.recursive(
    STYLED | PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: Sequence(tuple(items))),
        st.dictionaries(KEYS, inner, max_size=4).map(mapping),
    ),
    max_leaves=12,
)


def meaning(node):
    """Return what *node* means: texts apart from plain words, and all ways to write nothing the same."""
    if isinstance(node, Scalar):
        return "null" if node.is_null else (node.text, not node.is_word)
    if isinstance(node, Sequence):
        return [meaning(each) for each in node.items]
    return [(key, meaning(value)) for key, value in node.entries.items()]


@given(NODES)
def test_what_is_dumped_can_be_read_again(node):
    text = yaml_text.dump(node)
    assert meaning(document.parse(f"{text}\n", "t") if is_block(node) else hung(text)) == meaning(node)


def is_block(node):
    return isinstance(node, Mapping) and bool(node.entries)


def hung(text):
    """Return the node that *text* is, below a key, where anything may stand."""
    indented = "\n".join("  " + line if line else line for line in text.split("\n"))
    return document.parse(f"k:\n{indented}\n", "t").entries["k"]


@given(NODES)
def test_it_stands_alone_as_a_document(node):
    """Also with the newline at its end, which it has not, and to a reader that builds values."""
    reader = YAML(typ="safe", pure=True)
    text = yaml_text.dump(node)
    assert not text.endswith("\n") or "\n" not in text
    assert reader.load(text) == reader.load(f"{text}\n")


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Scalar("on"), "on"),
        (Scalar("3.10"), "3.10"),
        (Scalar("~"), "null"),
        (Scalar("True"), "True"),
        (Scalar("1", "'"), "'1'"),
        (Scalar("it's", '"'), "'it''s'"),
        (Scalar("a\nb\n", "|"), "|\n  a\n  b"),
        (Scalar("a\n\n b", "|"), "|-\n  a\n\n   b"),
        (Scalar("a\nb\n", "'"), '"a\\nb\\n"'),
        (Scalar("a\n\n", "|"), '"a\\n\\n"'),
        (Scalar(" a\n", "|"), '" a\\n"'),
        (Scalar("\x85", "'"), '"\\u0085"'),
        (Scalar("--- a"), "'--- a'"),
        (Sequence(()), "[]"),
        (mapping({}), "{}"),
        (
            Sequence((Sequence((Scalar("a"), Scalar("b"))), mapping({"k": Sequence(())}))),
            "- - a\n  - b\n- 'k': []",
        ),
        (mapping({"k": Scalar("a\nb", "|")}), "'k': |-\n  a\n  b"),
        (
            mapping({"k": mapping({"l": Sequence((Scalar("x\ny", "|"),))})}),
            "'k':\n  'l':\n    - |-\n      x\n      y",
        ),
    ],
)
def test_there_is_one_way_to_write_a_value(node, text):
    assert yaml_text.dump(node) == text
