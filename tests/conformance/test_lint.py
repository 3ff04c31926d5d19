"""`lint` on real directories: every finding, what is no finding, and that nothing of a plugin is ever run."""

import os

import pytest

from plughost.conformance import lint_source
from plughost.conformance.lint import lint
from plughost.conformance.lint_report import Severity
from plughost.errors import ManifestError

MANIFEST = """\
name: stamp
version: "1.0"
supported_extensions: [.txt, .csv]
api_version: "1"
author: Ada
description: stamps files
required_variables: [operator]
"""
PLUGIN = """\
from plughost_sdk.envelope import Plugin


class Stamp(Plugin):
    name, version, supported_extensions = "stamp", "1.0", [".txt", ".csv"]
    required_variables = ["operator"]

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        path.write_text(ctx.variables["operator"])
"""
HOOKS = "    def can_handle(self, path, variables): ...\n    def transform(self, path, ctx): ...\n"


@pytest.fixture
def put(tmp_path):
    """Return a function that writes a plugin's files and returns what `lint` finds: (severity, code, field)."""

    def write(files=None, manifest=MANIFEST, where="stamp", strict=False):
        directory = tmp_path / where
        for name, text in {
            "manifest.yml": manifest,
            **({"plugin.py": PLUGIN} if files is None else files),
        }.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return found(directory, strict=strict)

    return write


def found(path, *, strict=False):
    (plugin,) = lint(path, strict=strict).plugins
    return [(each.severity.value, each.code, each.field) for each in plugin.findings]


def codes(findings):
    return [code for _, code, _ in findings]


def test_a_sound_plugin_has_no_findings(put):
    assert put() == []
    assert put({"__init__.py": "from .plugin import Stamp as Plugin\n", "plugin.py": PLUGIN}) == []


# The manifest


def test_every_flaw_of_a_manifest_is_an_error_with_its_key(put):
    manifest = "name: stamp\nversion: true\napi_version: 2\nisolation: {network: maybe, memory_mb: 0}\n"
    assert put(manifest=manifest) == [
        ("error", "manifest", "version"),
        ("error", "manifest", "supported_extensions"),
        ("error", "manifest", "api_version"),
        ("error", "manifest", "isolation.memory_mb"),
        ("error", "manifest", "isolation.network"),
    ]


@pytest.mark.parametrize("manifest", ["", "name: [", "name: &a b", "- a"])
def test_a_manifest_that_cannot_be_read_is_one_error(put, manifest):
    assert codes(put(manifest=manifest)) == ["manifest"]


