"""`manifest.toml` to a value: what it says, what it leaves out, and each key wrong in its turn."""

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.capabilities.grants import Capability
from plughost.errors import ManifestError
from plughost.manifest import duplex_manifest
from plughost.manifest.duplex_manifest import (
    CAPABILITIES,
    CONFIG,
    TABLES,
    Capabilities,
    ConfigEntry,
    DuplexManifest,
    Lifecycle,
    Provides,
    Subscribes,
)
from plughost.manifest.duplex_rules import LIST_LENGTH, TEXT_LENGTH

HERE = Path("/plugins/burndown")
LEAST = {"name": '"burndown"', "version": '"2.0.0"', "abi_version": "2"}
WHOLE = """
[plugin]
name = "burndown"
version = "2.1.0-rc.1+build.7"
abi_version = 2
description = "what was used"
[capabilities]
read_sessions = true
write_plugin_data = true
event_bus = ["sessions.*"]
network = ["api.example.org"]
spawn_subprocess = false
read_claude_logs = true
read_codex_logs = []
[provides]
screens = ["burndown"]
commands = ["Show burndown"]
cli_namespaces = ["usage"]
snapshots = ["burndown.state"]
[subscribes]
snapshots = ["sessions.usage", "ui.state"]
latest_state = ["ui.state"]
[lifecycle]
spawn = "eager"
idle_reap_secs = 0
exit_zero_is_crash = false
[[config]]
key = "theme"
kind = "enum"
label = "Theme"
default = "dark"
choices = ["dark", "light"]
[[config]]
key = "log_dir"
kind = "path"
label = "Logs"
"""


def text_of(rest="", **plugin):
    lines = {**LEAST, **plugin}
    head = "".join(f"{key} = {value}\n" for key, value in lines.items() if value is not None)
    return f"[plugin]\n{head}{rest}\n"


def parse(rest="", directory=HERE, **plugin):
    return duplex_manifest.parse(text_of(rest, **plugin), directory)


def refused(text, directory=HERE):
    with pytest.raises(ManifestError) as caught:
        duplex_manifest.parse(text, directory)
    assert caught.value.problem
    assert caught.value.remedy
    assert caught.value.source == "manifest.toml"
    return caught.value


@pytest.mark.requirement("duplex:manifest:schema")
def test_three_keys_are_enough():
    assert parse() == DuplexManifest("burndown", "2.0.0", 2, HERE)
    assert parse().lifecycle == Lifecycle("lazy", 600, True)
    assert parse().capabilities.granted() == ()
    assert parse().file == HERE / "manifest.toml"


def test_empty_tables_are_the_same_as_none():
    empty = "[capabilities]\n[provides]\n[subscribes]\n[lifecycle]\n"
    assert parse(empty) == parse()
    assert duplex_manifest.parse(f"config = []\n{text_of()}", HERE) == parse()


def test_every_key_comes_through():
    assert duplex_manifest.parse(WHOLE, HERE) == DuplexManifest(
        name="burndown",
        version="2.1.0-rc.1+build.7",
        abi_version=2,
        directory=HERE,
        description="what was used",
        capabilities=Capabilities(
            read_sessions=True,
            write_plugin_data=True,
            event_bus=("sessions.*",),
            network=("api.example.org",),
            spawn_subprocess=False,
            read_claude_logs=True,
            read_codex_logs=(),
        ),
        provides=Provides(("burndown",), ("Show burndown",), ("usage",), ("burndown.state",)),
        subscribes=Subscribes(("sessions.usage", "ui.state"), ("ui.state",)),
        lifecycle=Lifecycle("eager", 0, False),
        config=(
            ConfigEntry("theme", "enum", "Theme", "dark", ("dark", "light")),
            ConfigEntry("log_dir", "path", "Logs"),
        ),
    )


