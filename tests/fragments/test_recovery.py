"""What a killed run has left: believed only where it was written, and finished or undone, never half."""

import json
import os

import pytest

from plughost.errors import TreeError
from plughost.fragments import recover, write
from plughost.fragments.paths import STORE
from tests.fragments.offering import contents, output

NEW = [output("deep/file.txt", "new file\n"), output("new/x.txt", "x"), output("top.txt", "new top\n")]
AFTER = {
    "deep": None,
    "deep/file.txt": b"new file\n",
    "new": None,
    "new/x.txt": b"x",
    "top.txt": b"new top\n",
}


class Killed(BaseException):
    """Stands for a kill: nothing is done about it."""


@pytest.fixture
def left(out, monkeypatch):
    """Let a run be killed right before its rename of *name*, and leave what it left."""

    def kill(name, monkeypatch=monkeypatch):
        dead = False

        def dying(real):
            def call(*arguments, **options):
                nonlocal dead
                dead = dead or (real is rename and arguments[0] == name)
                if dead:
                    raise Killed
                return real(*arguments, **options)

            return call

        rename = os.rename
        with monkeypatch.context() as patch:
            for function in ("rename", "unlink", "rmdir", "mkdir", "fsync"):
                patch.setattr(os, function, dying(getattr(os, function)))
            with pytest.raises(Killed):
                write(NEW, out)
        return out / STORE

    return kill


def test_where_nothing_was_left_nothing_is_done(out, tmp_path):
    before = contents(tmp_path)
    assert recover(out) is False
    assert recover(tmp_path / "missing") is False
    assert contents(tmp_path) == before


def test_what_was_not_committed_is_dropped(out, left):
    before = contents(out)
    store = left("journal.new")
    assert store.is_dir()
    assert recover(out) is True
    assert contents(out) == before
    assert recover(out) is False


@pytest.mark.parametrize("name", ["new-0", "new-1", "new-2"])
def test_what_was_committed_is_finished(out, left, name):
    left(name)
    assert recover(out) is True
    assert contents(out) == AFTER
    assert recover(out) is False


def test_a_run_deals_with_what_the_last_one_left_first(out, left):
    left("new-1")
    changes = write([output("top.txt", "newest\n")], out)
    assert [str(change.kind) for change in changes] == ["changed"]
    assert contents(out) == {**AFTER, "top.txt": b"newest\n"}


def test_what_cannot_be_finished_is_undone(out, left):
    before = contents(out)
    left("new-1")
    (out / "new").rmdir()
    (out / "new").write_text("in the way")
    assert recover(out) is True
    assert contents(out) == {**before, "new": b"in the way"}


def test_what_somebody_has_edited_since_is_not_lost(out, left):
    before = contents(out)
    left("new-1")
    (out / "edited").write_text("edited")
    os.replace(out / "edited", out / "top.txt")
    assert recover(out) is True
    assert contents(out) == {**before, "top.txt": b"edited"}


def damage(store, edit):
    (name,) = [each for each in ("journal", "undo") if (store / each).exists()]
    document = json.loads((store / name).read_bytes())
    edit(document)
    (store / name).write_text(json.dumps(document))


DAMAGES = {
    "format": lambda document: document.update(format=2),
    "store": lambda document: document.update(store=document["store"] + 1),
    "escape": lambda document: document["steps"][0].__setitem__(0, "../escaped"),
    "absolute": lambda document: document["steps"][0].__setitem__(0, "/etc/escaped"),
    "git": lambda document: document["steps"][0].__setitem__(0, ".git/config"),
    "directory": lambda document: document["directories"].append("../escaped"),
    "type": lambda document: document.update(steps=None),
    "missing": lambda document: document.pop("steps"),
}


@pytest.mark.parametrize("edit", DAMAGES.values(), ids=DAMAGES)
def test_a_journal_that_cannot_be_believed_is_named_and_left(out, left, edit):
    store = left("new-1")
    damage(store, edit)
    before = contents(out.parent)
    for act in (lambda: recover(out), lambda: write(NEW, out)):
        with pytest.raises(TreeError) as caught:
            act()
        assert caught.value.path == str(store / "journal")
    assert contents(out.parent) == before


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b"[" * 100_000, b"null"], ids=["empty", "cut", "bytes", "deep", "null"]
)
def test_a_journal_of_garbage_is_named(out, data):
    (out / STORE).mkdir()
    (out / STORE / "journal").write_bytes(data)
    with pytest.raises(TreeError):
        recover(out)
    assert (out / "top.txt").read_text() == "old top\n"


@pytest.mark.parametrize("kind", ["file", "symlink", "dangling"])
def test_something_else_in_the_place_of_the_store_is_named(out, tmp_path, kind):
    if kind == "file":
        (out / STORE).write_text("x")
    else:
        (tmp_path / "elsewhere").mkdir()
        (out / STORE).symlink_to(tmp_path / ("elsewhere" if kind == "symlink" else "nowhere"))
    before = contents(tmp_path)
    for act in (lambda: recover(out), lambda: write(NEW, out)):
        with pytest.raises(TreeError) as caught:
            act()
        assert caught.value.path == str(out / STORE)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("kind", ["symlink", "fifo", "directory"])
def test_a_journal_that_is_no_file_is_neither_followed_nor_waited_for(out, tmp_path, kind):
    (out / STORE).mkdir()
    journal = out / STORE / "journal"
    if kind == "symlink":
        journal.symlink_to(tmp_path / "x")
    elif kind == "fifo":
        os.mkfifo(journal)
    else:
        journal.mkdir()
    with pytest.raises(TreeError):
        recover(out)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give directories away")
def test_the_store_of_another_user_is_not_believed(out):
    (out / STORE).mkdir()
    os.chown(out / STORE, 65_534, 65_534)
    with pytest.raises(TreeError) as caught:
        recover(out)
    assert caught.value.path == str(out / STORE)
    (out / STORE).rmdir()
