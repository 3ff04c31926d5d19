"""`plughost new duplex`: what it writes is a plugin in every respect."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost import blocking
from plughost.contracts.duplex.keys import KeyCode, KeyEvent

Run = Callable[..., Any]


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", ["my-counter", "tally", "plugin"])
def test_a_host_can_use_a_new_plugin_at_once_whatever_its_name(name: str, run: Run, tmp_path: Path) -> None:
    assert run("new", "duplex", name).status == 0
    with blocking.Host() as host, host.fleet(tmp_path) as fleet:
        assert (list(fleet.plugins), fleet.rejected) == ([name], ())
        assert fleet[name].start().version == "0.1.0"
        fleet[name].key(name, KeyEvent(KeyCode("up")))
        assert fleet.invoke(f"{name}.next") == b"2"
        assert bytes(fleet.cli(name, []).stdout) == b"2\n"
        assert fleet.snapshot(f"{name}.count") is not None
        fleet[name].stop()
        assert bytes(fleet.cli(name, []).stdout) == b"2\n"  # it goes on from what was published


def test_its_program_runs_by_itself_too(run: Run, tmp_path: Path) -> None:
    assert run("new", "duplex", "my-counter").status == 0
    program = tmp_path / "my-counter/my-counter"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([program], input=b"", capture_output=True, timeout=250, env={"PATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["my-counter", "tally"])
@pytest.mark.long
def test_it_passes_check_and_its_own_tests(name: str, run: Run, tmp_path: Path) -> None:
    assert run("new", "duplex", name).status == 0
    checked = run("check", name, "--json")
    assert (checked.status, checked.stderr) == (0, "")
    assert "failed" not in {axis["status"] for axis in checked.json["axes"]}
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", name],
        cwd=tmp_path,
        capture_output=True,
        timeout=250,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


def test_it_names_what_it_wrote_and_what_to_do_next(run: Run, tmp_path: Path) -> None:
    shown = run("new", "duplex", "my-counter", "--into", "plugins").stdout
    assert "plughost check plugins/my-counter" in shown
    written = {file.name for file in (tmp_path / "plugins/my-counter").iterdir()}
    code = {"my-counter", "my_counter.py", "test_my_counter.py"}
    assert written == {*code, "README.md", "manifest.toml", "narrow.toml"}
    for file in (tmp_path / "plugins/my-counter").iterdir():
        assert not any(word in file.read_text() for word in ("@NAME@", "@MODULE@"))
        assert os.access(file, os.X_OK) == (file.name == "my-counter")


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", ["host", "ends-", "json", "plughost-sdk", "../x", "Upper", "", "x" * 64])
def test_a_name_that_could_not_be_a_plugins_is_refused(name: str, run: Run, tmp_path: Path) -> None:
    assert run("new", "duplex", "--", name).status == 2
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert run("new", "duplex", "mine").status == 2
    assert list((tmp_path / "mine").iterdir()) == []