def test_a_missing_manifest_is_an_error(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    assert found(tmp_path) == [("error", "manifest", None)]


def test_the_sources_are_looked_at_even_if_the_manifest_is_wrong(put):
    assert codes(put({"plugin.py": "class ("}, manifest="name: 1")) == ["manifest"] * 4 + ["syntax-error"]
    assert codes(put({"plugin.py": "x = 1"}, manifest="name: stamp")) == ["manifest"] * 3 + ["no-plugin"]


def test_an_unknown_key_is_a_warning_that_names_the_one_that_was_meant(put, tmp_path):
    manifest = MANIFEST + "auhtor: Ada\nisolation: {timeout_second: 5}\nzzz: 1\n"
    assert put(manifest=manifest) == [
        ("warning", "unknown-key", "auhtor"),
        ("warning", "unknown-key", "isolation.timeout_second"),
        ("warning", "unknown-key", "zzz"),
    ]
    messages = [each.message for each in lint(tmp_path / "stamp").plugins[0].findings]
    assert "`author`" in messages[0]
    assert "`isolation.timeout_seconds`" in messages[1]
    assert "did you mean" not in messages[2]


@pytest.mark.parametrize("key", ["author", "description"])
def test_a_plugin_without_author_or_description_is_a_warning(put, key):
    kept = "".join(line for line in MANIFEST.splitlines(keepends=True) if not line.startswith(key))
    assert put(manifest=kept) == [("warning", "undocumented", key)]


def test_a_directory_of_another_name_is_a_warning(put):
    assert put(where="stamper") == [("warning", "directory-name", "name")]


def test_no_extension_at_all_is_a_warning(put):
    files = {"plugin.py": PLUGIN.replace('[".txt", ".csv"]', "[]")}
    assert put(files, MANIFEST.replace("[.txt, .csv]", "[]")) == [
        ("warning", "no-extensions", "supported_extensions")
    ]


def test_limits_over_half_of_their_caps_are_worth_knowing(put):
    assert put(manifest=MANIFEST + "isolation: {timeout_seconds: 150, memory_mb: 1024}\n") == []
    assert put(manifest=MANIFEST + "isolation: {timeout_seconds: 150.5, memory_mb: 1025}\n") == [
        ("info", "high-limit", "isolation.timeout_seconds"),
        ("info", "high-limit", "isolation.memory_mb"),
    ]


def test_the_sources_of_a_plugin_with_its_own_command_are_not_checked(put):
    files = {"worker.js": "process.exit()", "plugin.py": "class ("}
    assert put(files, MANIFEST + "command: [node, worker.js]\n") == [("info", "own-command", "command")]


# Which class


def test_no_entry_is_an_error(put):
    assert put({"other.py": PLUGIN}) == [("error", "no-plugin", None)]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "x = 1",
        "class Other: ...",
        "from plughost_sdk.envelope import Plugin",
        "Plugin: type",
        "from . import missing",
        "Plugin = Other\nOther = Plugin",
        "A = B\nB = A\nPlugin = A\nA = Plugin",
    ],
)
def test_an_entry_without_a_plugin_is_an_error(put, source):
    assert put({"__init__.py": source}) == [("error", "no-plugin", None)]


def test_several_plugins_of_which_none_is_called_plugin_are_an_error(put):
    assert put({"plugin.py": PLUGIN + f"class Other(Plugin):\n{HOOKS}"}) == [("error", "no-plugin", None)]


def test_a_base_of_the_plugins_own_is_not_taken_for_a_second_plugin(put):
    base = "class Base(Plugin):\n    def can_handle(self, path, variables): ...\n\n\nclass Stamp(Base):"
    assert put({"plugin.py": PLUGIN.replace("class Stamp(Plugin):", base)}) == []


@pytest.mark.parametrize(
    "entry",
    [
        "from .plugin import Stamp as Plugin",
        "from .plugin import Stamp",
        "from .plugin import *",
        "from stamp.plugin import Stamp\nPlugin = Stamp",
        "from .plugin import Stamp\n__all__ = ['Plugin']\nPlugin: type = Stamp",
        "from .sub import Plugin",
        "from .sub.deep import Plugin",
        "try:\n    from .plugin import Stamp as Plugin\nexcept ImportError:\n    raise",
        "if True:\n    from .plugin import Stamp as Plugin",
        "from .plugin import Stamp, Plugin as Base",
    ],
)
def test_the_class_is_found_wherever_the_package_has_it(put, entry):
    files = {
        "__init__.py": entry,
        "plugin.py": PLUGIN.replace('"1.0"', '"0.9"'),  # so that finding it is seen
        "sub/__init__.py": "from ..plugin import Stamp as Plugin",
        "sub/deep.py": "from . import Plugin",
    }
    assert put(files) == [("error", "class-differs", "version")]


@pytest.mark.parametrize(
    "head",
    [
        "from plughost_sdk import envelope\nclass Plugin(envelope.Plugin):\n",
        "import plughost_sdk.envelope\nclass Plugin(plughost_sdk.envelope.Plugin):\n",
        "from plughost_sdk.envelope import Plugin as Base\nclass Plugin(Base):\n",
        "from plughost_sdk.envelope import Plugin\nclass Plugin(Plugin):\n",
        "from plughost_sdk.envelope import *\nclass Stamp(Plugin):\n",
        "from abc import ABC\nfrom plughost_sdk.envelope import Plugin as Base\nclass Plugin(Base, ABC):\n",
    ],
)
def test_the_base_class_is_known_however_it_is_imported(put, head):
    assert put({"plugin.py": head + HOOKS}) == []
    assert put({"plugin.py": head + "    pass\n"}) == [
        ("error", "missing-method", "can_handle"),
        ("error", "missing-method", "transform"),
    ]


