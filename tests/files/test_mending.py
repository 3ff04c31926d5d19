"""One path is put back: whole or not at all, as the same file where it has several names, and nobody else's."""

import errno
import os

import pytest

from plughost.errors import TreeError
from plughost.files.copying import Copier
from tests.files.portrait import portrait


def test_an_enormous_sparse_file_is_put_back_sparse(root, take):
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 29)
        file.write(b"in the middle")
    snapshot = take(root)
    (root / "sparse").write_bytes(b"x")
    snapshot.revert()
    assert snapshot.changes() == ()
    status = (root / "sparse").stat()
    assert status.st_size == 1 << 30
    assert status.st_blocks * 512 < 1 << 20
    with (root / "sparse").open("rb") as file:
        file.seek((1 << 29) - 5)
        assert file.read(30) == bytes(5) + b"in the middle" + bytes(12)


def test_a_file_replaced_by_a_hard_link_is_put_back_and_the_other_name_stays_untouched(root, undo, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("read me\n")
    outside.chmod(0o600)
    os.utime(outside, ns=(7, 7))
    before = portrait(tmp_path)[b"outside"]

    def do():
        (root / "README.md").unlink()
        os.link(outside, root / "README.md")

    undo(do)
    assert portrait(tmp_path)[b"outside"] == before


@pytest.mark.parametrize("do", ["written", "replaced", "deleted", "one deleted", "mode"])
def test_hard_links_inside_and_outside_of_the_tree_stay_one_file(root, undo, tmp_path, do):
    first, second, outside = root / "README.md", root / "data/second", tmp_path / "outside"
    os.link(first, second)
    os.link(first, outside)
    inode = first.stat().st_ino

    def change():
        match do:
            case "written":
                second.write_text("written through one of the names")
            case "replaced":
                (root / "new").write_text("another inode")
                (root / "new").replace(first)
            case "deleted":
                first.unlink()
                second.unlink()
            case "one deleted":
                outside.write_text("written from outside")
                second.unlink()
            case "mode":
                outside.chmod(0o600)

    undo(change)
    assert {path.stat().st_ino for path in (first, second, outside)} == {inode}
    assert outside.read_text() == "read me\n"


@pytest.fixture
def unlinkable(monkeypatch):
    """Let the store be on another filesystem, as far as hard links can tell."""
    real = os.link

    def link(source, target, **options):
        if "originals" in os.fspath(target):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        real(source, target, **options)

    monkeypatch.setattr(os, "link", link)


@pytest.mark.parametrize("do", ["written", "one deleted", "both deleted", "one replaced"])
def test_hard_links_stay_one_file_where_the_store_cannot_link_to_them(root, undo, unlinkable, do):
    first, second = root / "README.md", root / "data/second"
    os.link(first, second)
    os.mkfifo(root / "pipe")

    def change():
        (root / "pipe").unlink()
        if do != "both deleted":
            second.write_text("other")
        if do != "written":
            first.unlink()
        if do == "both deleted":
            second.unlink()
        if do == "one replaced":
            first.symlink_to("link")

    undo(change)
    assert first.stat().st_ino == second.stat().st_ino


def test_a_name_outside_that_cannot_be_joined_again_is_not_kept_silent(root, take, unlinkable, tmp_path):
    os.link(root / "README.md", tmp_path / "outside")
    snapshot = take(root)
    (root / "README.md").unlink()
    with pytest.raises(TreeError) as caught:
        snapshot.revert()
    assert caught.value.path == str(root / "README.md")
    assert (root / "README.md").read_text() == "read me\n"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no extended attributes")
@pytest.mark.parametrize("do", ["changed", "removed", "added", "file deleted", "file written"])
def test_extended_attributes_are_put_back(root, undo, do):
    try:
        for name in ("README.md", "data", "."):
            os.setxattr(root / name, "user.mark", b"\x00\xff")
    except OSError as error:
        pytest.skip(f"this filesystem has no extended attributes: {error}")

    def change():
        for name in ("README.md", "data", "."):
            match do:
                case "changed":
                    os.setxattr(root / name, "user.mark", b"other")
                case "removed":
                    os.removexattr(root / name, "user.mark")
                case "added":
                    os.setxattr(root / name, "user.more", b"more")
        if do == "file deleted":
            (root / "README.md").unlink()
        if do == "file written":
            (root / "README.md").write_text("other")

    undo(change)


def test_a_file_that_is_put_back_is_never_seen_by_halves(root, take, monkeypatch):
    snapshot = take(root)
    (root / "README.md").write_text("other")
    real, seen = os.copy_file_range, []

    def copy(*arguments):
        seen.append((root / "README.md").read_text())
        return real(*arguments)

    monkeypatch.setattr(os, "copy_file_range", copy)
    snapshot.revert()
    assert seen == ["other"]
    assert (root / "README.md").read_text() == "read me\n"


def test_what_cannot_be_put_back_is_named_and_all_else_is_put_back(root, take):
    snapshot = take(root)
    saved = snapshot.store / "objects"
    for copy in saved.iterdir():
        if copy.read_text() == "read me\n":
            copy.write_text("")
    (root / "README.md").write_text("other")
    (root / "data/table.csv").unlink()
    with pytest.raises(TreeError) as caught:
        snapshot.revert()
    assert caught.value.path == str(root / "README.md")
    assert (root / "README.md").read_text() == "other", "better what is there than a damaged copy"
    assert (root / "data/table.csv").read_text() == "a,b\n1,2\n"
    assert not [path for path in os.listdir(root) if path.startswith(".plughost")]


def test_a_disk_that_is_full_leaves_no_temporary_file(root, take, monkeypatch):
    snapshot = take(root)
    (root / "README.md").write_text("other")

    def copy(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Copier, "copy", copy)
    with pytest.raises(TreeError) as caught:
        snapshot.revert()
    assert caught.value.path == str(root / "README.md")
    assert sorted(os.listdir(root)) == ["README.md", "data", "empty", "link"]
    monkeypatch.undo()
    assert [change.path for change in snapshot.revert()] == ["README.md"]