def test_the_whole_manifest_of_these_tests_spells_every_key_there_is():
    # So that the test above cannot forget one.
    lines = {line.partition(" =")[0] for line in WHOLE.splitlines()}
    known = {key for keys in TABLES.values() for key in keys} | set(CONFIG)
    assert known <= lines


def test_granted_capabilities_are_listed_in_the_order_of_the_contract():
    manifest = duplex_manifest.parse(WHOLE, HERE)
    assert manifest.capabilities.granted() == (
        "read_sessions",
        "write_plugin_data",
        "event_bus",
        "network",
        "read_claude_logs",
    )
    assert tuple(each.name for each in fields(Capabilities)) == CAPABILITIES
    assert CAPABILITIES == (
        "read_sessions",
        "write_plugin_data",
        "event_bus",
        "network",
        "spawn_subprocess",
        "read_claude_logs",
        "read_codex_logs",
    )


@pytest.mark.parametrize("name", CAPABILITIES)
@pytest.mark.parametrize(
    ("spelled", "grant"), [("true", True), ("false", False), ("[]", ()), ('["a", "b"]', ("a", "b"))]
)
def test_every_capability_takes_a_switch_or_a_list(name, spelled, grant):
    capabilities = parse(f"[capabilities]\n{name} = {spelled}").capabilities
    assert capabilities == Capabilities(**{name: grant})
    assert capabilities.grants().given == {each: grant if each == name else False for each in Capability}
    assert capabilities.granted() == ((name,) if grant else ())


def test_unknown_keys_and_tables_are_noted_and_change_nothing():
    rest = (
        'homepage = "x"\n[capabilities]\nread_paths = ["/etc"]\n"secrets:read" = true\n[lifecycle]\nnice = 3\n'
        '[extra]\nname = 1\n[[config]]\nkey = "k"\nkind = "int"\nlabel = ""\nminimum = 1\n'
    )
    manifest = parse(rest)
    assert manifest.unknown == (
        "plugin.homepage",
        "capabilities.read_paths",
        "capabilities.secrets:read",
        "lifecycle.nice",
        "extra",
        "config[0].minimum",
    )
    assert manifest.capabilities == Capabilities()
    assert parse().unknown == ()
    assert manifest == parse('[[config]]\nkey = "k"\nkind = "int"\nlabel = ""')


def test_a_file_is_read_from_its_directory(tmp_path, monkeypatch):
    directory = tmp_path / "burndown"
    (directory / "inner").mkdir(parents=True)
    (directory / "manifest.toml").write_text(text_of())
    for here, path in ((directory, "."), (directory / "inner", ".."), (tmp_path, "burndown")):
        monkeypatch.chdir(here)
        assert duplex_manifest.read(Path(path)).directory == directory


@pytest.mark.requirement("duplex:manifest:schema")
def test_an_error_names_the_file_and_the_key(tmp_path):
    directory = tmp_path / "burndown"
    directory.mkdir()
    (directory / "manifest.toml").write_text(text_of(version='"2"'))
    with pytest.raises(ManifestError) as caught:
        duplex_manifest.read(directory)
    assert caught.value.source == str(directory / "manifest.toml")
    assert caught.value.key == "plugin.version"


CONFIG_ENTRY = {"key": '"k"', "kind": '"string"', "label": '"K"'}


def config(**changes):
    lines = {**CONFIG_ENTRY, **changes}
    return "[[config]]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items() if value is not None)


def _lists():
    """Yield each key that is a list of texts, with each kind of value that is none."""
    keys = [
        *(f"provides.{key}" for key in TABLES["provides"]),
        "subscribes.snapshots",
        "subscribes.latest_state",
    ]
    for key in keys:
        for value in (
            '"usage"',
            "true",
            "1",
            "[1]",
            '["a", 2]',
            '[["a"]]',
            '[""]',
            '[" a"]',
            '["a\\n"]',
            "{}",
        ):
            yield key, value


