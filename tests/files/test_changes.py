"""Two listings of a tree: what is reported as changed, under which word, and what is not."""

import os

import pytest

from plughost.files import objects
from plughost.files.changes import Change, ChangeKind, compare
from plughost.files.tree import Entry, Kind

CREATED, MODIFIED, DELETED, RENAMED = ChangeKind


def rewrite(path, text):
    """Write over a file, and put its size and time back: only the change time tells."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def found(snapshot):
    return [(change.kind, change.path, change.before) for change in snapshot.changes()]


def test_nothing_done_is_nothing_reported(root, take):
    assert found(take(root)) == []


def test_created_modified_and_deleted_paths_are_reported_in_the_order_of_their_names(root, take):
    snapshot = take(root)
    (root / "new.txt").write_text("entirely new")
    (root / "README.md").write_text("other")
    (root / "data/table.csv").unlink()
    (root / "empty").rmdir()
    (root / "fresh").mkdir()
    assert found(snapshot) == [
        (MODIFIED, "README.md", None),
        (DELETED, "data/table.csv", None),
        (DELETED, "empty", None),
        (CREATED, "fresh", None),
        (CREATED, "new.txt", None),
    ]


@pytest.mark.parametrize("racy", [True, False])
def test_a_change_that_hides_its_time_is_noticed(root, take, monkeypatch, racy):
    monkeypatch.setattr(objects, "RACY_NS", 10**12 if racy else -(10**12))
    snapshot = take(root)
    rewrite(root / "README.md", "RE4D ME\n")
    assert found(snapshot) == [(MODIFIED, "README.md", None)]


def test_where_the_clock_is_too_coarse_the_content_decides():
    entry = Entry(Kind.FILE, 0o644, 0, 0, 5, 1, 1, 1, 1, 1)

    class Differs:
        def same(self, path):
            return False

    assert compare({"a": entry}, {"a": entry}, Differs(), {"a"}) == (Change("a", MODIFIED),)
    assert compare({"a": entry}, {"a": entry}, Differs()) == ()


def test_what_cannot_have_changed_is_not_even_opened(root, take, monkeypatch):
    monkeypatch.setattr(objects, "RACY_NS", -(10**12))
    snapshot = take(root)
    monkeypatch.setattr("plughost.files.contents.same", lambda *_: pytest.fail("it was read"))
    assert found(snapshot) == []


@pytest.mark.parametrize(
    "do",
    [
        lambda root: os.utime(root / "README.md", ns=(1, 1)),
        lambda root: os.chmod(root / "README.md", 0o600),
        lambda root: (root / "README.md").write_text(""),
        lambda root: (os.unlink(root / "README.md"), os.symlink("data/table.csv", root / "README.md")),
        lambda root: (os.unlink(root / "README.md"), os.mkdir(root / "README.md")),
        lambda root: (os.unlink(root / "README.md"), os.mkfifo(root / "README.md")),
    ],
    ids=["time", "mode", "emptied", "symlink", "directory", "fifo"],
)
def test_anything_done_to_a_file_modifies_it(root, take, do):
    snapshot = take(root)
    do(root)
    assert found(snapshot) == [(MODIFIED, "README.md", None)]


def test_a_symlink_that_points_elsewhere_is_modified(root, take):
    snapshot = take(root)
    (root / "link").unlink()
    (root / "link").symlink_to("data")
    assert found(snapshot) == [(MODIFIED, "link", None)]


@pytest.mark.parametrize("name", ["README.md", "data/table.csv"])
def test_another_hard_link_elsewhere_changes_nothing(root, take, tmp_path, name):
    snapshot = take(root)
    os.link(root / name, tmp_path / "elsewhere")
    assert found(snapshot) == []


def test_the_same_content_saved_anew_with_the_same_time_changes_nothing(root, take):
    snapshot = take(root)
    before = (root / "README.md").stat()
    (root / "copy").write_text("read me\n")
    os.utime(root / "copy", ns=(1, before.st_mtime_ns))
    os.chmod(root / "copy", before.st_mode)
    (root / "copy").replace(root / "README.md")
    assert found(snapshot) == []


def test_a_file_that_lost_its_other_names_is_modified_even_if_it_reads_the_same(root, take, tmp_path):
    os.link(root / "README.md", tmp_path / "other name")
    snapshot = take(root)
    before = (root / "README.md").stat()
    (root / "README.md").unlink()
    (root / "README.md").write_text("read me\n")
    os.utime(root / "README.md", ns=(1, before.st_mtime_ns))
    assert found(snapshot) == [(MODIFIED, "README.md", None)]


def test_a_file_that_became_another_name_of_one_that_reads_the_same_is_modified(root, take):
    for name in ("one", "two"):
        (root / name).write_text("the same")
        os.utime(root / name, ns=(1, 1))
    snapshot = take(root)
    (root / "two").unlink()
    os.link(root / "one", root / "two")
    assert found(snapshot) == [(MODIFIED, "two", None)]


def test_a_directory_is_modified_by_its_mode_and_not_by_what_is_in_it(root, take):
    snapshot = take(root)
    (root / "data/new").write_text("new")
    assert found(snapshot) == [(CREATED, "data/new", None)]
    (root / "data").chmod(0o700)
    assert found(snapshot) == [(MODIFIED, "data", None), (CREATED, "data/new", None)]
    root.chmod(0o711)
    assert (MODIFIED, ".", None) in found(snapshot)


def test_a_renamed_file_is_one_change(root, take):
    snapshot = take(root)
    (root / "README.md").rename(root / "data/README.txt")
    assert found(snapshot) == [(RENAMED, "data/README.txt", "README.md")]


def test_a_file_copied_and_deleted_is_renamed_if_its_content_is_nobody_elses(root, take):
    snapshot = take(root)
    (root / "moved").write_text((root / "README.md").read_text())
    (root / "README.md").unlink()
    assert found(snapshot) == [(RENAMED, "moved", "README.md")]


def test_two_copies_of_a_deleted_file_are_two_new_files(root, take):
    snapshot = take(root)
    text = (root / "README.md").read_text()
    (root / "one").write_text(text)
    (root / "two").write_text(text)
    (root / "README.md").unlink()
    kinds = [kind for kind, _, _ in found(snapshot)]
    assert sorted(kinds) == [CREATED, CREATED, DELETED]


def test_the_number_of_a_deleted_file_given_to_a_new_one_is_no_rename(root, take):
    (root / "victim").write_text("what it was")
    snapshot = take(root)
    for attempt in range(100):
        (root / "victim").unlink(missing_ok=True)
        (root / f"new{attempt}").write_text("what is new")
    (root / "victim").unlink(missing_ok=True)
    assert RENAMED not in {kind for kind, _, _ in found(snapshot)}


def test_empty_files_are_renamed_only_if_they_are_the_same_file(root, take):
    (root / "one").touch()
    (root / "two").touch()
    snapshot = take(root)
    (root / "one").rename(root / "uno")
    (root / "two").unlink()
    (root / "due").touch()
    assert (RENAMED, "uno", "one") in found(snapshot)
    assert (DELETED, "two", None) in found(snapshot)
    assert (CREATED, "due", None) in found(snapshot)


def test_symlinks_and_fifos_can_be_renamed(root, take):
    os.mkfifo(root / "pipe")
    snapshot = take(root)
    (root / "link").rename(root / "link2")
    (root / "pipe").rename(root / "pipe2")
    assert found(snapshot) == [(RENAMED, "link2", "link"), (RENAMED, "pipe2", "pipe")]


def test_a_renamed_directory_stands_for_all_that_is_in_it(root, take):
    snapshot = take(root)
    (root / "data").rename(root / "results")
    assert found(snapshot) == [(RENAMED, "results", "data")]


def test_an_empty_directory_can_be_renamed(root, take):
    snapshot = take(root)
    (root / "empty").rename(root / "data/void")
    assert found(snapshot) == [(RENAMED, "data/void", "empty")]


def test_what_changed_inside_of_a_renamed_directory_is_reported_besides(root, take):
    (root / "data/a").write_text("a" * 10)
    (root / "data/b").write_text("b" * 11)
    snapshot = take(root)
    (root / "data").rename(root / "results")
    (root / "results/table.csv").write_text("other")
    (root / "results/new").write_text("new")
    (root / "results/a").unlink()
    (root / "results/b").rename(root / "results/c")
    (root / "results/deep").chmod(0o700)
    assert found(snapshot) == [
        (DELETED, "data/a", None),
        (RENAMED, "results", "data"),
        (RENAMED, "results/c", "data/b"),
        (MODIFIED, "results/deep", None),
        (CREATED, "results/new", None),
        (MODIFIED, "results/table.csv", None),
    ]


def test_a_directory_moved_out_of_a_renamed_one_is_renamed_itself(root, take):
    snapshot = take(root)
    (root / "data").rename(root / "results")
    (root / "results/deep").rename(root / "shallow")
    assert found(snapshot) == [(RENAMED, "results", "data"), (RENAMED, "shallow", "data/deep")]


def test_a_directory_whose_files_all_moved_elsewhere_is_deleted(root, take):
    snapshot = take(root)
    (root / "fresh").mkdir()
    (root / "data/deep/notes.txt").rename(root / "fresh/notes.txt")
    (root / "data/deep").rmdir()
    assert found(snapshot) == [
        (DELETED, "data/deep", None),
        (CREATED, "fresh", None),
        (RENAMED, "fresh/notes.txt", "data/deep/notes.txt"),
    ]


def test_a_root_that_is_gone_or_something_else_is_a_change_of_the_root(root, take, tmp_path):
    snapshot = take(root)
    root.rename(tmp_path / "gone")
    assert found(snapshot)[0] == (DELETED, ".", None)
    root.symlink_to(tmp_path / "gone")
    assert found(snapshot)[0] == (MODIFIED, ".", None)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no extended attributes")
@pytest.mark.parametrize("name", ["README.md", "data", "."])
def test_another_extended_attribute_is_a_modification(root, take, name):
    snapshot = take(root)
    try:
        os.setxattr(root / name, "user.mark", b"1")
    except OSError as error:
        pytest.skip(f"this filesystem has no extended attributes: {error}")
    assert found(snapshot) == [(MODIFIED, name, None)]


def test_changes_can_be_asked_for_without_any_content(root):
    entry = Entry(Kind.FILE, 0o644, 0, 0, 5, 1, 1, 1, 7, 1)
    moved = Entry(Kind.FILE, 0o644, 0, 0, 5, 1, 2, 1, 7, 1)
    assert compare({"a": entry}, {"b": moved}) == (Change("b", RENAMED, "a"),)
    assert compare({"a": entry}, {"a": moved}) == (Change("a", MODIFIED),)
