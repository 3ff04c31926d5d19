"""What workers import is kept compiled by the host, where Python may keep anything."""

from __future__ import annotations

import shutil
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


def test_what_is_kept_already_is_left_alone(sdk: Path) -> None:
    compiled = Path(cache_from_source(str(sdk / "envelope.py")))
    compiled.parent.mkdir()
    compiled.write_bytes(b"whatever this is")
    worker_cache.keep(str(sdk))
    assert compiled.read_bytes() == b"whatever this is"


def test_nothing_is_kept_where_python_is_told_not_to(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    worker_cache.keep(str(sdk))
    assert not (sdk / "__pycache__").exists()


def test_where_nothing_can_be_written_nothing_happens(sdk: Path) -> None:
    (sdk / "__pycache__").write_text("no directory")  # which holds for root as well
    worker_cache.keep(str(sdk))
    assert (sdk / "__pycache__").read_text() == "no directory"
