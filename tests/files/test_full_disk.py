"""A disk without room: what a plugin took of it is given to what is put back, and what was saved stays whole."""

import errno
import os
import subprocess
from contextlib import suppress

import pytest

from plughost.errors import TreeError
from plughost.files import inventory
from plughost.files.copying import Copier
from plughost.files.recovery import recover
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from tests.files.killing import STEPS_LIMIT, finishes
from tests.files.portrait import portrait

NO_ROOM = [errno.ENOSPC, errno.EDQUOT]
BLOCK = 4_096  # bytes


def full(code: int) -> OSError:
    return OSError(code, os.strerror(code))


@pytest.fixture
def small(tmp_path):
    """A filesystem of 2 MiB."""
    at = tmp_path / "small"
    at.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(at)]
    try:
        mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only who may mount a filesystem can have one of this size")
    yield at
    subprocess.run(["umount", str(at)], check=True)


@pytest.fixture
def tree(small):
    """A tree that fills, with its store, about half of the filesystem."""
    tree = small / "tree"
    (tree / "sub").mkdir(parents=True)
    for number in range(8):
        (tree / f"sub/{number}").write_bytes(os.urandom(60_000))
    (tree / "small").write_bytes(b"small\n")
    os.link(tree / "sub/0", tree / "twin")
    return tree


def fill(path) -> None:
    """Let *path* take all the room there is, to the last byte."""
    with path.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(BLOCK))
    assert os.statvfs(path).f_bavail == 0


def replace(path) -> None:
    path.with_name("new").write_bytes(os.urandom(70_000))
    path.with_name("new").replace(path)


