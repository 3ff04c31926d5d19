"""The binding: its defaults, and everything it refuses before anything is started."""

from pathlib import Path

import pytest

from plughost.errors import ManifestError
from plughost.manifest import binding
from plughost.manifest.binding import CONTRACTS, Environment, ExecuteOptions, Limits
from plughost.manifest.duplex_limits import DuplexLimits

HERE = Path("/plugins/greeter")
PLUGIN = {"name": '"greeter"', "contract": '"execute"', "command": '["python", "greeter.py"]'}


def plugin_table(**changes):
    fields = {key: value for key, value in {**PLUGIN, **changes}.items() if value is not None}
    return "[plugin]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items())


def parse(text):
    return binding.parse(text, HERE, "plugin.toml")


def refusal(text):
    with pytest.raises(ManifestError) as caught:
        parse(text)
    return caught.value


def test_a_name_a_contract_and_a_command_are_enough_and_the_rest_has_its_defaults():
    bound = parse(plugin_table())
    assert (bound.name, bound.contract, bound.command) == ("greeter", "execute", ("python", "greeter.py"))
    assert (bound.directory, bound.cwd, bound.source) == (HERE, HERE, "plugin.toml")
    assert (bound.description, bound.allow, bound.survivors) == ("", (), "end")
    assert bound.environment == Environment(inherit=("PATH", "LANG", "LC_ALL", "TZ"), set={})
    assert bound.execute == ExecuteOptions(spares=0, strict=False)


def test_the_limits_are_those_of_the_contract_by_default():
    limits = parse(plugin_table()).limits
    assert (limits.timeout_s, limits.launch_s, limits.handshake_s) == (5.0, 2.0, 2.0)
    assert (limits.teardown_s, limits.terminate_s, limits.reap_s) == (0.5, 0.5, 2.0)
    assert (limits.line_bytes, limits.stderr_bytes) == (1_048_576, 65_536)
    kernel = (limits.memory_mb, limits.cpu_s, limits.open_files, limits.processes, limits.file_mb)
    assert kernel == (None,) * 5


def test_everything_can_be_said():
    bound = parse(
        plugin_table(cwd='"data"', description='"Greets."', survivors='"allow"')
        + """
        [capabilities]
        allow = ["read", "write"]
        [environment]
        pass = ["HOME"]
        set = { MODE = "test", EMPTY = "" }
        [limits]
        timeout_s = 30
        line_bytes = 100
        memory_mb = 256
        [execute]
        spares = 2
        strict = true
        """
    )
    assert (bound.cwd, bound.description, bound.survivors) == (HERE / "data", "Greets.", "allow")
    assert bound.allow == ("read", "write")
    assert bound.environment == Environment(inherit=("HOME",), set={"MODE": "test", "EMPTY": ""})
    assert bound.limits == Limits(timeout_s=30.0, line_bytes=100, memory_mb=256)
    assert bound.execute == ExecuteOptions(spares=2, strict=True)


def test_an_absolute_working_directory_stays_where_it_is():
    assert parse(plugin_table(cwd='"/srv"')).cwd == Path("/srv")


@pytest.mark.parametrize("contract", [each for each in CONTRACTS if each != "duplex"])
def test_every_contract_can_be_bound(contract):
    assert parse(plugin_table(contract=f'"{contract}"')).contract == contract


