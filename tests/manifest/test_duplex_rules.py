"""The rules of a manifest's single values: names that cannot escape, and versions by the letter of their grammar."""

import os

import pytest

from plughost.manifest import duplex_rules as rules
from plughost.manifest.duplex_rules import NAME_LENGTH, RESERVED, TEXT_LENGTH

ESCAPES = [
    "..",
    ".",
    "/bin/sh",
    "../burndown",
    "a/b",
    "a/../../b",
    "a/",
    "/",
    "~",
    "~root",
    ".hidden",
    "a.",
    "-",
    "-x",
    "a-",
    "a\\b",
    "$HOME",
    "`id`",
    "*",
    "a;b",
    "a:b",
    "%2e%2e",
]
UNSEEN = [
    "",
    " ",
    " a",
    "a ",
    "a b",
    "a\n",
    "a\0b",
    "a\x1b[2J",
    "burndown\u200b",
    "a\u0301",
    "\uff41",
    "\u202ea",
]
TAKEN = [*RESERVED, "HOST", "Host", "Manifest.TOML"]


@pytest.mark.parametrize("name", [*ESCAPES, *UNSEEN, *TAKEN, "x" * (NAME_LENGTH + 1), None, 1, True, ["a"]])
def test_what_is_no_safe_name_is_refused(name):
    problem, remedy = rules.name(name)
    assert problem.isprintable()
    assert remedy


@pytest.mark.parametrize(
    "name", ["a", "_", "0", "session-reader", "cts-a01", "a.b", "a..b", "A_1", "hosts", "x" * NAME_LENGTH]
)
def test_a_plain_name_is_one_component_of_a_path(name):
    assert rules.name(name) is None
    assert os.path.normpath(f"/plugins/{name}/{name}") == f"/plugins/{name}/{name}"


VERSIONS = [
    "0.0.0",
    "1.2.3",
    "10.20.30",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-0.3.7",
    "1.0.0-x.7.z.92",
    "1.0.0-alpha+001",
    "1.0.0+20130313144700",
    "1.0.0-beta+exp.sha.5114f85",
    "1.0.0+21AF26D3---117B344092BD",
    "1.0.0-0A.is.legal",
    "1.0.0--",
    "1.2.3-----R-S.12.9.1--.12",
    "99999999999999999999999.0.0",
    "1.0.0-01a",
    "1.0.0-0",
    "1.0.0+0.01",
]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_semantic_version_is_accepted(version):
    assert rules.version(version) is None


NO_VERSIONS = [
    "1",
    "1.2",
    "1.2.3.4",
    "v1.2.3",
    "01.2.3",
    "1.02.3",
    "1.2.03",
    "00.0.0",
    "-1.0.0",
    "1.2.x",
    "1..3",
    "1.2.",
    ".1.2",
    "1.2.3-",
    "1.2.3+",
    "1.2.3-a..b",
    "1.2.3-01",
    "1.2.3-a.01",
    "1.2.3-.a",
    "1.2.3+a+b",
    "1.2.3-a_b",
    "1.2.3+a..b",
    "1.2.3-+b",
    "١.٢.٣",
    "1.2.3-é",
    "latest",
    "+1.2.3",
    "1.2.3,4",
]


@pytest.mark.parametrize(
    "version",
    [
        *NO_VERSIONS,
        "",
        " 1.2.3",
        "1.2.3 ",
        "1.2.3\n",
        "1.2.3\0",
        None,
        1.0,
        1,
    ],
)
def test_what_is_no_semantic_version_is_refused(version):
    problem, remedy = rules.version(version)
    assert problem.isprintable()
    assert remedy


def test_a_version_is_as_long_as_a_text_may_be_and_no_longer():
    assert rules.version("1.0.0-".ljust(TEXT_LENGTH, "a")) is None
    assert rules.version("1.0.0-".ljust(TEXT_LENGTH + 1, "a")) is not None


@pytest.mark.parametrize("filler", ["0", "a", "0a", "a.", "-", "0-"])
def test_a_version_that_is_wrong_only_at_its_end_is_refused_without_trying_every_reading(filler):
    # Alternatives that overlap would take longer than any timeout for this one.
    assert rules.version(f"1.0.0-{filler * 500}!") is not None


@pytest.mark.parametrize(
    "host", ["localhost", "api.example.org", "127.0.0.1", "::1", "[::1]", "bücher.example"]
)
def test_a_host_name_or_an_address_may_stand_in_the_network_list(host):
    assert rules.network([host]) is None


@pytest.mark.parametrize("value", [None, b"x", object(), (), {1}])
def test_a_value_that_no_file_could_hold_is_refused_too(value):
    for rule in (rules.name, rules.version, rules.abi_version, rules.grant, rules.network, rules.text):
        assert rule(value) is not None
    for rule in (rules.boolean, rules.seconds, rules.word_of("a"), rules.list_of(rules.text)):
        assert rule(value) is not None
