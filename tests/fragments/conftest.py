"""An output directory, and what an ordinary user may do in it; every test is checked for descriptors left open."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from plughost.files.removal import remove

NOBODY = 65_534

settings.register_profile("everyday", settings.get_profile("default"), max_examples=25)


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Try few random examples everyday, and all with `--all`: a test takes its settings when it is imported."""
    if not collector.config.getoption("--all"):
        settings.load_profile("everyday")
    try:
        return (yield)
    finally:
        settings.load_profile("default")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An output directory with two files, one of them in a directory."""
    directory = tmp_path / "out"
    (directory / "deep").mkdir(parents=True)
    (directory / "top.txt").write_text("old top\n")
    (directory / "deep/file.txt").write_text("old file\n")
    return directory


@pytest.fixture
def ordinary() -> Iterator[Path]:
    """Be an ordinary user for one test, whoever runs it, in a directory of that user's own."""
    home = Path(tempfile.mkdtemp(prefix="plughost-fragments-"))
    uid, gid = os.geteuid(), os.getegid()
    try:
        if uid == 0:
            os.chown(home, NOBODY, NOBODY)
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
        yield home
    finally:
        if uid == 0:
            os.seteuid(uid)
            os.setegid(gid)
        above = os.open(home.parent, os.O_RDONLY)
        remove(home.name, above)  # also what locks its own user out
        os.close(above)
