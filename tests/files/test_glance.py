"""A short look at a tree: whether it holds a file of a wanted kind."""

import os

import pytest

from plughost.files import glance
from plughost.files.glance import may_hold


@pytest.fixture
def tree(tmp_path):
    for directory in ("a/b", "c.dat"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "a/b/deep.txt").touch()
    (tmp_path / "link.lnk").symlink_to("a/b/deep.txt")
    return tmp_path


@pytest.mark.parametrize(
    ("ending", "found"), [(".txt", True), (".dat", False), (".lnk", False), (".csv", False)]
)
def test_only_regular_files_count_however_deep_they_lie(tree, ending, found):
    assert may_hold(tree, lambda path: path.endswith(ending)) is found


def test_a_file_is_known_by_its_path_below_the_root(tree):
    asked = []
    may_hold(tree, lambda path: bool(asked.append(path)))
    assert asked == ["a/b/deep.txt"]


@pytest.mark.parametrize(("more", "found"), [(-1, False), (0, True)])
def test_what_is_too_much_to_look_at_may_hold_anything(tmp_path, monkeypatch, more, found):
    monkeypatch.setattr(glance, "PATHS", 3)
    for number in range(3 + more):
        (tmp_path / str(number)).touch()
    assert may_hold(tmp_path, lambda path: False) is found


def test_what_cannot_be_read_holds_nothing(tmp_path):
    assert not may_hold(tmp_path / "nothing", lambda path: True)
    os.symlink("nowhere", tmp_path / "dangling")
    assert not may_hold(tmp_path, lambda path: True)
