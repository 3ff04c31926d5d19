"""A snapshot: taken, advanced, opened again and closed; with its note, and never by halves."""

import json
import os
import stat

import pytest

from plughost.errors import TreeError
from plughost.files import objects
from plughost.files.changes import ChangeKind
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from plughost.files.tree import scan
from tests.files.portrait import portrait


def copies(snapshot):
    return sorted(os.listdir(snapshot.store / "objects"))


def test_taking_and_closing_leave_no_trace(root, tmp_path):
    os.link(root / "README.md", root / "second")
    before, beside = portrait(root), os.listdir(tmp_path)
    snapshot = Snapshot.take(root, place(root), {"step": 0})
    assert portrait(root) == before
    snapshot.close()
    assert portrait(root) == before
    assert os.listdir(tmp_path) == beside
    assert {entry.nlink for entry in scan(root).values() if entry.kind == "file"} == {1, 2}


def test_a_store_is_for_its_owner_alone(root, take):
    (root / "README.md").chmod(0o777)
    (root / "another name of it").hardlink_to(root / "README.md")
    store = take(root).store
    for directory in (store, store / "objects", store / "originals"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(copy.stat().st_mode) for copy in (store / "objects").iterdir()} == {0o600}


def test_the_paths_of_a_snapshot_are_those_of_the_tree(root, take):
    entries, snapshot = scan(root), take(root)
    assert snapshot.paths == entries
    (root / "new").write_text("new")
    assert snapshot.paths.keys() == entries.keys()


def test_a_store_with_something_in_it_is_refused_and_left_alone(root, take):
    snapshot = take(root)
    with pytest.raises(TreeError) as caught:
        Snapshot.take(root, snapshot.store)
    assert caught.value.path == str(snapshot.store)
    assert snapshot.changes() == ()


def test_a_store_inside_of_its_tree_is_refused(root):
    with pytest.raises(TreeError):
        Snapshot.take(root, root / "data/store")
    assert not (root / "data/store").exists()


def test_a_file_that_is_written_to_all_the_time_is_refused_and_nothing_is_left(root, tmp_path, monkeypatch):
    attempts = []

    def busy(self, source, target):
        attempts.append(source)
        with (root / "README.md").open("a") as file:
            file.write("more\n")

    monkeypatch.setattr(objects.Copier, "copy", busy)
    for name in ("data/table.csv", "data/deep/notes.txt"):
        (root / name).unlink()
    with pytest.raises(TreeError) as caught:
        Snapshot.take(root, place(root))
    assert caught.value.path == str(root / "README.md")
    assert len(attempts) == objects.ATTEMPTS
    assert os.listdir(tmp_path) == ["tree"]


def test_a_file_that_is_written_to_once_is_copied_again(root, take, monkeypatch):
    real, busy = objects.Copier.copy, [True]

    def copy(self, source, target):
        real(self, source, target)
        if os.path.samestat(os.fstat(source), os.stat(root / "README.md")) and busy:
            busy.clear()
            (root / "README.md").write_text("the last word\n")

    monkeypatch.setattr(objects.Copier, "copy", copy)
    snapshot = take(root)
    monkeypatch.undo()
    assert snapshot.changes() == ()
    (root / "README.md").unlink()
    snapshot.revert()
    assert (root / "README.md").read_text() == "the last word\n"


def test_a_note_that_json_cannot_hold_is_refused_before_anything_is_left(root, tmp_path):
    with pytest.raises(TypeError):
        Snapshot.take(root, place(root), {"no": object()})
    assert os.listdir(tmp_path) == ["tree"]


def test_a_snapshot_opened_again_is_the_same(root, take):
    odd = os.fsdecode(b"\xff\n")
    (root / odd).symlink_to(odd)
    os.link(root / "README.md", root / "data" / odd)
    snapshot = take(root)
    again = Snapshot.open(root, snapshot.store)
    assert again.paths == snapshot.paths
    assert again.note == snapshot.note == {}
    assert again.changes() == ()
    before = portrait(root)
    (root / odd).unlink()
    (root / "README.md").write_text("other")
    again.revert()
    assert portrait(root) == before


def test_a_note_is_replaced_alone_and_found_again(root, take):
    snapshot = take(root)
    snapshot.set_note({"step": 1})
    assert snapshot.note == {"step": 1}
    assert Snapshot.open(root, snapshot.store).note == {"step": 1}


def test_advancing_accepts_the_tree_as_it_is_together_with_a_note(root, take):
    snapshot = take(root)
    snapshot.set_note({"step": 1})
    (root / "README.md").write_text("second edition\n")
    (root / "data/table.csv").unlink()
    (root / "new").mkdir()
    (root / "new/file").write_text("new")
    accepted = portrait(root)
    snapshot.advance({"step": 2})
    for each in (snapshot, Snapshot.open(root, snapshot.store)):
        assert each.changes() == ()
        assert each.note == {"step": 2}
    (root / "README.md").write_text("third")
    (root / "new/file").unlink()
    snapshot.revert()
    assert portrait(root) == accepted


