"""`plughost new envelope`: what it writes is a plugin in every respect."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", ["my-signer", "signer", "plugin", "true"])
@pytest.mark.long
def test_a_new_plugin_passes_lint_check_and_doctor_whatever_its_name(name: str, run: Run) -> None:
    assert run("new", "envelope", name).status == 0
    linted = run("lint", name, "--strict", "--json")
    assert (linted.status, linted.json["plugins"][0]["findings"]) == (0, [])
    checked = run("check", name, "--json")
    assert checked.status == 0
    unclear = {axis["id"] for axis in checked.json["axes"] if axis["status"] == "skipped"}
    assert unclear == {"envelope:reply:reason", "envelope:input:fields", "envelope:input:resumable"}
    assert run("doctor", name).status == 0
    assert run("describe", name, "--json").json["manifest"]["name"] == name


@pytest.mark.parametrize("name", ["my-signer", "signer"])
@pytest.mark.thin(4)
@pytest.mark.parametrize("where", ["outside", "inside"])
@pytest.mark.long
def test_its_own_tests_pass(name: str, where: str, run: Run, tmp_path: Path) -> None:
    assert run("new", "envelope", name).status == 0
    pytest_words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    tested = subprocess.run(
        [sys.executable, *pytest_words, name if where == "outside" else "."],
        cwd=tmp_path if where == "outside" else tmp_path / name,
        capture_output=True,
        timeout=250,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


def test_it_names_what_it_wrote_and_what_to_do_next(run: Run, tmp_path: Path) -> None:
    shown = run("new", "envelope", "my-signer", "--into", "plugins").stdout
    assert "plughost check plugins/my-signer" in shown
    written = {file.name for file in (tmp_path / "plugins/my-signer").iterdir()}
    assert written == {"README.md", "__init__.py", "manifest.yml", "plugin.py", "test_my_signer.py"}
    assert not any("@" in file.read_text() for file in (tmp_path / "plugins/my-signer").iterdir())


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert run("new", "envelope", "mine").status == 2
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.thin(2)
@pytest.mark.parametrize("contract", ["execute", "envelope"])
def test_a_name_of_the_standard_library_is_refused(contract: str, run: Run, tmp_path: Path) -> None:
    assert run("new", contract, "json").status == 2
    assert list(tmp_path.iterdir()) == []
