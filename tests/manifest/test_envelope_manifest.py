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
        validates=False,
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


LENIENT = {
    "isolation",
    "isolation.network",
    "author",
    "description",
    "required_variables",
    "optional_variables",
}


@pytest.mark.parametrize("key", sorted({*RULES} - LENIENT))
@pytest.mark.parametrize("value", ["null", "{a: b}", "[[a]]"])
def test_no_key_takes_nothing_or_the_wrong_shape(key, value):
    assert refused(**{key.removeprefix("isolation."): value}).key == key


@pytest.mark.parametrize("value", ["[a]", "none", "7", "true"])
def test_isolation_is_a_mapping(value):
    assert refused(isolation=value).key == "isolation"


@pytest.mark.parametrize(
    "value", ["abc", ".inf", ".nan", "1e400", "0", "0.0", "-5", "true", "300.001", "301"]
)
def test_a_timeout_that_is_no_number_within_the_cap_is_refused(value):
    assert refused(timeout_seconds=value).key == "isolation.timeout_seconds"


@pytest.mark.parametrize("value", ["1", "1.9", "0.25", "300", "300.0"])
def test_a_timeout_is_taken_as_it_is_up_to_the_cap(value):
    assert parse(timeout_seconds=value).isolation.timeout_seconds == float(value)


@pytest.mark.parametrize("value", ["abc", "0", "-1", "0.5", "true", '"2049"', "2049", ".inf"])
def test_memory_that_is_no_whole_number_within_the_cap_is_refused(value):
    assert refused(memory_mb=value).key == "isolation.memory_mb"


@pytest.mark.parametrize("value", [1, 2048])
def test_memory_is_taken_from_one_to_the_cap(value):
    assert parse(memory_mb=value).isolation.memory_mb == value


@pytest.mark.parametrize("value", ["maybe", "2", "-1", '""', "{a: b}", "[[a]]"])
def test_network_is_true_or_false(value):
    assert refused(network=value).key == "isolation.network"


@pytest.mark.parametrize("value", ["true", "''", "' 1'", '"1\\n2"', f'"{"1" * (TEXT_LENGTH + 1)}"'])
def test_a_version_that_is_no_plain_text_is_refused(value):
    assert refused(version=value).key == "version"


# What other hosts of the contract load, what is taken of it, and which key the remark is about.
ODD = [
    ({"version": "1.10"}, "version", "1.1", "version"),
    ({"version": "2"}, "version", "2", "version"),
    ({"author": "null"}, "author", "", "author"),
    ({"description": "12"}, "description", "12", "description"),
    ({"required_variables": "operator"}, "required_variables", (), "required_variables"),
    (
        {"required_variables": "[operator, 7, null]"},
        "required_variables",
        ("operator",),
        "required_variables",
    ),
    ({"optional_variables": "null"}, "optional_variables", (), "optional_variables"),
    ({"supported_extensions": "[csv]"}, "supported_extensions", ("csv",), "supported_extensions"),
    ({"supported_extensions": "[readme]"}, "supported_extensions", ("readme",), "supported_extensions"),
    ({"isolation": "null"}, "isolation", Isolation(), "isolation"),
    ({"timeout_seconds": '"20"'}, "isolation", Isolation(20.0), "isolation.timeout_seconds"),
    ({"timeout_seconds": "1_0"}, "isolation", Isolation(10.0), "isolation.timeout_seconds"),
    ({"memory_mb": "1_024"}, "isolation", Isolation(memory_mb=1024), "isolation.memory_mb"),
    ({"memory_mb": "64.5"}, "isolation", Isolation(memory_mb=64), "isolation.memory_mb"),
    ({"network": "yes"}, "isolation", Isolation(network=True), "isolation.network"),
    ({"network": '"false"'}, "isolation", Isolation(), "isolation.network"),
    ({"network": "0"}, "isolation", Isolation(), "isolation.network"),
    ({"network": "null"}, "isolation", Isolation(), "isolation.network"),
]


@pytest.mark.requirement("envelope:manifest:lenient")
@pytest.mark.parametrize(("lines", "key", "taken", "about"), ODD)
def test_an_odd_value_with_one_meaning_is_taken_with_a_remark(lines, key, taken, about):
    manifest = parse(**lines)
    assert getattr(manifest, key) == taken
    assert [remark.key for remark in manifest.remarks] == [about]


def test_a_date_is_a_text_whether_it_is_quoted_or_not():
    """Other readers make a date of it, and the same text of that."""
    assert parse(version="2024-01-01", released="2024-05-01").version == "2024-01-01"


def test_a_plain_manifest_has_no_remarks():
    assert parse(supported_extensions="[.txt, '']", network="true").remarks == ()


@pytest.mark.parametrize("value", ["HOME", "[1]", "['A B']", "['*']", "['A=1']", "['A**']"])
def test_the_environment_is_a_list_of_names(value):
    assert refused(environment=value).key == "environment"


@pytest.mark.requirement("envelope:reply:reports")
def test_lenience_with_replies_is_a_flag_that_is_not_set_by_itself():
    assert parse().lenient is False
    assert parse(lenient="true").lenient is True
    assert refused(lenient="maybe").key == "lenient"


def test_variables_of_the_environment_come_through():
    assert parse(environment="[HOME, EXLAB_*]").environment == ("HOME", "EXLAB_*")


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
        '[".a\\0"]',
        "[1]",
        "[.a, null]",
    ],
)
def test_extensions_are_a_list_of_texts(value):
    assert refused(supported_extensions=value).key == "supported_extensions"


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
    document = {"name": 7, "isolation": {"network": "maybe", "memory_mb": 0}, "command": "x"}
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
