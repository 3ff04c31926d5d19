"""`plughost new sideband`: what it writes is a worker in every respect."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost import blocking

Run = Callable[..., Any]


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", ["my-language", "tally", "worker"])
def test_a_host_can_use_a_new_worker_at_once_whatever_its_name(name: str, run: Run, tmp_path: Path) -> None:
    assert run("new", "sideband", name).status == 0
    with blocking.Host() as host, host.console(tmp_path / name) as console:
        console.run("let greeting Hello Ada")
        assert console.run("show greeting").text == "Hello Ada\n"
        assert console.run("say \N{SNOWMAN}\n\n'value'").text == "\N{SNOWMAN}\n'value'\n"
        assert console.run("nonsense").error
        assert console.run("ask who?").prompt == "who?"
        assert console.answer("Ada\n").text == "Ada\n"


@pytest.mark.timeout(200)
@pytest.mark.long
def test_it_passes_check_and_its_own_tests(run: Run, tmp_path: Path) -> None:
    assert run("new", "sideband", "my-language").status == 0
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "my-language"],
        cwd=tmp_path,
        capture_output=True,
        timeout=150,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    checked = run("check", "my-language", "--json")
    assert (checked.status, checked.stderr) == (0, "")
    skipped = {axis["id"] for axis in checked.json["axes"] if axis["status"] == "skipped"}
    assert skipped == {"sideband:place", "sideband:pictures"}


def test_started_by_hand_it_says_what_it_needs(run: Run, tmp_path: Path) -> None:
    assert run("new", "sideband", "my-language").status == 0
    done = subprocess.run(
        [sys.executable, "my-language/my_language.py"],
        cwd=tmp_path,
        capture_output=True,
        timeout=250,
        input=b"",
    )
    assert done.returncode == 1
    assert b"MCP_CONSOLE_IPC_READ_FD" in done.stderr


def test_it_names_what_it_wrote_and_what_to_do_next(run: Run, tmp_path: Path) -> None:
    shown = run("new", "sideband", "my-language", "--into", "workers").stdout
    assert "plughost check workers/my-language" in shown
    assert "plughost console --worker workers/my-language" in shown
    written = {file.name for file in (tmp_path / "workers/my-language").iterdir()}
    assert written == {
        "my_language.py",
        "test_my_language.py",
        "sideband_wire.py",
        "README.md",
        "plugin.toml",
    }
    for file in (tmp_path / "workers/my-language").iterdir():
        assert not any(word in file.read_text() for word in ("@NAME@", "@MODULE@"))
        assert not os.access(file, os.X_OK)


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", ["sideband-wire", "json", "plughost-sdk", "../x", "Upper", "", "x" * 64])
def test_a_name_that_could_not_be_a_workers_is_refused(name: str, run: Run, tmp_path: Path) -> None:
    assert run("new", "sideband", "--", name).status == 2
    assert list(tmp_path.iterdir()) == []
