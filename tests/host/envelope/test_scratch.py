"""The temporary directory of a pass: one for each tree, found again if it was left behind."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from plughost.files.removal import remove
from plughost.host.envelope import scratch
from plughost.host.envelope.leftovers import put_right
from tests.conftest import NOBODY
from tests.host.envelope.lab import Lab


def test_it_is_for_its_user_alone_and_removed_whatever_is_in_it(lab: Lab) -> None:
    path = scratch.make(lab.root)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert path != scratch.make(lab.home)
    (path / scratch.TEMPORARY / "deep").mkdir()
    for each in (lab.root, lab.home):
        scratch.sweep(each)
    assert not list((lab.home / "tmp").iterdir())


def test_what_a_killed_pass_has_left_is_removed_by_the_next_and_by_recovery(lab: Lab) -> None:
    for put_away in (lambda: lab.run(lab.plugin("p")), lambda: put_right(lab.root)):
        path = scratch.make(lab.root)
        (path / scratch.TEMPORARY / "left").write_text("x")
        put_away()
        assert not list((lab.home / "tmp").iterdir())


@pytest.mark.parametrize("kind", ["a link", "a file", "another user's directory"])
def test_what_is_not_ours_is_left_alone_and_another_name_taken(kind: str, lab: Lab) -> None:
    there = scratch.make(lab.root)
    scratch.remove(there)
    if kind == "a link":
        there.symlink_to(lab.root)
    elif kind == "a file":
        there.write_text("x")
    else:
        if os.getuid():
            pytest.skip("only root can make a directory of another user's")
        there.mkdir()
        os.chown(there, NOBODY, NOBODY)
    assert lab.run(lab.plugin("p")).ok
    assert [path.name for path in (lab.home / "tmp").iterdir()] == [there.name]
    assert lab.text("a.txt") == "a\np\n"
    above = os.open(there.parent, os.O_RDONLY)
    remove(there.name, above)
    os.close(above)


def test_nothing_else_is_ever_removed(lab: Lab) -> None:
    other = Path(tempfile.mkdtemp(prefix="other-"))
    scratch.remove(other)
    assert other.is_dir()
    other.rmdir()