DEEDS = {
    "one grew": lambda tree: fill(tree / "small"),
    "one is new": lambda tree: [(tree / "sub/3").write_bytes(b""), fill(tree / "sub/new")],
    "the last grew, others shrank": lambda tree: [
        *[os.truncate(tree / f"sub/{number}", number) for number in range(7)],
        fill(tree / "sub/7"),
    ],
    "one of several names grew": lambda tree: [(tree / "small").write_bytes(b"x"), fill(tree / "twin")],
    "all were replaced": lambda tree: [
        *[replace(tree / f"sub/{number}") for number in range(1, 8)],
        fill(tree / "sub/7"),
    ],
    "others were removed": lambda tree: [
        *[(tree / f"sub/{number}").unlink() for number in range(4)],
        (tree / "twin").unlink(),
        fill(tree / "small"),
    ],
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_disk_that_a_plugin_has_filled_keeps_nothing_from_being_put_back(tree, deed):
    before, snapshot = portrait(tree), Snapshot.take(tree, place(tree), {"step": 1})
    DEEDS[deed](tree)
    assert snapshot.revert()
    assert portrait(tree) == before
    snapshot.set_note({"step": 2})
    assert Snapshot.open(tree, snapshot.store).note == {"step": 2}
    snapshot.close()


@pytest.mark.parametrize("deed", DEEDS)
def test_a_tree_that_cannot_be_saved_for_want_of_room_is_put_back(tree, deed):
    before, snapshot = portrait(tree), Snapshot.take(tree, place(tree), {"step": 1})
    DEEDS[deed](tree)
    with pytest.raises(TreeError):
        snapshot.advance({"step": 2})
    assert snapshot.note == {"step": 1}
    snapshot.revert()
    assert portrait(tree) == before
    snapshot.set_note({"step": 3})
    snapshot.close()


def test_a_disk_that_stays_full_is_recovered_from_as_soon_as_there_is_room(tree, small):
    before, snapshot = portrait(tree), Snapshot.take(tree, place(tree), {"step": 1})
    for number in range(8):
        replace(tree / f"sub/{number}")
        os.truncate(tree / f"sub/{number}", 0)
    fill(small / "somebody else's")
    with pytest.raises(TreeError):
        snapshot.revert()
    with pytest.raises(TreeError):
        recover(tree)
    (small / "somebody else's").unlink()
    recovered = recover(tree)
    assert portrait(tree) == before
    recovered.close()


# The same without a filesystem of its own: copies fail while the tree holds too much.


@pytest.fixture
def allow(root, monkeypatch):
    """Let the tree hold so many bytes, and no more, as far as copying goes."""

    def limit(size: int, code: int = errno.ENOSPC, patch: pytest.MonkeyPatch = monkeypatch) -> None:
        real = Copier.copy

        def copy(self, source, target):
            used = sum(
                path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink()
            )
            if used - os.fstat(target).st_size + os.fstat(source).st_size > size:
                raise full(code)
            real(self, source, target)

        patch.setattr(Copier, "copy", copy)

    return limit


@pytest.mark.parametrize("code", NO_ROOM, ids=errno.errorcode.get)
@pytest.mark.parametrize("how", ["written", "replaced"])
def test_what_a_plugin_made_of_a_file_gives_its_room_to_what_it_was(root, undo, allow, code, how):
    def do():
        grown = root / ("README.md" if how == "written" else "new")
        grown.write_bytes(bytes(1_000))
        if how == "replaced":
            grown.replace(root / "README.md")
        allow(500, code)

    undo(do)


@pytest.mark.parametrize("how", ["written", "replaced"])
def test_a_host_killed_at_any_step_of_it_leaves_what_recovery_puts_right(root, take, allow, monkeypatch, how):
    snapshot = take(root)
    before = portrait(root)
    for step in range(STEPS_LIMIT):
        grown = root / ("README.md" if how == "written" else "new")
        grown.write_bytes(bytes(1_000))
        grown.replace(root / "README.md")
        with monkeypatch.context() as patch:
            allow(500, patch=patch)
            done = finishes(snapshot.revert, step, monkeypatch)
        recover(root)
        assert portrait(root) == before
        if done:
            break
    assert step > 5


def test_an_error_of_the_disk_is_no_reason_to_remove_anything(root, take, monkeypatch):
    snapshot = take(root)
    (root / "new").write_text("other")
    (root / "new").replace(root / "README.md")

    def copy(*_arguments):
        raise full(errno.EIO)

    monkeypatch.setattr(Copier, "copy", copy)
    with pytest.raises(TreeError):
        snapshot.revert()
    assert (root / "README.md").read_text() == "other"


@pytest.mark.parametrize("how", ["written", "replaced"])
def test_recovery_removes_nothing_for_want_of_room(root, take, allow, how):
    take(root)
    grown = root / ("README.md" if how == "written" else "new")
    grown.write_bytes(bytes(1_000))
    if how == "replaced":
        grown.replace(root / "README.md")
    allow(500)
    with pytest.raises(TreeError):
        recover(root)
    kept = [path for path in root.parent.rglob("README.md") if path.is_file()]
    assert [path.read_bytes() for path in kept] == [bytes(1_000)]


@pytest.mark.parametrize("code", NO_ROOM, ids=errno.errorcode.get)
def test_an_advance_without_room_takes_none(root, take, monkeypatch, code):
    snapshot = take(root)
    before = sorted(path.name for path in snapshot.store.rglob("*"))
    (root / "README.md").write_bytes(bytes(1_000))
    (root / "new").write_bytes(bytes(1_000))

    def write(*_arguments, **_options):
        raise full(code)

    monkeypatch.setattr("plughost.files.snapshot.write_inventory", write)
    with pytest.raises(TreeError):
        snapshot.advance({"step": 2})
    assert sorted(path.name for path in snapshot.store.rglob("*")) == before
    monkeypatch.undo()
    snapshot.advance({"step": 2})
    assert snapshot.changes() == ()


def test_an_advance_whose_last_step_fails_keeps_what_its_inventory_speaks_of(root, take, monkeypatch):
    snapshot = take(root)
    (root / "README.md").write_text("accepted")

    def sync(_path):
        raise full(errno.EIO)

    monkeypatch.setattr(inventory, "sync_directory", sync)
    with pytest.raises(TreeError):
        snapshot.advance({"step": 2})
    monkeypatch.undo()
    (root / "README.md").write_text("other")
    recover(root)
    assert (root / "README.md").read_text() == "accepted"


@pytest.mark.parametrize("code", NO_ROOM, ids=errno.errorcode.get)
def test_a_note_without_room_leaves_the_old_one_and_no_half_of_the_new(root, take, monkeypatch, code):
    snapshot = take(root)
    snapshot.set_note({"step": 1})

    def replace(*_arguments):
        raise full(code)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(TreeError):
        snapshot.set_note({"step": 2})
    monkeypatch.undo()
    assert snapshot.note == {"step": 1}
    assert Snapshot.open(root, snapshot.store).note == {"step": 1}
    assert not list(snapshot.store.glob("*.new"))
