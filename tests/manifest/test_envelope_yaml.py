"""A manifest's YAML: plain values come through, and whatever else is in a file is one kind of error."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.errors import ManifestError
from plughost.manifest import yaml_document
from plughost.manifest.yaml_document import DEPTH_LIMIT, DIGIT_LIMIT, EVENT_LIMIT, SIZE_LIMIT, parse

SOUP = [*"ab01.:-?[]{},&*!|>'\"%@`#~<= \n\t\\x_ue+", "\n  ", ": ", "- ", "!!", "---\n"]


def refused(text):
    with pytest.raises(ManifestError) as caught:
        parse(text, "manifest.yml")
    assert caught.value.source == "manifest.yml"
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("hello", "hello"),
        ("'1'", "1"),
        ('"null"', "null"),
        ('"2024-01-01"', "2024-01-01"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
        ("'.inf'", ".inf"),
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("off", "off"),
        ("7", 7),
        ("-7", -7),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("1.2.3", "1.2.3"),
        ("[a, [1]]", ["a", [1]]),
        ("{b: {c: 1}}", {"b": {"c": 1}}),
        ("|\n  one\n  two\n", "one\ntwo\n"),
        ("ä€😀", "ä€😀"),
    ],
)
def test_a_plain_value_is_what_yaml_1_2_says(word, value):
    found = parse(f"a: {word}", "manifest.yml")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_a_byte_order_mark_comments_and_one_document_marker_are_no_matter():
    assert parse("\ufeff# first\n---\na: 1 # one\n...\n", "manifest.yml") == {"a": 1}


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a: 1\nb: &x 2\nc: *x", "b", 2),
        ("a: 1\nb: *x", "b", 2),
        ("&x a: 1", "", 1),
        ("a: &x [*x]", "a", 1),
        ("a: 1\nb: !!str 2", "b", 2),
        ("a: !!python/object/apply:os.system [true]", "a", 1),
        ("a: !!binary aGk=", "a", 1),
        ("a: !!set {b}", "a", 1),
        ("a: ! b", "a", 1),
        ("%YAML 1.1\n---\na: yes", "", 2),
        ("%TAG ! x\n---\na: yes", "", 2),
        ("---\na: 1\n---\nb: 2", "", 3),
        ("a: 1\nb: 2\na: 3", "", 3),
        ("x:\n  a: 1\n  a: 2", "x", 3),
        ("{a: 1, a: 2}", "", 1),
        ("a: 1\n1: 2", "", 2),
        ("null: 2", "", 1),
        ("true: 2", "", 1),
        (": 2", "", 1),
        ("? [a]\n: b", "", 1),
        ("? {a: b}\n: c", "", 1),
        ("a: .inf", "a", 1),
        ("a: -.INF", "a", 1),
        ("a: [1, .nan]", "a", 1),
        ("a: 1e999", "a", 1),
        ("a: 1\nb: " + "9" * 5000, "b", 2),
        ('a: "\\ud800"', "a", 1),
        ("a:\t1", "", 1),
        ("a: 1\n\tb: 2", "", 2),
        ("a: 'open", "", 1),
        ("a: [1", "", 1),
        ("a: 1\n b: 2", "", 2),
        ("a: =\nb: @", "", 2),
    ],
)
def test_what_two_readers_could_take_differently_is_refused_with_its_key_and_line(text, key, line):
    error = refused(text)
    assert error.key == key
    assert f"line {line}:" in error.problem


@pytest.mark.parametrize(
    "text", ["", "# nothing", "---", "- a", "text", "1", "null", "a: \0", 'a: "\\U00110000"', "\x07"]
)
def test_what_is_no_mapping_is_refused(text):
    assert refused(text).key == ""


def test_a_merge_key_is_a_key_like_any_other():
    assert parse("<<: {a: 1}\nb: 2", "manifest.yml") == {"<<": {"a": 1}, "b": 2}


def test_a_billion_laughs_are_refused_at_the_first_anchor():
    lines = ["a0: &a0 [lol]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 10)]
    assert "line 1:" in refused("\n".join(lines)).problem


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_depth_is_bounded_whatever_the_recursion_limit(opening):
    assert refused("a: " + opening * 5000 if opening != "- " else opening * 5000)


@pytest.mark.parametrize(("over", "taken"), [(-1, True), (0, True), (1, False)])
def test_each_bound_holds_to_the_number(over, taken):
    depth = DEPTH_LIMIT - 1 + over  # the mapping is one
    texts = [
        "a: " + "[" * depth + "]" * depth,
        "a: " + "1" * (DIGIT_LIMIT + over),
        "a: " + "x" * (SIZE_LIMIT - 3 + over),
        # beside the items: a key, and the stream, the document, the mapping and the list, begun and ended
        "a: [" + "1," * (EVENT_LIMIT - 9 + over) + "]",
    ]
    for text in texts:
        if taken:
            assert list(parse(text, "manifest.yml")) == ["a"]
        else:
            refused(text)


@given(st.text(max_size=60))
def test_any_text_is_a_mapping_or_a_manifest_error(text):
    try:
        assert isinstance(parse(text, "manifest.yml"), dict)
    except ManifestError as error:
        str(error).encode()


@given(st.lists(st.sampled_from(SOUP), max_size=40))
def test_any_soup_of_yaml_is_a_mapping_or_a_manifest_error(pieces):
    try:
        assert isinstance(parse("".join(pieces), "manifest.yml"), dict)
    except ManifestError:
        pass


@given(st.binary(max_size=60))
def test_any_bytes_in_a_file_are_a_mapping_or_a_manifest_error(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "any.yml"
    file.write_bytes(data)
    try:
        assert isinstance(yaml_document.read(file), dict)
    except ManifestError:
        pass


def read_refused(path):
    with pytest.raises(ManifestError) as caught:
        yaml_document.read(path)
    return caught.value


def test_a_file_is_read(tmp_path):
    (tmp_path / "m.yml").write_text("a: ä\r\nb: 2\r\n", encoding="utf-8")
    (tmp_path / "link.yml").symlink_to("m.yml")
    assert yaml_document.read(tmp_path / "link.yml") == {"a": "ä", "b": 2}


def test_a_file_over_the_limit_or_not_in_utf_8_is_refused(tmp_path):
    (tmp_path / "big.yml").write_bytes(b"a: 1\n#" + b"x" * SIZE_LIMIT)
    (tmp_path / "latin.yml").write_bytes("a: ä".encode("latin-1"))
    assert str(SIZE_LIMIT) in read_refused(tmp_path / "big.yml").problem
    assert "UTF-8" in read_refused(tmp_path / "latin.yml").problem


def test_what_is_no_regular_file_is_refused_without_waiting_or_leaving_a_descriptor(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    before = os.listdir("/dev/fd")
    for name in ("pipe", "directory", "loop", "missing", "nul\0", "x" * 300):
        read_refused(tmp_path / name)
    read_refused(tmp_path / "/dev/null")
    assert len(os.listdir("/dev/fd")) == len(before)
