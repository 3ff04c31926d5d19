"""A listing of a tree: what is in it, and what is only pointed at."""

import os
import stat

import pytest

from plughost.errors import TreeError
from plughost.files import tree
from plughost.files.removal import remove
from plughost.files.tree import Kind, scan, shown


def test_every_path_is_listed_with_its_kind(root):
    os.mkfifo(root / "pipe")
    kinds = {path: entry.kind for path, entry in scan(root).items()}
    assert kinds == {
        ".": Kind.DIRECTORY,
        "README.md": Kind.FILE,
        "data": Kind.DIRECTORY,
        "data/deep": Kind.DIRECTORY,
        "data/deep/notes.txt": Kind.FILE,
        "data/table.csv": Kind.FILE,
        "empty": Kind.DIRECTORY,
        "link": Kind.SYMLINK,
        "pipe": Kind.OTHER,
    }


def test_an_entry_says_what_the_kernel_says(root):
    os.chmod(root / "README.md", 0o4751)
    entry, status = scan(root)["README.md"], os.lstat(root / "README.md")
    assert (entry.mode, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, entry.nlink) == (
        stat.S_IMODE(status.st_mode),
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        (status.st_dev, status.st_ino),
        1,
    )


def test_a_symlink_is_listed_with_its_target_and_never_followed(root, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("")
    (root / "away").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(".")
    entries = scan(root)
    assert entries["away"].target == str(tmp_path / "outside")
    assert entries["link"].target == "README.md"
    assert not [path for path in entries if path.startswith(("away/", "loop/"))]


@pytest.mark.parametrize(
    "name", [b"new\nline", b"\xff\xfe", b"-rf", b"x" * 255, "ä€😀".encode(), b" ", b"a\\b"]
)
def test_any_name_is_listed_as_it_is(root, name):
    (root / os.fsdecode(name)).write_text("")
    assert name in {os.fsencode(path) for path in scan(root)}


def test_directories_may_be_nested_deeper_than_any_path_can_say(root):
    depth = nest(root, 1000)
    try:
        assert max(path.count("deep-below") for path in scan(root)) == depth
    finally:  # nothing else that cleans up after tests can go so deep
        fd = os.open(root, os.O_RDONLY)
        remove("deep-below", fd)
        os.close(fd)


def nest(root, depth):
    """Nest directories so deep that their whole path is over 10 000 bytes."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deep-below", dir_fd=fd)
        below = os.open("deep-below", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    return depth


@pytest.mark.parametrize("name", ["README.md", "link", "nothing"])
def test_only_a_directory_can_be_listed(root, name):
    with pytest.raises(TreeError) as caught:
        scan(root / name)
    assert caught.value.path == str(root / name)


@pytest.mark.parametrize(("limit", "value"), [("ENTRIES_LIMIT", 7), ("LENGTH_LIMIT", 40)])
def test_a_tree_beyond_the_limits_is_refused(root, monkeypatch, limit, value):
    monkeypatch.setattr(tree, limit, value)
    with pytest.raises(TreeError) as caught:
        scan(root)
    assert caught.value.path == str(root)


def test_a_tree_right_at_the_limit_is_listed(root, monkeypatch):
    monkeypatch.setattr(tree, "ENTRIES_LIMIT", 8)
    assert len(scan(root)) == 8


def test_a_directory_that_cannot_be_read_is_named(ordinary):
    (ordinary / "tree/locked").mkdir(parents=True)
    (ordinary / "tree/locked").chmod(0)
    with pytest.raises(TreeError) as caught:
        scan(ordinary / "tree")
    assert caught.value.path == str(ordinary / "tree/locked")


def test_a_path_is_shown_in_one_line_that_anything_can_print(root):
    text = shown(root, os.fsdecode(b"a\nb\x1b[31m\xff"))
    assert text.isprintable()
    assert text.encode()
