"""`manifest.yml` to a value: what it says, what it leaves out, and each kind of nonsense refused by its key."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.errors import ManifestError
from plughost.manifest import envelope_manifest
from plughost.manifest.envelope_manifest import (
    LIST_LENGTH,
    NAME_LENGTH,
    REQUIRED,
    RULES,
    TEXT_LENGTH,
    EnvelopeManifest,
    Isolation,
    limits_of,
    matches,
)

HERE = Path("/plugins/hello")
LEAST = {"name": "hello", "version": '"1.0"', "supported_extensions": "[.txt]", "api_version": '"1"'}


def text_of(**lines):
    isolation = {key: lines.pop(key) for key in ("timeout_seconds", "memory_mb", "network") if key in lines}
    text = "".join(f"{key}: {value}\n" for key, value in {**LEAST, **lines}.items() if value is not None)
    block = "".join(f"  {key}: {value}\n" for key, value in isolation.items())
    return f"{text}isolation:\n{block}" if isolation else text


def parse(**lines):
    return envelope_manifest.parse(text_of(**lines), HERE)


def refused(**lines):
    with pytest.raises(ManifestError) as caught:
        parse(**lines)
    assert caught.value.remedy
    return caught.value


def test_the_required_keys_are_enough():
    assert parse() == EnvelopeManifest("hello", "1.0", (".txt",), "1", HERE)
    assert parse().isolation == Isolation(30.0, 512, False)


def test_every_key_comes_through():
    manifest = parse(
        author="Ada",
        description="says hello",
        required_variables="[operator]",
        optional_variables="[date, time]",
        command="[./worker, --fast]",
        timeout_seconds=1.9,
        memory_mb=64,
        network="true",
        supported_extensions="[.txt, .TAR.gz, .gitignore]",
    )
    assert manifest == EnvelopeManifest(
        name="hello",
        version="1.0",
        supported_extensions=(".txt", ".TAR.gz", ".gitignore"),
        api_version="1",
        directory=HERE,
        author="Ada",
        description="says hello",
        required_variables=("operator",),
        optional_variables=("date", "time"),
        isolation=Isolation(1.9, 64, True),
        command=("./worker", "--fast"),
    )


def test_a_file_is_read_from_its_directory(tmp_path, monkeypatch):
    (tmp_path / "manifest.yml").write_text(text_of())
    monkeypatch.chdir(tmp_path)
    assert envelope_manifest.read(Path()).directory == tmp_path


def test_an_error_names_the_file(tmp_path):
    (tmp_path / "manifest.yml").write_text(text_of(name="a b"))
    with pytest.raises(ManifestError) as caught:
        envelope_manifest.read(tmp_path)
    assert caught.value.source == str(tmp_path / "manifest.yml")
    assert caught.value.key == "name"


@pytest.mark.parametrize("key", REQUIRED)
def test_a_required_key_that_is_missing_is_named(key):
    assert refused(**{key: None}).key == key


@pytest.mark.parametrize("key", sorted({*RULES} - {"isolation"}))
@pytest.mark.parametrize("value", ["null", "{a: b}", "[[a]]"])
def test_no_key_takes_nothing_or_the_wrong_shape(key, value):
    assert refused(**{key.removeprefix("isolation."): value}).key == key


@pytest.mark.parametrize("value", ["null", "[a]", "none", "7", "true"])
def test_isolation_is_a_mapping(value):
    assert refused(isolation=value).key == "isolation"


@pytest.mark.parametrize(
    "value", ["abc", ".inf", ".nan", "1e400", "0", "0.0", "-5", "true", '"30"', "300.001", "301"]
)
def test_a_timeout_that_is_no_number_within_the_cap_is_refused(value):
    assert refused(timeout_seconds=value).key == "isolation.timeout_seconds"


@pytest.mark.parametrize("value", ["1", "1.9", "0.25", "300", "300.0"])
def test_a_timeout_is_taken_as_it_is_up_to_the_cap(value):
    assert parse(timeout_seconds=value).isolation.timeout_seconds == float(value)


@pytest.mark.parametrize("value", ["abc", "0", "-1", "1.5", "512.0", "true", '"512"', "2049", ".inf"])
def test_memory_that_is_no_whole_number_within_the_cap_is_refused(value):
    assert refused(memory_mb=value).key == "isolation.memory_mb"


@pytest.mark.parametrize("value", [1, 2048])
def test_memory_is_taken_from_one_to_the_cap(value):
    assert parse(memory_mb=value).isolation.memory_mb == value


@pytest.mark.parametrize("value", ['"false"', '"true"', "no", "yes", "0", "1"])
def test_network_is_true_or_false_and_nothing_like_it(value):
    assert refused(network=value).key == "isolation.network"


@pytest.mark.parametrize(
    "value", ["1.0", "1", "true", "''", "' 1'", '"1\\n2"', "2024-01-01", f'"{"1" * (TEXT_LENGTH + 1)}"']
)
def test_a_version_that_is_no_plain_text_is_refused(value):
    assert refused(version=value).key == "version"


def test_a_version_that_yaml_takes_for_a_number_is_to_be_quoted():
    assert "Quote" in refused(version="1.10").remedy


@pytest.mark.parametrize(
    "value", ['"a\\n"', "a b", "''", "12", "../a", "a.b", "ä", '"a\\0"', "a/b", "x" * (NAME_LENGTH + 1)]
)
def test_a_name_outside_of_the_grammar_is_refused(value):
    assert refused(name=value).key == "name"


@pytest.mark.parametrize("value", ["a", "A-b_9", "x" * NAME_LENGTH])
def test_a_name_within_the_grammar_is_taken(value):
    assert parse(name=value).name == value


@pytest.mark.parametrize("value", ["1", '"1"', "'1'"])
def test_the_api_version_is_one_as_text_or_number(value):
    assert parse(api_version=value).api_version == "1"


@pytest.mark.parametrize("value", ["2", "0", "1.0", '"1.0"', "true", '""', "v1"])
def test_another_api_version_is_refused(value):
    assert refused(api_version=value).key == "api_version"


@pytest.mark.parametrize(
    "value",
    [
        ".txt",
        "[txt]",
        "[readme]",
        "[README]",
        "[.]",
        "[.a.]",
        "[.a/b]",
        "['. a ']",
        '[".a\\n"]',
        "[1]",
        "[.a, null]",
        "['']",
    ],
)
def test_extensions_that_end_no_file_name_are_refused(value):
    assert refused(supported_extensions=value).key == "supported_extensions"


@pytest.mark.parametrize("key", ["required_variables", "optional_variables"])
@pytest.mark.parametrize("value", ["operator", "[1]", "['']", "[null]"])
def test_variables_are_lists_of_names(key, value):
    assert refused(**{key: value}).key == key


@pytest.mark.parametrize("value", ["node worker.js", "['']", "[' ']", "[a, 1]", '["a\\0"]'])
def test_a_command_is_a_list_with_a_program(value):
    assert refused(command=value).key == "command"


def test_an_empty_command_means_the_python_worker():
    assert parse(command="[]").command == ()


@pytest.mark.parametrize(("over", "taken"), [(0, True), (1, False)])
def test_lists_and_texts_are_bounded(over, taken):
    lines = {
        "supported_extensions": f"[{', '.join(['.a'] * (LIST_LENGTH + over))}]",
        "description": "x" * (TEXT_LENGTH + over),
    }
    for key, value in lines.items():
        if taken:
            parse(**{key: value})
        else:
            assert refused(**{key: value}).key == key


def test_keys_that_nobody_knows_are_kept_apart():
    assert parse(colour="red", auhtor="Ada", colours="{a: 1}", netwrok="1").unknown == (
        "auhtor",
        "colour",
        "colours",
        "netwrok",
    )
    text = text_of(timeout_seconds=3) + "  timeout: 4\n"
    assert envelope_manifest.parse(text, HERE).unknown == ("isolation.timeout",)


def test_every_flaw_is_found_in_the_order_of_the_keys():
    document = {"name": 7, "isolation": {"network": "no", "memory_mb": 0}, "command": "x"}
    found = [flaw.key for flaw in envelope_manifest.flaws(document, "manifest.yml")]
    assert found == [
        "name", "version", "supported_extensions", "api_version", "isolation.memory_mb", "isolation.network", "command",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("extensions", "path", "matched"),
    [
        ("[.txt]", "a.txt", True),
        ("[.txt]", "sub/dir/A.TXT", True),
        ("[.TXT]", "a.txt", True),
        ("[.txt]", "a.txt.bak", False),
        ("[.txt]", "atxt", False),
        ("[.txt]", "a.txt/b", False),
        ("[.txt]", "a.txt/", False),
        ("[.csv, .txt]", "a.b.txt", True),
        ("[.gz]", "a.tar.gz", True),
        ("[.tar.gz]", "a.tar.gz", True),
        ("[.tar.gz]", "a.gz", False),
        ("[.gitignore]", ".gitignore", True),
        ("[.gitignore]", "sub/.gitignore", True),
        ("[.txt]", "Makefile", False),
        ("[]", "a.txt", False),
        ("[.txt]", "", False),
    ],
)
def test_a_file_matches_by_the_end_of_its_name_in_any_case(extensions, path, matched):
    assert matches(parse(supported_extensions=extensions), path) is matched


def test_the_limits_are_those_of_the_isolation():
    limits = limits_of(parse(timeout_seconds=1.9, memory_mb=64))
    assert (limits.timeout_s, limits.memory_mb, limits.cpu_s, limits.open_files) == (1.9, 64, 4, 256)
    assert limits.terminate_s == 1.0
    assert limits_of(parse(timeout_seconds=0.01)).cpu_s == 1


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([key for key in RULES if "." not in key])
INNER = st.dictionaries(st.sampled_from(["timeout_seconds", "memory_mb", "network", "other"]), VALUES)


@given(st.dictionaries(KEYS, VALUES), st.none() | INNER)
def test_any_document_is_a_manifest_or_a_manifest_error(document, isolation):
    if isolation is not None:
        document["isolation"] = isolation
    try:
        manifest = envelope_manifest.of_document(document, HERE, "manifest.yml")
    except ManifestError as error:
        assert error.key.partition(".")[0] in RULES  # noqa: PT017  most are refused, some need not be
    else:
        assert 0 < limits_of(manifest).timeout_s <= 300
