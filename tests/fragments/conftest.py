"""An output directory; every test is checked for descriptors left open."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An output directory with two files, one of them in a directory."""
    directory = tmp_path / "out"
    (directory / "deep").mkdir(parents=True)
    (directory / "top.txt").write_text("old top\n")
    (directory / "deep/file.txt").write_text("old file\n")
    return directory
