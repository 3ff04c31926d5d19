"""Long work on files can be broken off at its checkpoints, and nothing is left open then."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from plughost import fragments
from plughost.files.checkpoints import checked, checkpoint
from plughost.files.copying import PIECE, Copier, digest
from plughost.files.snapshot import Snapshot
from plughost.files.tree import scan
from plughost.fragments.offers import Output, Strategy
from plughost.host.hook import repository


class Stop(Exception):
    """What ends the work."""


def stop() -> None:
    raise Stop


def after(count: int) -> Callable[[], None]:
    """Return a check that ends the work when it is called once more than *count* times."""
    left = iter(range(count))
    return lambda: next(left, None) is None and stop()


def copy(tree: Path) -> None:
    source, target = os.open(tree / "large", os.O_RDONLY), os.open(tree / "copy", os.O_WRONLY | os.O_CREAT)
    copier = Copier()
    copier._clones = copier._ranges = False
    try:
        copier.copy(source, target)
    finally:
        os.close(source)
        os.close(target)


def digest_of(tree: Path) -> bytes:
    fd = os.open(tree / "large", os.O_RDONLY)
    try:
        return digest(fd)
    finally:
        os.close(fd)


def put_back(tree: Path) -> None:
    with checked(None):
        snapshot = Snapshot.take(tree, tree.with_name("store"))
        (tree / "new").write_text("new\n")
    try:
        snapshot.revert()
    finally:
        with checked(None):
            snapshot.close()


OUTPUTS = [Output(name, b"new\n", ("one",), (Strategy.REPLACE,)) for name in ("a.txt", "b.txt")]
LONG: dict[str, Callable[[Path], Any]] = {
    "list": scan,
    "save": lambda tree: Snapshot.take(tree, tree.with_name("store")),
    "put back": put_back,
    "copy": copy,
    "digest": digest_of,
    "names": repository.snapshot,
    "compare": lambda tree: fragments.compare(OUTPUTS, tree),
    "write": lambda tree: fragments.write(OUTPUTS, tree),
}


@pytest.mark.parametrize("times", [0, 1])
@pytest.mark.parametrize("work", LONG)
def test_long_work_is_broken_off_and_leaves_nothing(work: str, times: int, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "a.txt").write_text("old\n")
    (tree / "below/large").write_bytes(b"x")
    (tree / "large").write_bytes(b"x" * (PIECE + 1))
    before = os.listdir("/proc/self/fd")
    with checked(after(times)), pytest.raises(Stop):
        LONG[work](tree)
    assert os.listdir("/proc/self/fd") == before
    assert (tree / "a.txt").read_text() == "old\n"
    assert [each.name for each in tmp_path.iterdir()] == ["tree"]
    assert not list(tree.glob(".plughost*"))


def test_nobody_checks_by_default_nor_after_that() -> None:
    checkpoint()
    with checked(stop):
        with checked(None):
            checkpoint()
        with pytest.raises(Stop):
            checkpoint()
    checkpoint()


def test_each_thread_has_its_own_checkpoints() -> None:
    passed = []

    def work() -> None:
        checkpoint()
        passed.append("other")

    with checked(stop):
        thread = Thread(target=work)
        thread.start()
        thread.join()
    assert passed == ["other"]