def _grants():
    for name in CAPABILITIES:
        for value in ('"true"', "1", "1.0", "[1]", '["a", true]', "{ hosts = [] }", '[""]', "2024-01-01"):
            yield f"capabilities.{name}", value


WRONG = [
    *_lists(),
    *_grants(),
    ("provides.cli_namespaces", '["-x"]'),
    ("provides.cli_namespaces", '["two words"]'),
    ("capabilities.network", '["https://api.example.org"]'),
    ("capabilities.network", '["api.example.org:443"]'),
    ("capabilities.network", '["user@api.example.org"]'),
    ("capabilities.network", '["*.example.org"]'),
    ("capabilities.network", '["a.example/path"]'),
    ("capabilities.network", '["256.1.1.1"]'),
    ("subscribes.latest_state", '["unsubscribed"]'),
    ("lifecycle.spawn", '"Lazy"'),
    ("lifecycle.spawn", '"on-demand"'),
    ("lifecycle.spawn", '""'),
    ("lifecycle.spawn", "true"),
    ("lifecycle.spawn", '["lazy"]'),
    ("lifecycle.idle_reap_secs", "-1"),
    ("lifecycle.idle_reap_secs", str(2**32)),
    ("lifecycle.idle_reap_secs", "1" * 100),
    ("lifecycle.idle_reap_secs", "600.0"),
    ("lifecycle.idle_reap_secs", '"600"'),
    ("lifecycle.idle_reap_secs", "true"),
    ("lifecycle.idle_reap_secs", "inf"),
    ("lifecycle.exit_zero_is_crash", "0"),
    ("lifecycle.exit_zero_is_crash", '"false"'),
]


@pytest.mark.parametrize(("key", "value"), WRONG, ids=[f"{key}={value[:30]}" for key, value in WRONG])
def test_each_key_of_a_table_is_refused_by_its_name(key, value):
    table, _, name = key.partition(".")
    assert refused(text_of(f"[{table}]\n{name} = {value}")).key == key


WRONG_PLUGIN = [
    *((key, value) for key in ("name", "version") for value in (None, "1", "true", '""', '["a"]', "{}")),
    *(
        ("abi_version", value)
        for value in (None, "1", "3", "0", "-2", "2.0", '"2"', "true", "[2]", "2" * 5000, "2" * 4000)
    ),
    *(("description", value) for value in ("1", "false", "[]", "{}", "2024-01-01T00:00:00Z", "08:00:00")),
    ("description", f'"{"x" * (TEXT_LENGTH + 1)}"'),
]


@pytest.mark.parametrize(
    ("key", "value"), WRONG_PLUGIN, ids=[f"{key}={str(value)[:20]}" for key, value in WRONG_PLUGIN]
)
def test_each_key_of_the_plugin_itself_is_refused_by_its_name(key, value):
    error = refused(text_of(**{key: value}))
    # A number of more digits than Python reads is refused with the whole text, before any key is known.
    assert error.key == ("" if value is not None and len(value) == 5000 else f"plugin.{key}")


WRONG_CONFIG = [
    *((key, value) for key in ("key", "kind", "label") for value in (None, "1", "true", '["a"]')),
    ("key", '""'),
    ("key", '" k"'),
    ("kind", '"text"'),
    ("kind", '"Int"'),
    ("default", "5"),
    ("default", "true"),
    ("choices", '"a"'),
    ("choices", "[1]"),
    ("choices", '[""]'),
]


