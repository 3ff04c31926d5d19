"""A tree with a killed pass above or below it is refused until that is recovered; names alone refuse nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from plughost.errors import TreeError
from plughost.files import store as stores
from plughost.files.inventory import INVENTORY
from plughost.files.recovery import recover
from plughost.files.snapshot import Snapshot
from plughost.files.store import place

Take = Callable[[Path], Snapshot]


def assert_refused(tree: Path, left: Path) -> None:
    with pytest.raises(TreeError) as caught:
        Snapshot.take(tree, place(tree))
    assert caught.value.path == str(tree)
    assert f"plughost transform {left} --recover" in str(caught.value)
    assert stores.find(tree) is None


@pytest.fixture(params=["beside", "apart"])
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let stores be beside their trees, or else apart from all of them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "apart":
        monkeypatch.setattr(stores, "_can_hold", lambda parent, tree: False)
    return str(request.param)


@pytest.mark.parametrize("above", [".", "data"])
def test_a_tree_is_refused_while_one_above_it_has_to_be_recovered(
    root: Path, above: str, take: Take, where: str
) -> None:
    left = root / above
    snapshot = take(left)
    assert_refused(root / "data/deep", left)
    snapshot.close()
    take(root / "data/deep")


@pytest.mark.parametrize("below", ["data", "data/deep"])
def test_a_tree_is_refused_while_one_below_it_has_to_be_recovered(
    root: Path, below: str, take: Take, where: str
) -> None:
    left = root / below
    snapshot = take(left)
    assert_refused(root, left)
    snapshot.close()
    take(root)


@pytest.mark.parametrize("stands", ["nothing", "file", "link"])
@pytest.mark.parametrize("left", ["empty", "data/void", "data/v\xf6id"])
def test_also_where_a_plugin_has_removed_the_directory_that_has_to_be_recovered(
    root: Path, left: str, stands: str, take: Take, where: str
) -> None:
    tree = root / left
    tree.mkdir(exist_ok=True)
    snapshot = take(tree)
    tree.rmdir()
    if stands == "file":
        tree.write_text("")
    if stands == "link":
        tree.symlink_to("..")
    with pytest.raises(TreeError) as caught:
        Snapshot.take(root, place(root))
    assert shlex.join(["plughost", "transform", str(tree), "--recover"]) in caught.value.remedy
    recovered = recover(tree)
    assert recovered is not None
    recovered.close()
    assert not snapshot.store.exists()
    assert tree.is_dir()
    take(root)


def test_what_was_removed_with_all_that_it_lay_in_is_no_obstacle(root: Path, take: Take, where: str) -> None:
    take(root / "data/deep")
    shutil.rmtree(root / "data")
    take(root)


def test_a_store_that_was_moved_is_no_obstacle(
    root: Path, take: Take, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(stores, "_can_hold", lambda parent, tree: False)
    snapshot = take(root / "data/deep")
    snapshot.store.rename(snapshot.store.with_name("0" * 32))
    take(root)


def test_a_neighbour_that_has_to_be_recovered_is_no_obstacle(root: Path, take: Take, where: str) -> None:
    take(root / "data")
    take(root / "empty")


@pytest.mark.parametrize(
    "held",
    [None, "", "[]", '{"generation": 0}', json.dumps({"token": 1, "generation": 0, "format": 1})],
    ids=["nothing", "empty", "list", "part", "types"],
)
def test_what_only_has_the_name_of_a_store_is_no_obstacle(root: Path, held: str | None, take: Take) -> None:
    for foreign in (root / "data/.deep.plughost", root.parent / ".tree.plughost"):
        foreign.mkdir()
        if held is not None:
            (foreign / INVENTORY).write_text(held)
    take(root / "data")


def test_nor_are_pipes_and_links_of_that_name(root: Path, tmp_path: Path, take: Take) -> None:
    snapshot = take(root / "empty")
    snapshot.store.rename(tmp_path / "moved")
    (root / "data/.deep.plughost").symlink_to(tmp_path / "moved")
    (tmp_path / ".tree.plughost").mkdir()
    os.mkfifo(tmp_path / ".tree.plughost" / INVENTORY)
    take(root / "data")


def test_what_somebody_else_has_left_is_not_believed(
    root: Path, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(root / "data/deep")
    real = os.lstat

    def lstat(path: Path, **options: int) -> os.stat_result:
        status = real(path, **options)
        if str(path).endswith("data/.deep.plughost"):
            return os.stat_result([*status[:4], os.geteuid() + 1, *status[5:]])
        return status

    monkeypatch.setattr(os, "lstat", lstat)
    take(root)
