"""`assert_conforms` and `validate` for plugins of the `envelope` contract, with real workers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost.conformance.canaries import envelope as canaries
from plughost.conformance.envelope_subject import MADE_UP, subject
from plughost.conformance.envelope_validation import validate
from plughost.errors import TreeError
from plughost.failures import PluginFailure
from plughost.manifest import project
from plughost.manifest.binding import Binding, Limits, of_command
from plughost.testkit import assert_conforms

PLUGIN = """
from plughost_sdk.envelope import Plugin, PluginError

class Picky(Plugin):
    name, version, supported_extensions = "picky", "{version}", (".txt",)
    required_variables = ("operator",)

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        if ctx.variables["operator"] != "Ada":
            raise PluginError("Ada alone may do this")
        path.write_text("hers")
"""
MANIFEST = """
name: picky
version: "1.0"
api_version: "1"
supported_extensions: [.txt]
required_variables: [operator]
"""


def write(tmp_path: Path, *, version: str = "1.0") -> Path:
    directory = tmp_path / "picky"
    directory.mkdir()
    (directory / "manifest.yml").write_text(MANIFEST)
    (directory / "plugin.py").write_text(PLUGIN.format(version=version))
    return directory


def canary(fault: str) -> Binding:
    return of_command("envelope", [sys.executable, "-I", str(canaries.__file__), fault])


def test_a_plugin_that_fails_by_its_own_word_keeps_its_contract(tmp_path: Path) -> None:
    assert_conforms(write(tmp_path))


def test_variables_and_a_directory_can_be_given(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with pytest.raises(TreeError):
        assert_conforms(write(tmp_path), against=data)
    (data / "a.txt").write_text("a")
    assert_conforms(tmp_path / "picky", against=data, variables={"operator": "Ada"})
    assert (data / "a.txt").read_text() == "a"


def test_a_bare_command_is_named_with_what_it_breaks() -> None:
    with pytest.raises(AssertionError, match="envelope:frame:one-object"):
        assert_conforms(canary("prints-first"))


def test_a_required_variable_is_made_up_unless_it_is_given(tmp_path: Path) -> None:
    binding = project.read(write(tmp_path))
    assert subject(binding).variables == {"operator": MADE_UP}
    assert subject(binding, {"operator": "Ada"}).variables == {"operator": "Ada"}
    assert validate(subject(binding)).objections == ()
    assert len(validate(subject(binding, {"operator": ""})).objections) == 1


def test_a_class_that_differs_from_its_manifest_is_an_objection(tmp_path: Path) -> None:
    binding = project.read(write(tmp_path, version="1.1"))
    assert ["version" in each for each in validate(subject(binding)).objections] == [True]


def test_a_worker_that_does_not_validate_is_a_failure() -> None:
    with pytest.raises(PluginFailure):
        validate(subject(canary("validates-with-a-text")))
    with pytest.raises(PluginFailure):
        validate(subject(of_command("envelope", ["./nowhere"])))
    assert validate(subject(canary("well-behaved"))).objections == ()
    assert validate(subject(canary("validates-like-a-run"))) == ((), "a request for no file")


def test_the_limits_of_a_validation_are_its_own(tmp_path: Path) -> None:
    slow = Binding(
        "slow",
        "envelope",
        (sys.executable, "-I", str(canaries.__file__), "well-behaved"),
        tmp_path,
        tmp_path,
        limits=Limits(timeout_s=0.001),
    )
    assert validate(subject(slow)).objections == ()