def test_a_duplex_plugin_is_bound_by_its_own_manifest_or_as_a_bare_command():
    with pytest.raises(ManifestError) as raised:
        parse(plugin_table(contract='"duplex"'))
    assert raised.value.key == "plugin.contract"
    assert "manifest.toml" in raised.value.remedy
    bare = binding.of_command("duplex", ["./plugin"])
    assert (bare.contract, bare.limits) == ("duplex", DuplexLimits())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", None),
        ("name", '""'),
        ("name", '"  "'),
        ("name", '" greeter"'),
        ("name", '"greeter "'),
        ("name", "5"),
        ("contract", None),
        ("contract", '""'),
        ("contract", '"Execute"'),
        ("contract", '"rpc"'),
        ("contract", '["execute"]'),
        ("command", None),
        ("command", "[]"),
        ("command", '[""]'),
        ("command", '["  ", "x"]'),
        ("command", '"python greeter.py"'),
        ("command", '["python", "a\\u0000b"]'),
        ("cwd", "5"),
        ("cwd", '"a\\u0000b"'),
        ("description", "5"),
        ("survivors", '"kill"'),
        ("survivors", "true"),
        ("nmae", '"greeter"'),
    ],
)
def test_a_wrong_key_of_the_plugin_table_is_named(key, value):
    error = refusal(plugin_table(**{key: value}))
    assert (error.source, error.key) == ("plugin.toml", f"plugin.{key}")


def test_a_word_of_the_command_that_is_no_string_is_named():
    assert refusal(plugin_table(command='["python", 5]')).key == "plugin.command[1]"


SECONDS = ["timeout_s", "launch_s", "handshake_s", "teardown_s", "terminate_s", "reap_s"]
COUNTS = ["line_bytes", "stderr_bytes", "memory_mb", "cpu_s", "open_files", "processes", "file_mb"]


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        *(
            ("limits", key, bad)
            for key in SECONDS
            for bad in ("0", "-1", "86401", "nan", "inf", "-inf", '"5"', "true")
        ),
        *(("limits", key, bad) for key in COUNTS for bad in ("0", "-1", "2147483649", "1.5", '"5"', "true")),
        ("limits", "timeout", "5"),
        ("execute", "spares", "-1"),
        ("execute", "spares", "65"),
        ("execute", "spares", "1.5"),
        ("execute", "spares", "true"),
        ("execute", "strict", "1"),
        ("execute", "strict", '"yes"'),
        ("execute", "spare", "1"),
        ("capabilities", "allow", '"read"'),
        ("capabilities", "allow", '[""]'),
        ("capabilities", "allow", '["read", " "]'),
        ("capabilities", "allow", '[" read"]'),
        ("capabilities", "allow", '["read "]'),
        ("capabilities", "allow", '["read", "write", "read"]'),
        ("capabilities", "deny", '["read"]'),
        ("environment", "pass", '"PATH"'),
        ("environment", "set", '{"" = "x"}'),
        ("environment", "set", '{"A=B" = "x"}'),
        ("environment", "set", '{"A\\u0000" = "x"}'),
        ("environment", "set", '{A = "x\\u0000"}'),
        ("environment", "set", '["A"]'),
        ("environment", "inherit", '["PATH"]'),
        ("environment", "path", '"x"'),
    ],
)
def test_a_wrong_key_of_another_table_is_named(table, key, value):
    error = refusal(plugin_table() + f"[{table}]\n{key} = {value}\n")
    assert (error.source, error.key) == ("plugin.toml", f"{table}.{key}")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[capabilities]\nallow = ['a', 5]", "capabilities.allow[1]"),
        ("[environment]\npass = ['A', 5]", "environment.pass[1]"),
        ("[environment.set]\nA = 5", "environment.set[...]"),
        ("[sandbox]\nlevel = 1", "sandbox"),
    ],
)
def test_a_wrong_item_or_an_unknown_table_is_named(text, key):
    assert refusal(plugin_table() + text).key == key


@pytest.mark.parametrize("key", SECONDS)
@pytest.mark.parametrize("value", ["0.001", "1", "86400"])
def test_seconds_may_be_anything_up_to_a_day(key, value):
    bound = parse(plugin_table() + f"[limits]\n{key} = {value}\n")
    assert getattr(bound.limits, key) == float(value)


@pytest.mark.parametrize("key", COUNTS)
@pytest.mark.parametrize("value", [1, 2**31])
def test_counts_may_be_anything_from_one(key, value):
    bound = parse(plugin_table() + f"[limits]\n{key} = {value}\n")
    assert getattr(bound.limits, key) == value


