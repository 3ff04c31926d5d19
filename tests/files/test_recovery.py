"""After a crash: the tree as it was, nothing of anybody's lost, and as often as it takes."""

import os
import shutil

import pytest

from plughost.errors import TreeError
from plughost.files import mending, recovery
from plughost.files.changes import ChangeKind
from plughost.files.recovery import Recovered, recover
from plughost.files.snapshot import Snapshot
from plughost.files.store import create, find, place
from tests.files.portrait import portrait


@pytest.fixture
def crashed(root):
    """A tree whose host died: what was saved is there, and nobody closed it."""
    return Snapshot.take(root, place(root), {"step": 3})


def test_without_a_store_there_is_nothing_to_recover(root):
    assert recover(root) is None


def test_a_store_that_was_never_complete_is_removed_and_the_tree_left_alone(root, tmp_path):
    create(place(root), root)
    (place(root) / "snapshot.json.new").write_text("half of it")
    before = portrait(root)
    assert recover(root) == Recovered((), None, None)
    assert portrait(root) == before
    assert os.listdir(tmp_path) == ["tree"]
    assert recover(root) is None


def test_a_tree_that_was_not_touched_is_left_alone(root, crashed):
    before = portrait(root)
    recovered = recover(root)
    assert (recovered.changes, recovered.note, recovered.displaced) == ((), {"step": 3}, None)
    assert portrait(root) == before
    assert find(root) is not None, "it is the caller's to close"
    recovered.close()
    assert find(root) is None


def test_what_stood_in_the_way_is_kept_under_its_own_path(root, tmp_path, crashed):
    before = portrait(root)
    (root / "README.md").write_text("edited after the crash")
    (root / "data/table.csv").unlink()
    (root / "data/new").write_text("new")
    (root / "fresh/dir").mkdir(parents=True)
    (root / "fresh/dir/file").write_text("fresh")
    (root / "link").unlink()
    (root / "link").symlink_to("elsewhere")
    recovered = recover(root)
    assert portrait(root) == before
    kept = recovered.displaced
    assert kept.parent == tmp_path
    assert kept.name.startswith("tree.plughost-displaced-")
    assert (kept / "README.md").read_text() == "edited after the crash"
    assert (kept / "data/new").read_text() == "new"
    assert (kept / "fresh/dir/file").read_text() == "fresh"
    assert os.readlink(kept / "link") == "elsewhere"
    assert sorted(os.listdir(kept)) == ["README.md", "data", "fresh", "link"]
    assert {(change.path, change.kind) for change in recovered.changes} == {
        ("README.md", ChangeKind.MODIFIED),
        ("data/table.csv", ChangeKind.DELETED),
        ("data/new", ChangeKind.CREATED),
        ("fresh", ChangeKind.CREATED),
        ("fresh/dir", ChangeKind.CREATED),
        ("fresh/dir/file", ChangeKind.CREATED),
        ("link", ChangeKind.MODIFIED),
    }
    recovered.close()
    assert kept.is_dir()


def test_what_holds_nothing_new_is_not_kept(root, crashed):
    before = portrait(root)
    (root / "README.md").chmod(0o600)
    os.utime(root / "data/table.csv", ns=(1, 1))
    shutil.copyfile(root / "data/deep/notes.txt", root / "copy")
    (root / "copy").replace(root / "data/deep/notes.txt")
    os.utime(root / "link", ns=(1, 1), follow_symlinks=False)
    (root / "data").rename(root / "results")
    recovered = recover(root)
    assert portrait(root) == before
    assert recovered.displaced is None
    recovered.close()