@pytest.mark.parametrize("bases", ["", "(object)", "(Other)"])
def test_a_plugin_that_does_not_derive_from_the_sdks_is_an_error(put, bases):
    assert put({"plugin.py": f"class Other: ...\nclass Plugin{bases}:\n{HOOKS}"}) == [
        ("error", "plugin-base", None)
    ]


def test_what_a_class_of_the_package_inherits_counts(put):
    base = PLUGIN.replace("Stamp", "Base").replace("transform", "_transform")
    child = "from .base import Base\nclass Plugin(Base):\n    transform = Base._transform\n"
    assert put({"__init__.py": child, "base.py": base}) == []
    assert put({"__init__.py": child.replace("transform = ", "other = "), "base.py": base}) == [
        ("error", "missing-method", "transform")
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from somewhere import Base\nclass Plugin(Base): ...",
        "import somewhere\nclass Plugin(somewhere.make()): ...",
        "from . import base\nclass Plugin(base.Base): ...",
    ],
)
def test_nothing_is_claimed_about_what_is_inherited_from_elsewhere(put, source):
    assert put({"__init__.py": source, "base.py": ""}) == []


@pytest.mark.parametrize(
    "source",
    [
        "Plugin = make()",
        "def __getattr__(name): ...",
        "from somewhere import make as Plugin",
        "import Plugin",
        "from . import Plugin",
    ],
)
def test_what_only_a_run_could_tell_is_said_to_be_so(put, source):
    assert put({"__init__.py": source}) == [("info", "cannot-tell", None)]


def test_imports_and_bases_in_a_circle_come_to_an_end(put):
    files = {
        "__init__.py": "from .a import Plugin",
        "a.py": "from .b import Plugin",
        "b.py": "from .a import Plugin",
    }
    assert codes(put(files)) == ["cannot-tell"]
    assert codes(put({"__init__.py": "from .a import *", "a.py": "from . import *"}))
    assert codes(put({"__init__.py": "class A(B): ...\nclass B(A): ...\nclass Plugin(A): ..."})) == []


# What is in the class


@pytest.mark.parametrize("hook", ["can_handle", "transform"])
def test_a_hook_that_is_missing_or_a_coroutine_is_an_error(put, hook):
    assert put({"plugin.py": PLUGIN.replace(f"def {hook}", "def other")}) == [
        ("error", "missing-method", hook)
    ]
    assert put({"plugin.py": PLUGIN.replace(f"def {hook}", f"async def {hook}")}) == [
        ("error", "async-method", hook)
    ]


def test_the_removed_hook_is_an_error(put):
    source = PLUGIN + "\n    def transform_readme(self, text): ...\n"
    assert put({"plugin.py": source}) == [("error", "removed-hook", "transform_readme")]


@pytest.mark.parametrize(
    ("line", "severity", "field"),
    [
        ('name = "other"', "error", "name"),
        ("name = None", "error", "name"),
        ('version: str = "1.1"', "error", "version"),
        ("version = 1.0", "error", "version"),
        ('api_version = "2"', "error", "api_version"),
        ('supported_extensions = [".txt"]', "error", "supported_extensions"),
        ('supported_extensions = ".txt"', "error", "supported_extensions"),
        ("required_variables = []", "warning", "required_variables"),
        ('optional_variables = ("date",)', "warning", "optional_variables"),
    ],
)
def test_a_class_that_says_something_else_than_the_manifest_is_a_finding(put, line, severity, field):
    files = {"plugin.py": PLUGIN + f"    {line}\n"}
    assert put(files) == [(severity, "class-differs", field)]


