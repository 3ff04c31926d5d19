"""`plughost lint` as its users meet it: text, one JSON object, and an exit status for each outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

MANIFEST = """\
name: stamp
version: "1.0"
supported_extensions: [.txt]
api_version: "1"
author: Ada
description: stamps files
"""
PLUGIN = """\
from plughost_sdk.envelope import Plugin

class Stamp(Plugin):
    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        pass
"""


@pytest.fixture
def stamp(tmp_path: Path) -> Path:
    directory = tmp_path / "stamp"
    directory.mkdir()
    (directory / "manifest.yml").write_text(MANIFEST)
    (directory / "plugin.py").write_text(PLUGIN)
    return directory


def test_a_sound_plugin_is_clean(run: Run, stamp: Path) -> None:
    ran = run("lint", "stamp")
    assert (ran.status, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0] == "stamp: stamp"
    assert run("lint", "stamp", "--json").json == {
        "ok": True,
        "plugins": [{"path": "stamp", "name": "stamp", "findings": []}],
    }


def test_a_warning_is_exit_status_1_and_an_error_when_strict(run: Run, stamp: Path) -> None:
    (stamp / "plugin.py").write_text(PLUGIN + "        print('done')\n")
    ran = run("lint", "stamp")
    assert ran.status == 1
    assert "print-call" in ran.stdout
    assert "plugin.py:9" in ran.stdout
    ran = run("lint", "stamp", "--strict", "--json")
    assert ran.status == 2
    assert ran.json["ok"] is False
    assert [each["severity"] for each in ran.json["plugins"][0]["findings"]] == ["error"]


def test_an_error_is_exit_status_2_with_its_key(run: Run, stamp: Path) -> None:
    (stamp / "manifest.yml").write_text(MANIFEST.replace('"1.0"', "true"))
    ran = run("lint", "stamp", "--json")
    assert ran.status == 2
    (finding,) = ran.json["plugins"][0]["findings"]
    assert set(finding) == {"severity", "code", "message", "field"}
    assert (finding["severity"], finding["code"], finding["field"]) == ("error", "manifest", "version")
    assert "version: " in run("lint", "stamp").stdout


def test_an_info_alone_is_clean(run: Run, stamp: Path) -> None:
    (stamp / "manifest.yml").write_text(MANIFEST + "command: [node, worker.js]\n")
    ran = run("lint", "stamp", "--strict")
    assert ran.status == 0
    assert "own-command" in ran.stdout


def test_a_root_shows_each_plugin(run: Run, stamp: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/plugin.py").write_text("")
    ran = run("lint", ".", "--json")
    assert ran.status == 2
    assert [plugin["name"] for plugin in ran.json["plugins"]] == ["other", "stamp"]


@pytest.mark.parametrize("path", ["missing", "file", "empty"])
def test_a_path_without_a_plugin_is_exit_status_3_with_a_next_step(
    run: Run, tmp_path: Path, path: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    ran = run("lint", path)
    assert ran.status == 3
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 2
    assert run("lint", path, "--json").json["binding"]["file"] == path


def test_no_text_of_a_plugin_can_forge_a_line_or_reach_the_terminal(run: Run, stamp: Path) -> None:
    (stamp / "manifest.yml").write_text(MANIFEST + '"\\e[31m\\n  error  forged": 1\n')
    (stamp / "a\nb\x1b.py").write_text("class (")
    ran = run("lint", "stamp")
    assert ran.status == 2
    assert "\x1b" not in ran.stdout
    assert len(ran.stdout.splitlines()) == 4
