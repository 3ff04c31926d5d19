"""A TOML file to a typed document, or an error that names file and key."""

from typing import Annotated

import pytest
from msgspec import Meta, Struct, field

from plughost.errors import ManifestError
from plughost.manifest.document import SIZE_LIMIT, hold, parse, read


class Inner(Struct, forbid_unknown_fields=True):
    count: int
    names: list[str] = []
    table: dict[str, int] = {}


class Document(Struct, forbid_unknown_fields=True):
    inner: Inner
    seconds: Annotated[float, Meta(gt=0)] = 2.5
    loud: bool = False


def refusal(text):
    with pytest.raises(ManifestError) as caught:
        parse(text, "some.toml", Document)
    return caught.value


def test_a_document_is_read_from_a_file(tmp_path):
    file = tmp_path / "some.toml"
    file.write_text("[inner]\ncount = 3\nnames = ['ä']\n", encoding="utf-8")
    assert read(file, Document) == Document(Inner(3, ["ä"]))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[inner]\ncount = '3'", "inner.count"),
        ("[inner]\ncount = true", "inner.count"),
        ("[inner]\ncount = 1979-05-27", "inner.count"),
        ("[inner]\ncount = 1\nnames = 'a'", "inner.names"),
        ("[inner]\ncount = 1\nnames = ['a', 2]", "inner.names[1]"),
        ("[inner]\ncount = 1\n[inner.table]\na = 'b'", "inner.table[...]"),
        ("inner = 5", "inner"),
        ("[[inner]]\ncount = 1", "inner"),
        ("[inner]", "inner.count"),
        ("", "inner"),
        ("[inner]\ncount = 1\ncolour = 2", "inner.colour"),
        ("[inner]\ncount = 1\n[outer]", "outer"),
        ("[inner]\ncount = 1\n[inner.colour]", "inner.colour"),
    ],
)
def test_what_is_wrong_missing_or_unknown_is_named_by_its_key(text, key):
    error = refusal(text)
    assert (error.source, error.key) == ("some.toml", key)
    assert error.problem
    assert error.remedy
    assert "some.toml" in str(error)
    assert key in str(error)


def test_a_number_that_may_be_left_out_is_advised_with_what_it_is_then():
    remedy = refusal("seconds = 0\n[inner]\ncount = 1").remedy
    assert "2.5" in remedy


def test_only_what_may_be_left_out_is_advised_to_be():
    missing, wrong = refusal("[inner]").remedy, refusal("[inner]\ncount = '3'").remedy
    unneeded = {
        refusal(f"{text}\n[inner]\ncount = 1\n{more}").remedy
        for text, more in [("loud = 1", ""), ("", "names = 'a'"), ("", "names = ['a', 2]")]
    }
    assert len({missing, wrong}) == 2
    assert len(unneeded) == 1
    assert not unneeded & {missing, wrong}


@pytest.mark.parametrize(
    "text",
    [
        "[inner",
        "inner",
        "[inner]\ncount = 1\ncount = 2",
        "[inner]\ncount = 1\n[inner]",
        "[inner]\ncount = 01",
        "[inner]\ncount = 1 2",
        "[inner]\ncount = " + "1" * 5000,
        "[inner]\ncount = 1 # \0",
        "x = '\ud800",
    ],
    ids=range(9),
)
def test_what_is_not_toml_is_named_by_its_file(text):
    error = refusal(text)
    assert (error.source, error.key) == ("some.toml", "")
    assert error.__cause__ is not None


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5000, "x = " + "[" * 5000 + "]" * 5000, "x = " + "{a=" * 5000], ids=range(3)
)
def test_what_is_nested_too_deep_never_comes_to_the_parser(text):
    error = refusal(text)
    assert (error.source, error.key, error.__cause__) == ("some.toml", "", None)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ManifestError) as caught:
        read(tmp_path / "missing.toml", Document)
    assert caught.value.source == str(tmp_path / "missing.toml")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_directory_is_no_document(tmp_path):
    with pytest.raises(ManifestError) as caught:
        read(tmp_path, Document)
    assert caught.value.source == str(tmp_path)


@pytest.mark.parametrize("data", [b"\xff", "[inner]\ncount = 1".encode("utf-16")], ids=["\\xff", "UTF-16"])
def test_a_file_that_is_not_utf8_is_named(tmp_path, data):
    file = tmp_path / "some.toml"
    file.write_bytes(data)
    with pytest.raises(ManifestError) as caught:
        read(file, Document)
    assert caught.value.source == str(file)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_file_is_read_up_to_the_limit_to_the_byte(tmp_path, over):
    file = tmp_path / "some.toml"
    text = b"[inner]\ncount = 1\n#"
    file.write_bytes(text + b"x" * (SIZE_LIMIT + over - len(text)))
    if over > 0:
        with pytest.raises(ManifestError):
            read(file, Document)
    else:
        assert read(file, Document).inner.count == 1


class Part(Struct):
    seconds: Annotated[float, Meta(gt=0)] = 2.5
    words: tuple[str, ...] = field(name="pass", default=())


@pytest.mark.parametrize(
    ("part", "key"),
    [
        (Part(seconds=0), "part.seconds"),
        (Part(seconds="1"), "part.seconds"),
        (Part(seconds=object()), "part"),
        (Part(words="a"), "part.words"),
        (Part(words=("a", 1)), "part.words[1]"),
        ({"seconds": 1.0}, "part"),
        (None, "part"),
    ],
)
def test_a_table_that_was_made_in_code_is_held_to_the_same_rules_and_named_as_it_is_there(part, key):
    with pytest.raises(ManifestError) as caught:
        hold(part, Part, "(given in code)", "part")
    assert (caught.value.source, caught.value.key) == ("(given in code)", key)
    assert caught.value.problem


def test_the_remedy_for_a_table_says_what_is_expected_there():
    with pytest.raises(ManifestError) as caught:
        hold({"seconds": 1.0}, Part, "(given in code)", "part")
    assert "Part" in caught.value.remedy
    with pytest.raises(ManifestError) as caught:
        hold(Part(seconds=0), Part, "(given in code)", "part")
    assert "2.5" in caught.value.remedy


def test_a_table_that_will_do_is_let_be():
    hold(Part(seconds=3, words=("a",)), Part, "(given in code)", "part")
