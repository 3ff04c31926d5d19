"""Who is not root can be locked out: what is put back nevertheless, and what is refused by name."""

import os
import shutil
import struct
from contextlib import contextmanager

import pytest

from plughost.errors import TreeError
from plughost.files.lock import TreeLock
from plughost.files.recovery import recover
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from tests.files.portrait import portrait

NOBODY_IN_PARTICULAR = 0xFFFF_FFFF  # of an entry of an ACL that names nobody
with_xattrs = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no extended attributes")


def acl(owner: int) -> bytes:
    """Return an ACL that lets the user 1234 read, and the owner do what *owner* says, as the kernel takes it."""
    entries = [(1, owner), (2, 4), (4, 4), (16, 4), (32, 0)]
    packed = [
        struct.pack("<HHI", tag, may, 1_234 if tag == 2 else NOBODY_IN_PARTICULAR) for tag, may in entries
    ]
    return b"".join([struct.pack("<I", 2), *packed])


def mark(path, **attributes: bytes) -> None:
    try:
        for name, value in attributes.items():
            os.setxattr(path, name.replace("__", "."), value)
    except OSError as error:
        pytest.skip(f"this filesystem has no such attributes: {error}")


@contextmanager
def writable(path):
    mode = path.stat().st_mode & 0o777
    path.chmod(mode | 0o200)
    yield
    path.chmod(mode)


@pytest.fixture
def own(ordinary):
    tree = ordinary / "tree"
    (tree / "data/deep").mkdir(parents=True)
    (tree / "data/deep/file").write_text("content\n")
    (tree / "README.md").write_text("read me\n")
    (tree / "README.md").chmod(0o444)
    return tree


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o300, 0o400, 0o444, 0o500, 0o555], ids=oct)
def test_locked_directories_are_opened_up_and_put_back(own, mode):
    (own / "data").chmod(0o555)
    before, snapshot = portrait(own), Snapshot.take(own, place(own))
    (own / "data").chmod(0o755)
    (own / "data/deep/file").unlink()
    (own / "new/deep/deeper").mkdir(parents=True)
    (own / "new/deep/file").write_text("x")
    for name in ("new/deep/deeper", "new/deep", "new", "data/deep", "data", "."):
        (own / name).chmod(mode)
    found = snapshot.changes()
    assert own.stat().st_mode & 0o777 == mode, "looking changes nothing"
    assert {change.path for change in found} >= {"data/deep/file", "new/deep/deeper"}
    assert snapshot.revert() == found
    assert portrait(own) == before
    snapshot.close()


def test_what_is_displaced_may_be_locked_too(own, ordinary):
    before = portrait(own)
    Snapshot.take(own, place(own))
    (own / "new/deep").mkdir(parents=True)
    (own / "new/deep/file").write_text("kept")
    (own / "new/deep").chmod(0)
    (own / "new").chmod(0)
    (own / "data").chmod(0)
    recovered = recover(own)
    assert portrait(own) == before
    assert (recovered.displaced / "new").is_dir()
    recovered.close()


@pytest.mark.parametrize("mode", [0o000, 0o200, 0o444], ids=oct)
def test_files_without_permissions_are_put_back(own, mode):
    os.link(own / "README.md", own / "second")
    before, snapshot = portrait(own), Snapshot.take(own, place(own))
    for name in ("README.md", "data/deep/file"):
        (own / name).chmod(0o600)
        (own / name).write_text("other")
        (own / name).chmod(mode)
    snapshot.revert()
    assert portrait(own) == before
    snapshot.close()


def test_a_mode_alone_is_put_back_without_another_inode(own):
    before, snapshot = portrait(own), Snapshot.take(own, place(own))
    inode = (own / "README.md").stat().st_ino
    (own / "README.md").chmod(0)
    snapshot.revert()
    assert portrait(own) == before
    assert (own / "README.md").stat().st_ino == inode
    snapshot.close()