@pytest.mark.parametrize(
    "line",
    [
        'supported_extensions = (".CSV", ".txt")',
        'supported_extensions = {".csv", ".txt"}',
        "supported_extensions = load()",
        "version = __version__",
        'api_version = "1"',
        "version: str",
        f"version = {'-' * 150}1 + x",
    ],
)
def test_order_case_and_what_is_not_spelled_out_make_no_difference(put, line):
    assert put({"plugin.py": PLUGIN + f"    {line}\n"}) == []


def test_warnings_are_errors_when_strict_and_infos_are_not(put):
    manifest = MANIFEST.replace("author: Ada\n", "") + "isolation: {timeout_seconds: 200}\n"
    assert put(manifest=manifest, strict=True) == [
        ("error", "undocumented", "author"),
        ("info", "high-limit", "isolation.timeout_seconds"),
    ]


# Directories of plugins


def test_every_plugin_of_a_root_is_looked_at_and_equal_names_are_errors(put, tmp_path):
    put(where="root/a")
    put(where="root/b", manifest="")
    put(where="root/c")
    (tmp_path / "root/d").mkdir()
    (tmp_path / "root/d/plugin.py").write_text("")
    (tmp_path / "root/notes").mkdir()
    report = lint(tmp_path / "root")
    assert [(plugin.path.name, plugin.name) for plugin in report.plugins] == [
        ("a", "stamp"), ("b", "b"), ("c", "stamp"), ("d", "d"),
    ]  # fmt: skip
    assert [[each.code for each in plugin.findings] for plugin in report.plugins] == [
        ["directory-name", "duplicate-name"],
        ["manifest"],
        ["directory-name", "duplicate-name"],
        ["manifest"],
    ]
    assert report.worst is Severity.ERROR
    assert report.count(Severity.WARNING) == 2


def test_the_report_of_a_sound_plugin_has_no_worst(put, tmp_path):
    put()
    assert lint(tmp_path / "stamp").worst is None


def test_a_relative_path_has_the_directorys_name(put, tmp_path, monkeypatch):
    put()
    monkeypatch.chdir(tmp_path / "stamp")
    assert found(type(tmp_path)(".")) == []


@pytest.mark.parametrize("name", ["missing", "file", "empty", "nul\0", "x" * 300])
def test_what_holds_no_plugin_is_refused(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ManifestError):
        lint(tmp_path / name)


def test_no_plugin_is_run_or_imported(put, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    put({"__init__.py": trap + PLUGIN, "plugin.py": trap, "conftest.py": trap, "sitecustomize.py": trap})
    assert not (tmp_path / "ran").exists()
    assert not list(tmp_path.rglob("__pycache__"))


def test_more_files_than_the_limit_are_said_not_to_be_looked_at(put, tmp_path, monkeypatch):
    monkeypatch.setattr(lint_source, "FILE_LIMIT", 3)
    assert put() == []
    assert "many-files" in codes(put({"plugin.py": PLUGIN, "a.txt": "", "b/c.txt": ""}))


def test_a_directory_in_place_of_the_entry_is_no_plugin(put, tmp_path):
    put()
    (tmp_path / "stamp/plugin.py").unlink()
    (tmp_path / "stamp/plugin.py").mkdir()
    assert found(tmp_path / "stamp") == [("error", "no-plugin", None)]
    (tmp_path / "stamp/plugin.py").rmdir()
    os.mkfifo(tmp_path / "stamp/plugin.py")
    assert found(tmp_path / "stamp") == [("error", "unreadable", None)]


def test_a_finding_is_short_however_long_the_names_of_a_plugin_are(put, tmp_path):
    long = "x" * 100_000
    source = f"import socket.{long}\nclass {long}: ...\nclass Plugin({long}):\n    name = {long!r}\nopen.{long}()\n"
    manifest = MANIFEST + "".join(f"key{at}: 1\n" for at in range(500))
    assert len(put({"plugin.py": source}, manifest)) < 50
    assert all(len(each.message) < 400 for each in lint(tmp_path / "stamp").plugins[0].findings)