@pytest.mark.parametrize("value", [0, 64])
def test_spares_may_be_none_or_many(value):
    assert parse(plugin_table() + f"[execute]\nspares = {value}\n").execute.spares == value


def test_a_binding_is_read_from_its_file_or_its_directory(put_plugin):
    directory = put_plugin("greeter")
    from_directory, from_file = binding.read(directory), binding.read(directory / "plugin.toml")
    assert from_directory == from_file
    assert from_file.directory == directory
    assert from_file.source == str(directory / "plugin.toml")


def test_a_binding_read_by_a_relative_path_knows_its_absolute_directory(put_plugin, monkeypatch, tmp_path):
    directory = put_plugin("greeter")
    monkeypatch.chdir(tmp_path)
    assert binding.read(Path("greeter")).directory == directory


def test_a_directory_without_a_binding_is_named(tmp_path):
    with pytest.raises(ManifestError) as caught:
        binding.read(tmp_path)
    assert caught.value.source == str(tmp_path)
    assert "plugin.toml" in caught.value.problem


def test_a_program_in_the_place_of_a_binding_is_told_how_to_run_it(tmp_path):
    (tmp_path / "tool.sh").write_text("#!/bin/sh")
    with pytest.raises(ManifestError) as caught:
        binding.read(tmp_path / "tool.sh")
    assert f"-- {tmp_path / 'tool.sh'}" in caught.value.remedy


@pytest.mark.parametrize(("wrong", "meant"), [("timeout", "timeout_s"), ("memory", "memory_mb")])
def test_a_key_that_is_nearly_right_is_guessed(wrong, meant, tmp_path):
    text = f'[plugin]\nname = "a"\ncontract = "execute"\ncommand = ["x"]\n[limits]\n{wrong} = 1\n'
    with pytest.raises(ManifestError) as caught:
        binding.parse(text, tmp_path)
    assert f"`{meant}`" in caught.value.remedy


def test_a_plugin_can_be_named_on_a_command_line_again(tmp_path):
    text = '[plugin]\nname = "a"\ncontract = "execute"\ncommand = ["x", "y z"]\n'
    assert binding.parse(text, tmp_path, "some/where/plugin.toml").reference == "some/where"
    assert binding.of_command("execute", ["x", "y z"]).reference == "--contract execute -- x 'y z'"


def test_a_bare_command_needs_no_name(tmp_path):
    bound = binding.of_command("execute", ["python", "x.py"], directory=tmp_path)
    assert (bound.name, bound.command) == ("", ("python", "x.py"))
    assert (bound.directory, bound.cwd) == (tmp_path, tmp_path)


def test_a_bare_command_runs_where_the_caller_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert binding.of_command("execute", ["x"]).cwd == tmp_path


@pytest.mark.parametrize(
    ("contract", "command", "name", "key"),
    [
        ("rpc", ["x"], "", "plugin.contract"),
        ("execute", [], "", "plugin.command"),
        ("execute", [" "], "", "plugin.command"),
        ("execute", ["a\0"], "", "plugin.command"),
        ("execute", ["x"], " padded", "plugin.name"),
    ],
)
def test_a_bare_command_is_checked_too(contract, command, name, key):
    with pytest.raises(ManifestError) as caught:
        binding.of_command(contract, command, name=name)
    assert caught.value.key == key


def test_a_changed_binding_is_checked_again():
    bound = parse(plugin_table())
    assert binding.replace(bound, allow=("read",)).allow == ("read",)
    with pytest.raises(ManifestError) as caught:
        binding.replace(bound, allow=("read", "read"))
    assert caught.value.key == "capabilities.allow"
    assert bound.allow == ()


def test_a_binding_cannot_be_changed_in_place():
    with pytest.raises(AttributeError):
        parse(plugin_table()).name = "other"