@pytest.fixture
def marked(own):
    """The tree with a file and a directory that not even we may write to, and that have attributes and ACLs."""
    (own / "closed").mkdir()
    for name, owner, more in (("README.md", 4, {}), ("closed", 5, {"system__posix_acl_default": acl(7)})):
        with writable(own / name):
            mark(own / name, user__a=b"1", user__z=b"2", system__posix_acl_access=acl(owner | 2), **more)
        (own / name).chmod(0o440 if owner == 4 else 0o540)
    return own


def strip(path) -> None:
    for name in os.listxattr(path):
        os.removexattr(path, name)


ATTRIBUTE_CHANGES = {
    "gone": lambda path: path.rmdir() if path.is_dir() else path.unlink(),
    "changed": lambda path: mark(path, user__a=b"other"),
    "added": lambda path: mark(path, user__more=b"more"),
    "removed": lambda path: os.removexattr(path, "user.z"),
    "all removed": strip,
    "another ACL": lambda path: mark(path, system__posix_acl_access=acl(6), user__a=b"other"),
}


@with_xattrs
@pytest.mark.parametrize("killed", [False, True], ids=["at once", "by recovery"])
@pytest.mark.parametrize("several", [False, True], ids=["one name", "two names"])
@pytest.mark.parametrize("how", ATTRIBUTE_CHANGES)
def test_attributes_of_what_even_its_owner_may_only_read_are_put_back(marked, how, several, killed):
    if several:
        os.link(marked / "README.md", marked / "second")
    before, snapshot = portrait(marked), Snapshot.take(marked, place(marked))
    for path in (marked / "README.md", marked / "closed"):
        mode = path.stat().st_mode & 0o777
        path.chmod(mode | 0o200)
        ATTRIBUTE_CHANGES[how](path)
        if path.exists():
            path.chmod(mode)
    if killed:
        recover(marked).close()
    else:
        snapshot.revert()
        assert snapshot.conceded == ()
        snapshot.close()
    assert portrait(marked) == before


def test_a_file_that_cannot_be_read_is_named_and_nothing_is_left_behind(own, ordinary):
    (own / "secret").write_text("x")
    (own / "secret").chmod(0)
    with pytest.raises(TreeError) as caught:
        Snapshot.take(own, place(own))
    assert caught.value.path == str(own / "secret")
    assert os.listdir(ordinary) == ["tree"]


def test_what_cannot_be_read_any_more_cannot_be_accepted(own):
    snapshot = Snapshot.take(own, place(own), {"step": 1})
    (own / "secret").write_text("x")
    (own / "secret").chmod(0)
    with pytest.raises(TreeError) as caught:
        snapshot.advance({"step": 2})
    assert caught.value.path == str(own / "secret")
    assert snapshot.note == {"step": 1}
    snapshot.revert()
    assert not (own / "secret").exists()
    snapshot.close()


def test_a_store_goes_elsewhere_if_there_is_no_place_beside_the_tree(own, ordinary, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(ordinary / "state"))
    beside = place(own)
    (ordinary / "state").mkdir()
    ordinary.chmod(0o555)
    store = place(own)
    assert store != beside
    assert store.is_relative_to(ordinary / "state")
    before, snapshot = portrait(own), Snapshot.take(own, store)
    shutil.rmtree(own / "data")
    (own / "new").write_text("new")
    recovered = recover(own)
    assert portrait(own) == before
    assert (recovered.displaced / "new").read_text() == "new"
    recovered.close()
    assert snapshot.store.exists() is False


def test_a_file_of_another_owner_is_put_back_as_our_own(ordinary):
    if os.getuid():
        pytest.skip("only root can make a file of another owner")
    tree = ordinary / "tree"
    tree.mkdir()
    os.seteuid(0)
    (tree / "program").write_text("content")
    (tree / "program").chmod(0o4755)
    os.seteuid(65_534)
    snapshot = Snapshot.take(tree, place(tree))
    (tree / "program").unlink()
    snapshot.revert()
    status = (tree / "program").stat()
    assert (tree / "program").read_text() == "content"
    assert status.st_mode & 0o7777 == 0o755, "it must not run as whoever put it back"
    snapshot.close()


def test_a_tree_that_cannot_be_opened_cannot_be_held(own):
    own.chmod(0)
    with pytest.raises(TreeError) as caught, TreeLock(own):
        pass
    assert caught.value.path == str(own)
