"""A plugin's settings: what is given, what is spelled, what is left out, and what is refused."""

from pathlib import Path

import pytest

from plughost.errors import ManifestError
from plughost.manifest import duplex_config
from plughost.manifest.duplex_manifest import ConfigEntry, DuplexManifest


def manifest(*entries):
    return DuplexManifest("burndown", "2.0.0", 2, Path("/plugins/burndown"), config=entries)


def entry(kind, default="", choices=()):
    return ConfigEntry("key", kind, "Label", default, choices)


COLOURS = ("red", "green")


def test_a_manifest_that_declares_nothing_takes_what_it_is_given():
    assert duplex_config.resolve(manifest(), None) is None
    assert duplex_config.resolve(manifest(), {}) is None
    assert duplex_config.resolve(manifest(), {"any": [1, {"deep": None}]}) == {"any": [1, {"deep": None}]}


def test_what_is_not_given_has_its_default_and_order_is_the_manifests():
    entries = (
        ConfigEntry("path", "path", "", "~/logs"),
        ConfigEntry("on", "bool", "", "yes"),
        ConfigEntry("many", "int", "", "7"),
        ConfigEntry("colour", "enum", "", "green", COLOURS),
    )
    assert list(duplex_config.resolve(manifest(*entries), {"many": 8}).items()) == [
        ("path", "~/logs"),
        ("on", True),
        ("many", 8),
        ("colour", "green"),
    ]


@pytest.mark.parametrize(
    ("kind", "said", "found"),
    [
        ("bool", True, True),
        ("bool", " YES ", True),
        ("bool", "1", True),
        ("bool", "off", False),
        ("bool", "", False),
        ("int", 5, 5),
        ("int", -5, -5),
        ("int", "-5", -5),
        ("int", "007", 7),
        ("int", "", 0),
        ("string", "", ""),
        ("string", "\u0000ü", "\u0000ü"),
        ("path", "/x", "/x"),
        ("enum", "red", "red"),
        ("enum", "", "red"),
    ],
    ids=lambda value: ascii(value),
)
def test_a_value_or_its_spelling_is_taken(kind, said, found):
    came = duplex_config.resolve(manifest(entry(kind, choices=COLOURS)), {"key": said})["key"]
    assert (came, type(came)) == (found, type(found))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bool", 1),
        ("bool", "maybe"),
        ("bool", None),
        ("int", True),
        ("int", 5.0),
        ("int", "5.0"),
        ("int", "1_000"),
        ("int", " 5 "),
        ("int", "٣"),
        ("int", "+5"),
        ("int", "9" * 5000),
        ("int", None),
        ("int", [1]),
        ("string", 5),
        ("string", None),
        ("path", b"/x"),
        ("enum", "blue"),
        ("enum", "RED"),
        ("enum", 5),
        ("enum", []),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_a_value_of_another_kind_is_refused_by_its_key(kind, said):
    with pytest.raises(ManifestError) as caught:
        duplex_config.resolve(manifest(entry(kind, choices=COLOURS)), {"key": said})
    assert caught.value.key == "config.key"


def test_a_default_of_another_kind_is_refused_too():
    with pytest.raises(ManifestError) as caught:
        duplex_config.resolve(manifest(entry("int", default="many")), None)
    assert caught.value.key == "config.key"


def test_a_setting_that_is_not_declared_is_refused():
    with pytest.raises(ManifestError) as caught:
        duplex_config.resolve(manifest(entry("string")), {"key": "x", "keys": "y"})
    assert (caught.value.key, "keys" in caught.value.problem) == ("config", True)
