"""A tree after a plugin is put back exactly: whatever was done to it, and without touching anything outside."""

import os
import shutil
import socket
import stat

import pytest

from plughost.files import tree
from plughost.files.changes import ChangeKind
from plughost.files.tree import scan
from tests.files.portrait import portrait

SIZES = [0, 1, 65_535, 65_536, 65_537, 3_145_728]
MODES = [0o000, 0o200, 0o444, 0o555, 0o600, 0o644, 0o755, 0o777, 0o1777, 0o2755, 0o4755, 0o6777]
NAMES = [b"new\nline", b"\xff\xfe\xfd", b"-rf", b"x" * 255, "ä€😀".encode(), b" ", b"a\\b", b"~", b"'\"$(id)"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("do", ["overwritten", "emptied", "longer", "deleted", "renamed", "hidden"])
def test_a_file_of_any_size_is_put_back(root, undo, size, do):
    file = root / "data/file"
    file.write_bytes(os.urandom(size))
    os.utime(file, ns=(1, 1_234_567_890_123_456_789))

    def change():
        match do:
            case "overwritten":
                file.write_bytes(b"tampered")
            case "emptied":
                os.truncate(file, 0)
                file.touch()
            case "longer":
                os.truncate(file, size + 1)
            case "deleted":
                file.unlink()
            case "renamed":
                file.rename(root / "elsewhere")
            case "hidden":
                file.write_bytes(bytes(size))
                os.utime(file, ns=(1, 1_234_567_890_123_456_789))

    undone = undo(change)
    if do in ("overwritten", "longer"):
        assert [(change.path, change.kind) for change in undone] == [("data/file", ChangeKind.MODIFIED)]


@pytest.mark.parametrize("mode", MODES, ids=oct)
@pytest.mark.parametrize("change", ["mode", "content", "deleted"])
def test_a_file_of_any_mode_is_put_back(root, undo, mode, change):
    if os.geteuid() and not mode & stat.S_IRUSR:
        pytest.skip("only root can read it at all")
    file = root / "file"
    file.write_bytes(b"content")
    file.chmod(mode)

    def do():
        file.chmod(0o640)
        if change == "content":
            file.write_bytes(b"other")
        if change == "deleted":
            file.unlink()

    undo(do)


@pytest.mark.parametrize("mode", [0o500, 0o555, 0o700, 0o777, 0o1777, 0o2755], ids=oct)
def test_a_directory_of_any_mode_is_put_back_with_what_is_in_it(root, undo, mode):
    (root / "data").chmod(mode)

    def do():
        (root / "data").chmod(0o711)
        shutil.rmtree(root / "data/deep")
        (root / "data/table.csv").write_text("other")

    undo(do)


@pytest.mark.parametrize("owner", [(1, 1), (65_534, 65_534)])
def test_an_owner_is_put_back(root, undo, owner):
    if os.geteuid():
        pytest.skip("only root can give files away")
    os.chown(root / "README.md", *owner)
    os.chmod(root / "README.md", 0o6755)
    os.chown(root / "link", *owner, follow_symlinks=False)
    os.chown(root / "empty", *owner)

    def do():
        for name in ("README.md", "empty", "link"):
            os.chown(root / name, 0, 0, follow_symlinks=False)
        (root / "README.md").write_text("other")

    undo(do)


def test_times_are_put_back_to_the_nanosecond_of_files_directories_symlinks_and_the_root(root, undo):
    for number, name in enumerate(["README.md", "data/deep", "data", "link", "."]):
        time = 1_000_000_000_123_456_789 + number
        os.utime(root / name, ns=(time, time), follow_symlinks=False)

    def do():
        for name in ["README.md", "data/deep", "data", "link", "."]:
            os.utime(root / name, ns=(5, 5), follow_symlinks=False)

    undo(do)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_put_back_and_any_new_one_removed(root, undo, name):
    path = os.fsdecode(name)
    (root / "data" / path).write_text("old")
    (root / "empty" / path).symlink_to(path)

    def do():
        (root / "data" / path).unlink()
        (root / "empty" / path).unlink()
        (root / "data/deep" / path).mkdir()
        (root / "data/deep" / path / path).write_text("new")

    undo(do)


def test_symlinks_are_put_back_as_links_dangling_or_not(root, undo, tmp_path):
    (root / "dangling").symlink_to("nowhere")
    (root / "outside").symlink_to(tmp_path)
    (root / "directory").symlink_to("data")

    def do():
        for name in ("dangling", "outside", "directory"):
            (root / name).unlink()
            (root / name).write_text("no link any more")

    undo(do)


def test_a_file_replaced_by_a_symlink_is_put_back_and_what_it_points_to_stays_untouched(root, undo, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("somebody else's")
    before = portrait(tmp_path)[b"outside"]

    def do():
        (root / "README.md").unlink()
        (root / "README.md").symlink_to(outside)

    undo(do)
    assert portrait(tmp_path)[b"outside"] == before


def test_a_directory_replaced_by_a_symlink_is_never_followed(root, undo, tmp_path):
    outside = tmp_path / "outside"
    shutil.copytree(root / "data", outside)
    (outside / "table.csv").write_text("somebody else's")
    (outside / "extra").write_text("also theirs")
    before = portrait(outside)

    def do():
        shutil.rmtree(root / "data")
        (root / "data").symlink_to(outside)

    undo(do)
    assert portrait(outside) == before


@pytest.mark.parametrize("what", ["missing", "file", "symlink", "fifo", "directory"])
def test_the_root_itself_is_put_back(root, undo, tmp_path, what):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/theirs").write_text("theirs")

    def do():
        root.rename(tmp_path / "moved")
        match what:
            case "file":
                root.write_text("a file")
            case "symlink":
                root.symlink_to(tmp_path / "outside")
            case "fifo":
                os.mkfifo(root)
            case "directory":
                root.mkdir()

    undo(do)
    assert (tmp_path / "outside/theirs").read_text() == "theirs"


SWAPS = ["file", "directory", "symlink", "fifo", "socket"]


def build(path, kind):
    match kind:
        case "file":
            path.write_text("a file")
        case "directory":
            path.mkdir()
            (path / "child").write_text("a child")
        case "symlink":
            path.symlink_to("README.md")
        case "fifo":
            os.mkfifo(path)
        case "socket":
            here = os.getcwd()
            os.chdir(path.parent)  # the path of a socket must be short
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path.name)
            os.chdir(here)


@pytest.mark.parametrize("old", SWAPS)
@pytest.mark.parametrize("new", SWAPS)
def test_anything_swapped_for_anything_else_is_put_back(root, undo, old, new):
    path = root / "swapped"
    build(path, old)

    def do():
        shutil.rmtree(path) if old == "directory" else path.unlink()
        build(path, new)

    undo(do)


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_a_special_file_is_put_back_as_the_very_same_one(root, undo, kind):
    build(root / "special", kind)
    before = (root / "special").lstat().st_ino

    def do():
        (root / "special").unlink()
        build(root / "special", kind)
        (root / "special").chmod(0o611)

    undo(do)
    assert (root / "special").lstat().st_ino == before


def test_empty_directories_are_put_back_and_new_ones_removed(root, undo):
    def do():
        (root / "empty").rmdir()
        (root / "new/and/deep").mkdir(parents=True)

    undo(do)


@pytest.mark.parametrize("name", ["README.md", "data", "data/deep", "empty", "link"])
def test_what_was_renamed_goes_back_as_the_same_inode(root, undo, name):
    before = (root / name).lstat().st_ino
    undo(lambda: (root / name).rename(root / "renamed"))
    assert (root / name).lstat().st_ino == before


def test_a_renamed_and_altered_directory_is_put_back(root, undo):
    def do():
        (root / "data").rename(root / "results")
        (root / "results/table.csv").write_text("other")
        (root / "results/deep").rename(root / "shallow")
        (root / "shallow/new").write_text("new")
        (root / "data").write_text("in the way")

    undo(do)


def test_two_files_that_swapped_names_are_put_back(root, undo):
    def do():
        (root / "README.md").rename(root / "third")
        (root / "data/table.csv").rename(root / "README.md")
        (root / "third").rename(root / "data/table.csv")

    undo(do)


def test_a_directory_moved_into_its_own_child_by_turns_is_put_back(root, undo):
    def do():
        (root / "data/deep").rename(root / "deep")
        (root / "data").rename(root / "deep/data")
        (root / "deep").rename(root / "data")

    undo(do)


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o400, 0o444, 0o555])
def test_locked_directories_that_a_plugin_left_do_not_stop_it(root, undo, mode):
    def do():
        (root / "new/deep/deeper").mkdir(parents=True)
        (root / "new/deep/file").write_text("x")
        for name in ("new/deep/deeper", "new/deep", "new", "data/deep", "data"):
            (root / name).chmod(mode)

    undo(do)