@pytest.mark.parametrize(
    ("key", "value"), WRONG_CONFIG, ids=[f"{key}={value}" for key, value in WRONG_CONFIG]
)
def test_each_key_of_a_config_entry_is_refused_by_its_place(key, value):
    text = text_of(config(key='"first"') + config(**{key: value}))
    assert refused(text).key == f"config[1].{key}"


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("choices", {"kind": '"enum"'}),
        ("choices", {"kind": '"enum"', "choices": "[]"}),
        ("default", {"kind": '"enum"', "choices": '["a"]', "default": '"b"'}),
        ("default", {"kind": '"bool"', "default": '"yes"'}),
        ("default", {"kind": '"int"', "default": '"1.5"'}),
        ("default", {"kind": '"int"', "default": '"٣"'}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_setting_that_contradicts_its_kind_is_refused(key, changes):
    assert refused(text_of(config(**changes))).key == f"config[0].{key}"


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": '"enum"', "choices": '["a"]', "default": '"a"'},
        {"kind": '"enum"', "choices": '["a"]', "default": '""'},
        {"kind": '"bool"', "default": '"false"'},
        {"kind": '"int"', "default": '"-12"'},
        {"kind": '"path"', "default": '"~/logs"'},
        {"kind": '"string"', "default": '"true"', "choices": '["a"]'},
    ],
    ids=lambda changes: changes["kind"] + changes["default"],
)
def test_a_setting_whose_default_is_of_its_kind_is_accepted(changes):
    assert parse(config(**changes)).config[0].kind == changes["kind"].strip('"')


def test_two_settings_of_one_key_are_refused():
    assert refused(text_of(config() + config())).key == "config[1].key"


@pytest.mark.parametrize("table", [*TABLES, "config"])
@pytest.mark.parametrize("value", ["1", '"x"', "true", "[1]", "2024-01-01"])
def test_a_table_that_is_none_is_refused_by_its_name(table, value):
    rest = "" if table == "plugin" else text_of()
    error = refused(f"{table} = {value}\n{rest}")
    assert error.key == ("config[0]" if (table, value) == ("config", "[1]") else table)


def test_a_table_in_a_list_is_no_table():
    assert refused('[[plugin]]\nname = "burndown"').key == "plugin"
    assert refused(f"{text_of()}[config]\nkey = 1").key == "config"


def test_nothing_at_all_lacks_its_first_key():
    assert refused("").key == refused("[other]\nname = 1").key == "plugin.name"


@pytest.mark.parametrize("name", ["..", "/bin/sh", "../burndown", "a/b", "host", "manifest.toml", ".x"])
def test_a_name_that_escapes_or_is_taken_is_refused_even_if_its_directory_has_it(name):
    assert refused(text_of(name=f'"{name}"'), HERE.parent / name).key == "plugin.name"


@pytest.mark.parametrize("directory", ["Burndown", "burndown2", "burn", "burndown.old"])
def test_a_name_that_is_not_the_directorys_is_refused(directory):
    assert refused(text_of(), HERE.parent / directory).key == "plugin.name"


@pytest.mark.parametrize("seconds", [0, 1, 2**32 - 2, 2**32 - 1])
def test_idle_seconds_fill_32_bits(seconds):
    assert parse(f"[lifecycle]\nidle_reap_secs = {seconds}").lifecycle.idle_reap_secs == seconds


@pytest.mark.parametrize("key", ["provides.screens", "capabilities.network", "subscribes.snapshots"])
def test_a_list_is_as_long_as_it_may_be_and_no_longer(key):
    table, _, name = key.partition(".")

    def text(count):
        return text_of(f"[{table}]\n{name} = {[f'e{index}' for index in range(count)]}")

    manifest = duplex_manifest.parse(text(LIST_LENGTH), HERE)
    assert len(getattr(getattr(manifest, table), name)) == LIST_LENGTH
    assert refused(text(LIST_LENGTH + 1)).key == key


def test_there_are_as_many_settings_as_there_may_be_and_no_more():
    def text(count):
        return text_of("".join(config(key=f'"k{index}"') for index in range(count)))

    assert len(duplex_manifest.parse(text(LIST_LENGTH), HERE).config) == LIST_LENGTH
    assert refused(text(LIST_LENGTH + 1)).key == "config"


