"""An output directory, and what an ordinary user may do in it; every test is checked for descriptors left open."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from plughost.files.removal import remove

NOBODY = 65_534


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
