"""Where what is saved of a tree lives, and whose it must be."""

import os
from pathlib import Path

import pytest

from plughost.errors import TreeError
from plughost.files import store as stores
from plughost.files.store import create, find, place, remove_store


def test_a_store_lies_beside_its_tree(root):
    assert place(root) == root.parent / ".tree.plughost"


def test_a_root_that_is_a_link_is_resolved_first(root, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/link").symlink_to(root)
    assert place(tmp_path / "elsewhere/link") == place(root)
    create(place(root), root)
    assert find(tmp_path / "elsewhere/link") == place(root)


@pytest.mark.parametrize("name", ["README.md", "nothing", "dangling", "loop"])
def test_only_a_directory_has_a_place(root, name):
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    with pytest.raises(TreeError):
        place(root / name)


def test_the_whole_filesystem_is_refused():
    with pytest.raises(TreeError):
        place(Path("/"))


@pytest.mark.parametrize("state", ["set", "relative", "unset"])
def test_a_name_too_long_for_a_neighbour_goes_to_the_state_directory(tmp_path, monkeypatch, state):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state") if state == "set" else "state")
    if state == "unset":
        monkeypatch.delenv("XDG_STATE_HOME")
    root = tmp_path / ("x" * 255)
    root.mkdir()
    base = tmp_path / "state" if state == "set" else tmp_path / "home/.local/state"
    assert place(root).parent == base / "plughost/passes"
    assert find(root) is None
    create(place(root), root)
    assert find(root) == place(root)


def test_a_store_on_another_filesystem_goes_to_the_state_directory(root, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(stores, "_can_hold", lambda parent, tree: False)
    assert place(root).is_relative_to(tmp_path / "state")


def test_there_is_no_place_inside_of_the_tree(root, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    monkeypatch.setattr(stores, "_can_hold", lambda parent, tree: False)
    with pytest.raises(TreeError):
        place(root)


def test_a_store_is_found_even_if_the_root_is_gone_or_a_link_by_now(root, tmp_path):
    store = place(root)
    assert find(root) is None
    create(store, root)
    root.rename(tmp_path / "moved")
    assert find(root) == store
    root.symlink_to(tmp_path / "moved")
    assert find(root) == store


@pytest.mark.parametrize("kind", ["file", "symlink"])
def test_what_is_no_directory_is_not_taken_for_a_store(root, tmp_path, kind):
    store = place(root)
    if kind == "file":
        store.write_text("")
    else:
        (tmp_path / "forged").mkdir()
        store.symlink_to(tmp_path / "forged")
    with pytest.raises(TreeError) as caught:
        find(root)
    assert caught.value.path == str(store)
    with pytest.raises(TreeError):
        create(store, root)


def test_a_store_of_another_user_is_not_believed(root):
    if os.geteuid():
        pytest.skip("only root can make a directory of another user")
    store = place(root)
    store.mkdir()
    os.chown(store, 65_534, 65_534)
    with pytest.raises(TreeError):
        find(root)


def test_removing_a_store_twice_does_no_harm(root):
    create(place(root), root)
    remove_store(place(root))
    remove_store(place(root))
    assert find(root) is None


def test_what_stands_in_a_store_is_removed_whatever_it_is(root):
    store = place(root)
    create(store, root)
    (store / "objects").mkdir()
    (store / "objects" / "1").write_text("a copy")
    (store / "originals" / "deeper").mkdir(parents=True)
    (store / "note.json").write_text("{}")
    remove_store(store)
    assert not os.path.lexists(store)


def test_nothing_is_removed_through_a_link_that_stands_in_a_store(root, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "1").write_text("not a copy")
    store = place(root)
    create(store, root)
    (store / "objects").symlink_to(tmp_path / "elsewhere")
    remove_store(store)
    assert not os.path.lexists(store)
    assert (tmp_path / "elsewhere" / "1").read_text() == "not a copy"