def test_a_text_is_as_long_as_it_may_be_and_no_longer():
    assert len(parse(description=f'"{"x" * TEXT_LENGTH}"').description) == TEXT_LENGTH
    assert refused(text_of(f'[provides]\nscreens = ["{"x" * (TEXT_LENGTH + 1)}"]')).key == "provides.screens"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[plugin",
        'name: "yaml"',
        '{"plugin": {"name": "json"}}',
        "a = " + "[" * 100_000,
        "a" + ".a" * 5_000 + " =",
        "[plugin]\nname = 'a'\nname = 'b'",
        "[plugin]\n[plugin]",
        "plugin = 1\n[plugin]",
        'a = "\\ud800"',
        "a = 'x\0y'",
        "\x00",
        "a = " + "1" * 10_000,
    ],
    ids=lambda text: repr(text[:16]),
)
def test_what_is_no_toml_is_refused_as_a_whole(text):
    assert refused(text).key == ""


def test_a_file_that_is_not_utf8_or_no_file_is_refused(tmp_path):
    directory = tmp_path / "burndown"
    directory.mkdir()
    for put in (
        lambda path: path.write_bytes(b"[plugin]\nname = '\xff'"),
        lambda path: path.write_bytes(b"#" * 1_048_577),
        lambda path: path.mkdir(),
        os.mkfifo,
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to(path),
    ):
        put(directory / "manifest.toml")
        with pytest.raises(ManifestError) as caught:
            duplex_manifest.read(directory)
        assert caught.value.source == str(directory / "manifest.toml")
        (directory / "manifest.toml").rename(tmp_path / "used")
        if not (tmp_path / "used").is_symlink() and (tmp_path / "used").is_dir():
            (tmp_path / "used").rmdir()
        else:
            (tmp_path / "used").unlink()
    with pytest.raises(ManifestError):
        duplex_manifest.read(tmp_path / "nul\0")


def test_every_flaw_is_found_at_once_in_the_order_of_the_keys():
    document = {
        "plugin": {"name": "..", "version": "1", "abi_version": True},
        "capabilities": {"network": "x"},
        "provides": [],
        "subscribes": {"snapshots": 5, "latest_state": ["a"]},
        "lifecycle": {"spawn": "now", "idle_reap_secs": -1},
        "config": [{"key": "a", "kind": "b"}],
    }
    assert [flaw.key for flaw in duplex_manifest.flaws(document, "burndown", "m")] == [
        "plugin.name",
        "plugin.version",
        "plugin.abi_version",
        "capabilities.network",
        "provides",
        "subscribes.snapshots",
        "lifecycle.spawn",
        "lifecycle.idle_reap_secs",
        "config[0].kind",
        "config[0].label",
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=25)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*TABLES, "config", "other"], VALUES)))
def test_whatever_the_tables_hold_there_is_a_manifest_exactly_if_there_is_no_flaw(tables):
    document = {"plugin": {"name": "burndown", "version": "1.0.0", "abi_version": 2}, **tables}
    found = [flaw.key for flaw in duplex_manifest.flaws(document, "burndown", "m")]
    assert {re.split(r"[.[]", key)[0] for key in found} <= {*TABLES, "config"}
    if found:
        with pytest.raises(ManifestError) as caught:
            duplex_manifest.of_document(document, HERE, "m")
        assert caught.value.key == found[0]
    else:
        assert duplex_manifest.of_document(document, HERE, "m").name == "burndown"


@settings(max_examples=25)
@given(data=st.data())
def test_any_value_in_any_one_key_is_accepted_or_refused_by_that_key(data):
    table = data.draw(st.sampled_from(list(TABLES)))
    key = data.draw(st.sampled_from(list(TABLES[table])))
    document = {"plugin": {"name": "burndown", "version": "1.0.0", "abi_version": 2}}
    document[table] = {**document.get(table, {}), key: data.draw(VALUES)}
    found = [flaw.key for flaw in duplex_manifest.flaws(document, "burndown", "m")]
    assert found in ([], [f"{table}.{key}"])