@pytest.mark.parametrize("depth", [1200, pytest.param(3000, marks=pytest.mark.long)])
def test_nothing_is_too_deep_to_be_removed(depth, root, undo):
    def do():
        fd = os.open(root / "empty", os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("deep-below", dir_fd=fd)
            below = os.open("deep-below", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
        os.close(os.open("at the bottom", os.O_CREAT, dir_fd=fd))
        os.close(fd)

    undo(do)


@pytest.mark.long
def test_nothing_is_too_deep_to_be_put_back(root, take):
    fds = [os.open(root, os.O_RDONLY)]
    for _ in range(500):
        os.mkdir("deep-below", dir_fd=fds[-1])
        fds.append(os.open("deep-below", os.O_RDONLY, dir_fd=fds[-1]))
    os.close(os.open("at the bottom", os.O_CREAT, dir_fd=fds[-1]))
    for fd in fds:
        os.close(fd)
    before, snapshot = scan(root), take(root)
    shutil.rmtree(root / "deep-below")
    snapshot.revert()
    after = scan(root)
    assert {path: (entry.kind, entry.mode, entry.mtime_ns) for path, entry in after.items()} == {
        path: (entry.kind, entry.mode, entry.mtime_ns) for path, entry in before.items()
    }
    shutil.rmtree(root / "deep-below")


def test_more_than_can_be_listed_is_removed_nevertheless(root, undo, monkeypatch):
    def do():
        for number in range(100):
            (root / f"flood{number}").write_text("x")
            (root / f"data/flood{number}/deep").mkdir(parents=True)
        monkeypatch.setattr(tree, "ENTRIES_LIMIT", 50)

    undone = undo(do)
    assert ("flood7", ChangeKind.CREATED) in [(change.path, change.kind) for change in undone]


def test_a_big_tree_is_put_back(root, undo):
    for number in range(2000):
        (root / f"many/{number % 50}").mkdir(parents=True, exist_ok=True)
        (root / f"many/{number % 50}/{number}").write_text(str(number))

    def do():
        for number in range(0, 2000, 7):
            (root / f"many/{number % 50}/{number}").unlink()
        shutil.rmtree(root / "many/13")
        (root / "many/14").rename(root / "fourteen")

    undo(do)