def test_a_note_of_an_older_generation_does_not_count(root, take):
    snapshot = take(root)
    snapshot.set_note({"step": 1})
    stale = (snapshot.store / "note.json").read_bytes()
    snapshot.advance({"step": 2})
    (snapshot.store / "note.json").write_bytes(stale)  # as if killed before it was removed
    assert Snapshot.open(root, snapshot.store).note == {"step": 2}


def test_advancing_saves_only_what_changed_and_drops_what_is_gone(root, take):
    snapshot = take(root)
    before = copies(snapshot)
    (root / "README.md").write_text("other")
    snapshot.advance({})
    after = copies(snapshot)
    assert len(set(before) & set(after)) == 2
    assert len(after) == 3
    (root / "README.md").unlink()
    snapshot.advance({})
    assert set(copies(snapshot)) == set(before) & set(after)


@pytest.mark.parametrize("racy", [True, False])
def test_what_was_only_renamed_is_not_saved_again(root, take, monkeypatch, racy):
    monkeypatch.setattr(objects, "RACY_NS", 10**12 if racy else -(10**12))
    snapshot = take(root)
    before = copies(snapshot)
    (root / "README.md").rename(root / "README.txt")
    (root / "data").rename(root / "results")
    snapshot.advance({})
    assert copies(snapshot) == before
    accepted = portrait(root)
    (root / "README.txt").unlink()
    (root / "results/table.csv").write_text("other")
    snapshot.revert()
    assert portrait(root) == accepted


def test_advancing_is_exact_even_if_nothing_but_the_change_time_tells(root, take):
    snapshot = take(root)
    for text in ("READ ME\n", "rEAD mE\n", "ReAd Me\n"):
        before = (root / "README.md").stat()
        (root / "README.md").write_text(text)
        os.utime(root / "README.md", ns=(1, before.st_mtime_ns))
        snapshot.advance({})
        (root / "README.md").unlink()
        snapshot.revert()
        assert (root / "README.md").read_text() == text


def test_hard_links_that_come_and_go_are_followed_by_advancing(root, take, tmp_path):
    snapshot = take(root)
    os.link(root / "README.md", root / "second")
    snapshot.advance({})
    assert snapshot.paths["second"].nlink == 2
    before = portrait(root)
    (root / "second").unlink()
    snapshot.revert()
    assert portrait(root) == before
    snapshot.advance({})
    assert snapshot.paths["second"].nlink == 2
    assert len(os.listdir(snapshot.store / "originals")) == 1
    (root / "second").unlink()
    snapshot.advance({})
    assert snapshot.paths["README.md"].nlink == 1
    assert os.listdir(snapshot.store / "originals") == []
    assert snapshot.changes() == ()


def test_what_was_never_accepted_is_cleared_away_when_opened(root, take):
    snapshot = take(root)
    (snapshot.store / "objects/999").write_text("from a killed advance")
    before = portrait(root)
    again = Snapshot.open(root, snapshot.store)
    assert "999" not in copies(again)
    (root / "new").write_text("new")
    again.advance({})
    (root / "new").unlink()
    again.revert()
    assert (root / "new").read_text() == "new"
    assert before.items() <= {**portrait(root), b".": before[b"."]}.items()


def test_a_tree_that_cannot_be_read_cannot_be_accepted_and_the_old_one_still_counts(root, take, tmp_path):
    snapshot = take(root)
    before = portrait(root)
    root.rename(tmp_path / "gone")
    with pytest.raises(TreeError):
        snapshot.advance({"step": 1})
    assert snapshot.note == {}
    assert {change.kind for change in snapshot.changes()} == {ChangeKind.DELETED}
    snapshot.revert()
    assert portrait(root) == before


@pytest.mark.parametrize(
    "path",
    ["../outside", "/etc/passwd", "a//b", "data/../../x", "data/.", "", "README.md/x", "nowhere/x", "a\0b"],
)
def test_an_inventory_that_names_a_path_outside_of_the_tree_is_refused(root, take, path):
    snapshot = take(root)
    file = snapshot.store / "snapshot.json"
    document = json.loads(file.read_text())
    document["saved"][path] = document["saved"]["README.md"]
    file.write_text(json.dumps(document))
    with pytest.raises(TreeError) as caught:
        Snapshot.open(root, snapshot.store)
    assert caught.value.path == str(file)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"generation": 0}', "null", "\xff"])
def test_a_damaged_inventory_is_refused_and_named(root, take, text):
    snapshot = take(root)
    (snapshot.store / "snapshot.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(TreeError) as caught:
        Snapshot.open(root, snapshot.store)
    assert caught.value.path == str(snapshot.store / "snapshot.json")


def test_an_inventory_of_another_format_or_without_a_root_is_refused(root, take):
    snapshot = take(root)
    file = snapshot.store / "snapshot.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "format": 99}))
    with pytest.raises(TreeError):
        Snapshot.open(root, snapshot.store)
    del document["saved"]["."]
    file.write_text(json.dumps(document))
    with pytest.raises(TreeError):
        Snapshot.open(root, snapshot.store)
