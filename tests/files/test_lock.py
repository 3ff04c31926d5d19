"""One pass at a time: refused at once, and free again however the other one ended."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from plughost.errors import TreeError
from plughost.files import lock as locks
from plughost.files.lock import TreeLock
from plughost.files.snapshot import Snapshot
from plughost.files.store import place

HOLDER = """
import sys
from pathlib import Path
from plughost.files.lock import TreeLock
with TreeLock(Path(sys.argv[1])):
    sys.stdout.write("held\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""


@pytest.fixture
def no_directory_locks(monkeypatch):
    """Let the filesystem be one that cannot lock directories."""
    real = fcntl.flock

    def flock(fd, operation):
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        real(fd, operation)

    monkeypatch.setattr(locks.fcntl, "flock", flock)


def assert_taken(root):
    with pytest.raises(TreeError) as caught, TreeLock(root):
        pass
    assert caught.value.path == str(root)


def test_a_tree_can_be_held_once(root):
    with TreeLock(root):
        assert_taken(root)
    with TreeLock(root):
        pass


def test_a_tree_is_the_same_by_any_name(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    with TreeLock(root):
        assert_taken(tmp_path / "link")


def test_a_lock_leaves_no_trace(root, tmp_path):
    with TreeLock(root):
        assert os.listdir(tmp_path) == ["tree"]


def test_a_killed_holder_holds_nothing(root):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout.readline() == "held\n"
        assert_taken(root)
        child.send_signal(signal.SIGKILL)
        child.wait(200)
        with TreeLock(root):
            pass


@pytest.fixture
def forked():
    """Fork children that only wait, as a child of the application does, and end them afterwards."""
    children = []

    def fork():
        waiting, release = os.pipe()
        pid = os.fork()
        if not pid:  # pragma: no cover
            os.close(release)
            os.read(waiting, 1)
            os._exit(0)
        os.close(waiting)
        children.append((pid, release))

    yield fork
    for pid, release in children:
        os.close(release)
        os.waitpid(pid, 0)


@pytest.mark.requirement("envelope:tree:alone")
def test_a_forked_child_of_the_application_does_not_keep_the_lock(root, forked):
    with TreeLock(root):
        forked()
    with TreeLock(root):
        pass


def test_a_forked_child_does_not_keep_the_directories_above_locked(root, forked):
    (root / "inner").mkdir()
    with TreeLock(root / "inner"):
        forked()
    with TreeLock(root):
        pass


def test_a_refused_attempt_leaves_no_lock_to_a_forked_child(root, forked, monkeypatch):
    inner = root / "inner"
    inner.mkdir()
    real = TreeLock._share_ancestors

    def fork_first(self, tree):
        forked()  # the directory itself is locked by now
        real(self, tree)

    with TreeLock(root):
        monkeypatch.setattr(TreeLock, "_share_ancestors", fork_first)
        assert_taken(inner)
        monkeypatch.undo()
    with TreeLock(inner):
        pass


def test_a_forked_child_that_leaves_the_block_does_not_unlock_its_parents_tree(root):
    with TreeLock(root) as lock:
        pid = os.fork()
        if not pid:  # pragma: no cover
            lock.__exit__(None, None, None)
            os._exit(0)
        os.waitpid(pid, 0)
        assert_taken(root)


def test_where_directories_cannot_be_locked_a_file_beside_the_store_is(root, tmp_path, no_directory_locks):
    with TreeLock(root):
        assert sorted(os.listdir(tmp_path)) == [".tree.plughost.lock", "tree"]
        assert_taken(root)
        assert_taken(root)
    assert os.listdir(tmp_path) == ["tree"]
    with TreeLock(root):
        pass


def test_a_lock_file_that_was_removed_meanwhile_is_made_again(root, no_directory_locks, monkeypatch):
    real, removed = os.lstat, []

    def lstat(path, **options):
        if str(path).endswith(".lock") and not removed:
            removed.append(path)
            os.unlink(path)
        return real(path, **options)

    monkeypatch.setattr(locks.os, "lstat", lstat)
    with TreeLock(root):
        monkeypatch.undo()
        assert removed


def test_only_a_directory_can_be_held(root):
    for name in ("README.md", "nothing"):
        with pytest.raises(TreeError), TreeLock(root / name):
            pass


@pytest.mark.parametrize("what", ["missing", "file", "symlink"])
def test_a_tree_whose_root_a_plugin_removed_or_replaced_can_be_held_to_be_recovered(root, tmp_path, what):
    snapshot = Snapshot.take(root, place(root))
    root.rename(tmp_path / "gone")
    if what == "file":
        root.write_text("")
    if what == "symlink":
        root.symlink_to(tmp_path / "gone")
    with TreeLock(root):
        assert_taken(root)
    snapshot.close()
