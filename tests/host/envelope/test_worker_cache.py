"""What workers import is kept compiled by the host, where Python may keep anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import plughost_sdk
import pytest
from plughost_sdk.envelope_worker import Siblings

from plughost.host.envelope import worker_cache


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the SDK of which nothing is compiled."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    directory = tmp_path / "plughost_sdk"
    directory.mkdir()
    for source in Path(plughost_sdk.__file__).parent.glob("*.py"):
        shutil.copy(source, directory)
    return directory


def test_what_a_worker_imports_is_compiled_and_nothing_else_is(sdk: Path) -> None:
    worker_cache.keep(str(sdk))
    kept = {Path(each).name for each in sdk.glob("*.py") if Path(cache_from_source(str(each))).exists()}
    assert kept == {each.name for each in sdk.glob("envelope*.py")} | set(worker_cache.BESIDE)
    for name in ("plughost_sdk", "plughost_sdk.envelope", "plughost_sdk.stdio"):
        spec = Siblings(str(sdk)).find_spec(name)
        assert spec is not None
        assert spec.cached is not None


def test_what_is_kept_already_is_left_alone_and_what_is_not_of_the_file_as_it_is_now_is_made_anew(
    sdk: Path,
) -> None:
    worker_cache.keep(str(sdk))
    fresh, stale = (Path(worker_cache.compiled_of(str(sdk / name))) for name in ("envelope.py", "stdio.py"))
    fresh.write_bytes(fresh.read_bytes()[:16] + b"whatever this is")
    os.utime(sdk / "stdio.py", (1_000_000_000, 1_000_000_000))
    before = stale.read_bytes()
    worker_cache.keep.cache_clear()
    worker_cache.keep(str(sdk))
    assert fresh.read_bytes()[16:] == b"whatever this is"
    assert stale.read_bytes()[:16] != before[:16]


def test_workers_find_it_whatever_the_host_was_started_with(sdk: Path, tmp_path: Path) -> None:
    program = "import sys; from plughost.host.envelope import worker_cache; worker_cache.keep(sys.argv[1])"
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "elsewhere")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-O", "-c", program, str(sdk)], check=True, env=variables)
    assert Siblings(str(sdk)).find_spec("plughost_sdk.envelope").cached is not None


def test_a_file_that_cannot_be_compiled_hinders_nobody(sdk: Path) -> None:
    (sdk / "envelope_notes.py").write_text("def (")
    (sdk / "envelope_broken.py").symlink_to("nowhere")
    worker_cache.keep(str(sdk))
    assert Path(worker_cache.compiled_of(str(sdk / "envelope.py"))).exists()


def test_a_directory_that_cannot_be_listed_is_left_alone(tmp_path: Path) -> None:
    worker_cache.keep(str(tmp_path / "missing"))


def test_nothing_is_kept_where_python_is_told_not_to(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    worker_cache.keep(str(sdk))
    assert not (sdk / "__pycache__").exists()


def test_where_nothing_can_be_written_nothing_happens(sdk: Path) -> None:
    (sdk / "__pycache__").write_text("no directory")  # which holds for root as well
    worker_cache.keep(str(sdk))
    assert (sdk / "__pycache__").read_text() == "no directory"
