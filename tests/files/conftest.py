"""A tree and its store; every test is checked for descriptors left open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plughost.files.changes import Change
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from tests.files.portrait import portrait


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with a bit of everything."""
    return plant(tmp_path / "tree")


def plant(tree: Path) -> Path:
    """Make *tree* one with a bit of everything."""
    (tree / "data/deep").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "README.md").write_text("read me\n")
    (tree / "data/table.csv").write_text("a,b\n1,2\n")
    (tree / "data/deep/notes.txt").write_text("notes\n")
    (tree / "link").symlink_to("README.md")
    return tree


@pytest.fixture
def take() -> Iterator[Callable[[Path], Snapshot]]:
    """Take a snapshot of a tree where it belongs; it is closed afterwards."""
    taken: list[Snapshot] = []

    def take(root: Path) -> Snapshot:
        taken.append(Snapshot.take(root, place(root)))
        return taken[-1]

    yield take
    for snapshot in taken:
        snapshot.close()


@pytest.fixture
def undo(
    root: Path, take: Callable[[Path], Snapshot]
) -> Callable[[Callable[[], object]], tuple[Change, ...]]:
    """Take a snapshot, let something be done to the tree, and put it back; return what was undone."""

    def run(do: Callable[[], object]) -> tuple[Change, ...]:
        before, snapshot = portrait(root), take(root)
        do()
        undone = snapshot.revert()
        assert portrait(root) == before
        assert snapshot.changes() == ()
        assert snapshot.revert() == ()
        return undone

    return run
