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


@pytest.fixture
def closed(ordinary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of a pass where a plugin has closed all that it could, and left a link to what is not its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(ordinary))
    path = scratch.make(ordinary / "tree")
    deep = path / scratch.TEMPORARY / "one/two/three"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (ordinary / "kept").mkdir(mode=0o500)
    (deep / "link").symlink_to(ordinary / "kept")
    for each in (deep, deep.parent, deep.parent.parent):
        each.chmod(0)
    return path


@pytest.mark.parametrize("also", [".", "tmp"])
def test_what_a_plugin_has_closed_is_removed_all_the_same(also: str, closed: Path) -> None:
    (closed / also).chmod(0)
    scratch.remove(closed)
    assert [path.name for path in closed.parent.iterdir()] == ["kept"]
    assert stat.S_IMODE((closed.parent / "kept").stat().st_mode) == 0o500


def test_what_a_plugin_has_closed_is_removed_to_give_room(closed: Path) -> None:
    scratch.empty(closed)
    assert not list((closed / scratch.TEMPORARY).iterdir())
    scratch.remove(closed)


@pytest.mark.parametrize("also", [".", "tmp"])
def test_a_closed_directory_for_temporary_files_is_emptied_too_and_may_be_written_to_again(
    also: str, closed: Path
) -> None:
    (closed / also).chmod(0)
    scratch.empty(closed)
    assert not list((closed / scratch.TEMPORARY).iterdir())
    (closed / scratch.TEMPORARY / "new").touch()
    scratch.remove(closed)
