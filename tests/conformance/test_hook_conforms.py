"""`assert_conforms` for plugins of the `hook` contract."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost.conformance.canaries import hook as canaries
from plughost.errors import ManifestError
from plughost.manifest import binding as bindings
from plughost.manifest.binding import Binding
from plughost.testkit import assert_conforms


def canary(fault: str) -> Binding:
    return bindings.of_command("hook", [sys.executable, "-E", "-s", "-B", str(canaries.PROGRAM), fault])


@pytest.mark.long
def test_a_plugin_that_keeps_its_contract_conforms(tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text("jobs:\n  ship:\n    steps:\n      - run: make ship\n")
    assert_conforms(canary("well-behaved"), schema=tmp_path / "ci.yml")


def test_a_plugin_that_breaks_a_clause_does_not_conform_and_the_clause_is_named() -> None:
    with pytest.raises(AssertionError, match="hook:handshake:reply"):
        assert_conforms(canary("exits-at-once"))


def test_a_pipeline_file_that_is_missing_is_not_the_plugins_fault(tmp_path: Path) -> None:
    with pytest.raises(ManifestError):
        assert_conforms(canary("well-behaved"), schema=tmp_path / "nowhere.yml")