def test_our_own_temporary_files_are_removed_and_not_kept(root, crashed, monkeypatch):
    before = portrait(root)
    (root / "README.md").unlink()

    def die(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(mending.Mender, "_replace", die)
    with pytest.raises(KeyboardInterrupt):
        crashed.revert()
    monkeypatch.undo()
    assert [name for name in os.listdir(root) if name.startswith(".plughost-")]
    recovered = recover(root)
    assert portrait(root) == before
    assert recovered.displaced is None
    recovered.close()


def test_the_content_of_a_file_of_several_names_is_kept_too(root, tmp_path):
    os.link(root / "README.md", tmp_path / "outside")
    Snapshot.take(root, place(root))
    before = portrait(root)
    (tmp_path / "outside").write_text("edited through another name")
    recovered = recover(root)
    assert portrait(root) == before
    assert (tmp_path / "outside").read_text() == "read me\n"
    assert (recovered.displaced / "README.md").read_text() == "edited through another name"
    recovered.close()


@pytest.mark.parametrize("what", ["missing", "file", "symlink"])
def test_a_root_that_is_gone_or_something_else_is_put_back(root, tmp_path, crashed, what):
    before = portrait(root)
    root.rename(tmp_path / "moved")
    if what == "file":
        root.write_text("in its place")
    if what == "symlink":
        root.symlink_to(tmp_path / "moved")
    recovered = recover(root)
    assert portrait(root) == before
    if what == "file":
        assert (recovered.displaced / "tree").read_text() == "in its place"
    if what == "symlink":
        assert os.readlink(recovered.displaced / "tree") == str(tmp_path / "moved")
    assert (tmp_path / "moved/README.md").exists()
    recovered.close()


def test_recovering_twice_keeps_everything_in_one_directory(root, crashed):
    before = portrait(root)
    for text in ("first", "second", "third"):
        (root / "README.md").write_text(text)
        recovered = recover(root)
        assert portrait(root) == before
    texts = {path.read_text() for path in recovered.displaced.iterdir()}
    assert texts == {"first", "second", "third"}
    recovered.close()


def test_what_was_displaced_before_may_stand_in_the_way_of_more(root, crashed):
    (root / "new").write_text("a file")
    recover(root)
    (root / "new").mkdir()
    (root / "new/file").write_text("in a directory")
    recovered = recover(root)
    assert (recovered.displaced / "new").read_text() == "a file"
    assert (recovered.displaced / "new~2/file").read_text() == "in a directory"
    (root / "data").rename(root / "moved")
    (root / "data").write_text("a file again")
    recovered = recover(root)
    (root / "data/extra").write_text("extra")
    recovered = recover(root)
    assert sorted(path.name for path in recovered.displaced.iterdir()) == [
        "data",
        "extra",
        "moved",
        "new",
        "new~2",
    ]
    recovered.close()


def test_another_filesystem_is_copied_to(root, crashed, monkeypatch):
    real = os.rename

    def rename(source, target, *, src_dir_fd=None, dst_dir_fd=None):
        here, there = os.fstat(src_dir_fd), os.fstat(dst_dir_fd)
        kept = recovery.Displaced(root, crashed.store).directory
        if kept is not None and there.st_ino == kept.stat().st_ino != here.st_ino:
            raise OSError(18, "Invalid cross-device link")
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", rename)
    before = portrait(root)
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/file").write_text("x")
    (root / "new/link").symlink_to("nowhere")
    (root / "single").write_text("y")
    recovered = recover(root)
    assert portrait(root) == before
    assert (recovered.displaced / "new/deep/file").read_text() == "x"
    assert os.readlink(recovered.displaced / "new/link") == "nowhere"
    assert (recovered.displaced / "single").read_text() == "y"
    recovered.close()


def test_a_damaged_inventory_is_named_and_nothing_touched(root, crashed):
    (crashed.store / "snapshot.json").write_text("{")
    before = portrait(root)
    with pytest.raises(TreeError):
        recover(root)
    assert portrait(root) == before
    assert find(root) is not None


def test_a_damaged_copy_never_replaces_a_file(root, crashed):
    for copy in (crashed.store / "objects").iterdir():
        os.truncate(copy, 0)
    (root / "README.md").write_text("edited")
    with pytest.raises(TreeError):
        recover(root)
    assert (root / "README.md").read_text() == "edited"


def test_another_directory_of_that_name_is_not_taken_for_the_one_that_was_saved(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    (root / "old").write_text("old")
    Snapshot.take(root, place(root))
    root.rename(tmp_path / "moved")
    root.mkdir()
    (root / "new").write_text("new")
    with pytest.raises(TreeError):
        recover(root)
    assert [path.name for path in root.iterdir()] == ["new"]
    recovered = recover(root, replaced=True)
    assert recovered is not None
    assert recovered.displaced is not None
    assert [path.name for path in root.iterdir()] == ["old"]
    assert (recovered.displaced / "new").read_text() == "new"
    recovered.close()
