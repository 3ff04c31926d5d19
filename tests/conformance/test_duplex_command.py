"""`plughost check` for plugins of the `duplex` contract, as its users meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plughost.conformance import duplex
from plughost.conformance.canaries import duplex as canaries

CANARY = (sys.executable, "-E", "-s", "-B", str(canaries.PROGRAM))
WITHIN = 50  # seconds; an upper bound that is never reached


def check(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plughost", "check", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=WITHIN,
        check=False,
    )


def statuses(report: dict[str, Any]) -> dict[str, str]:
    return {axis["id"]: axis["status"] for axis in report["axes"]}


def test_a_directory_with_a_bad_manifest_is_reported_axis_by_axis(tmp_path: Path) -> None:
    (tmp_path / "canary").mkdir()
    (tmp_path / "canary/manifest.toml").write_text(canaries.MANIFESTS["abi-3"], encoding="utf-8")
    ran = check(tmp_path, "canary", "--json", "--junit", "report.xml")
    report = json.loads(ran.stdout)
    assert ran.returncode == 1
    assert (report["ok"], report["contract"], report["plugin"]) == (False, "duplex", "canary")
    assert statuses(report).pop(duplex.FIRST) == "failed"
    assert set(statuses(report).values()) == {"failed", "skipped"}
    assert (tmp_path / "report.xml").read_text(encoding="utf-8").count("<skipped") == 13


def test_a_bare_command_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    ran = check(tmp_path, "--contract", "duplex", "--json", "--", *CANARY, "exits-at-once")
    assert ran.returncode == 1
    assert statuses(json.loads(ran.stdout))[duplex.FIRST] == "failed"


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "option", [("--schema", "x"), ("--tool", "x"), ("--answer", "a=b")], ids=["hook", "execute", "envelope"]
)
def test_an_option_of_another_contract_is_a_usage_error(option: tuple[str, ...], tmp_path: Path) -> None:
    ran = check(tmp_path, "--contract", "duplex", *option, "--", "true")
    assert ran.returncode == 2
    assert option[0] in ran.stderr


@pytest.mark.thin(2)
@pytest.mark.parametrize("option", ["--no-call", "--no-large"])
def test_what_is_spared_a_plugin_may_be_said_here_too(option: str, tmp_path: Path) -> None:
    ran = check(tmp_path, "--contract", "duplex", option, "--json", "--", *CANARY, "exits-at-once")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["contract"] == "duplex"


@pytest.mark.thin(9, "a whole check of duplex")
def test_a_plugin_that_keeps_the_contract_ends_with_0_and_fourteen_axes(tmp_path: Path) -> None:
    ran = check(tmp_path, "--contract", "duplex", "--no-large", "--", *CANARY, "well-behaved")
    assert ran.returncode == 0
    assert "14 passed, 0 failed, 0 skipped" in ran.stdout
