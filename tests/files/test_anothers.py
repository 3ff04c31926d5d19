"""A tree of somebody else's that we may write to: put back but for what only its owner can set, and nobody is stuck."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plughost.errors import TreeError
from plughost.files.recovery import recover
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from tests.files.conftest import plant
from tests.files.killing import STEPS_LIMIT, finishes
from tests.files.portrait import portrait

SOMEBODY = 1_000
MODE, UID, TIME, XATTRS = 1, 2, 4, 6  # in a portrait
GUARDED = Path("/proc/sys/fs/protected_hardlinks")
CAPABILITY = bytes.fromhex("0100000200200000000000000000000000000000")  # what `setcap cap_net_raw+p` writes

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of another owner")


@contextmanager
def as_root() -> Iterator[None]:
    uid = os.geteuid()
    os.seteuid(0)
    try:
        yield
    finally:
        os.seteuid(uid)


@pytest.fixture
def tree(ordinary):
    """A tree of somebody else's, all of which our group may write to; one file in it is our own."""
    tree = plant(ordinary / "tree")
    give_away(tree)
    (tree / "own").write_text("our own\n")
    with as_root():
        for number, path in enumerate(
            [tree / "own", tree / "README.md", tree / "data/deep", tree / "data", tree]
        ):
            os.utime(path, ns=(10**18, 10**18 + number * 1_000_003))
    return tree


def give_away(tree) -> None:
    """Let all of *tree* be somebody else's, but of our group."""
    with as_root():
        for path in [tree, *tree.rglob("*")]:
            os.chown(path, SOMEBODY, os.getegid(), follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o060)


def differences(before, after) -> dict[bytes, set[int]]:
    """Return in what two portraits differ, by path."""
    assert before.keys() == after.keys()
    return {
        path: {
            at for at, pair in enumerate(zip(before[path], after[path], strict=True)) if pair[0] != pair[1]
        }
        for path in before
        if before[path] != after[path]
    }


@pytest.fixture
def left(tree):
    """Let something be done to the tree, put it back, and return in what it differs from what it was."""

    def run(do) -> dict[bytes, set[int]]:
        before, snapshot = portrait(tree), Snapshot.take(tree, place(tree))
        do()
        assert snapshot.revert()
        assert snapshot.changes() == (), "what cannot be put back is not the next plugin's doing"
        assert snapshot.revert() == ()
        snapshot.close()
        return differences(before, portrait(tree))

    return run


def test_a_file_written_in_place_stays_its_owners_and_only_its_time_is_another(tree, left):
    assert left(lambda: (tree / "README.md").write_text("other")) == {b"README.md": {TIME}}


def test_a_touched_file_keeps_its_owner(tree, left):
    assert left((tree / "README.md").touch) == {b"README.md": {TIME}}


def test_a_file_of_our_own_is_put_back_exactly_and_so_is_the_directory_it_is_in(tree, left):
    assert left(lambda: (tree / "own").write_text("other")) == {}


def test_a_file_that_was_replaced_becomes_ours_with_its_time_and_mode(tree, left):
    def replace():
        (tree / "new").write_text("other")
        (tree / "new").replace(tree / "README.md")

    assert left(replace) == {b"README.md": {UID}, b".": {TIME}}


def test_the_group_is_given_back_where_only_the_owner_cannot_be(tree, left):
    groups = os.getgroups()
    with as_root():
        os.setgroups([*groups, SOMEBODY])
        os.chown(tree / "README.md", SOMEBODY, SOMEBODY)
    try:
        assert left((tree / "README.md").unlink) == {b"README.md": {UID}, b".": {TIME}}
    finally:
        with as_root():
            os.setgroups(groups)


def test_what_was_added_is_removed_and_only_the_time_of_the_directory_is_another(tree, left):
    assert left(lambda: (tree / "data/new").write_text("new")) == {b"data": {TIME}}


def test_what_was_renamed_stays_its_owners(tree, left):
    def rename():
        (tree / "data/table.csv").rename(tree / "data/deep/other")
        (tree / "empty").rename(tree / "elsewhere")

    assert left(rename) == {b".": {TIME}, b"data": {TIME}, b"data/deep": {TIME}}


def test_directories_that_were_removed_become_ours_with_all_of_their_modes(tree, left):
    with as_root():
        (tree / "data/deep").chmod(0o2770)
    found = left(lambda: shutil.rmtree(tree / "data"))
    assert found.pop(b".") == {TIME}
    assert found.keys() == {b"data", b"data/table.csv", b"data/deep", b"data/deep/notes.txt"}
    assert set().union(*found.values()) == {UID}


def test_a_directory_of_somebody_elses_is_not_left_in_the_place_of_another(tree, left):
    (tree / "private").mkdir(mode=0o700)
    (tree / "private/secret").write_text("secret")
    with as_root():
        os.utime(tree, ns=(7, 7))

    def exchange():
        (tree / "private").rename(tree / "aside")
        (tree / "empty").rename(tree / "private")
        (tree / "aside").rename(tree / "empty")

    assert left(exchange) == {b".": {TIME}}


def turn(*paths) -> None:
    """Let each of *paths* stand where the next one did, and the last where the first did."""
    aside = paths[-1].with_name("aside")
    paths[-1].rename(aside)
    for path, into in zip(paths[-2::-1], paths[:0:-1], strict=True):
        path.rename(into)
    aside.rename(paths[0])


@pytest.fixture
def closed(tree):
    """The tree with directories of somebody else's that we may rename, but neither empty nor make again."""
    with as_root():
        for name in ("one", "two", "two/deep", "three"):
            (tree / name).mkdir(mode=0o755)
            (tree / name / "file").write_text(name)
            for path in (tree / name, tree / name / "file"):
                os.chown(path, SOMEBODY, os.getegid())
        for name in ("a", "b", "a/x", "a/y"):
            (tree / "open" / name).mkdir(parents=True)
        give_away(tree / "open")
        for name in ("x", "y"):
            (tree / "open/a" / name / "file").write_text(name)
            (tree / "open/a" / name).chmod(0o755)
    (tree / "ours").mkdir()
    with as_root():
        for name in ("x", "y"):
            shutil.copytree(tree / "one", tree / "ours" / name)
            os.chown(tree / "ours" / name, SOMEBODY, os.getegid())
        os.utime(tree, ns=(7, 7))
    return tree


TURNS = {
    "two": lambda tree: turn(tree / "one", tree / "two"),
    "three": lambda tree: turn(tree / "one", tree / "two", tree / "three"),
    "two, and two in them": lambda tree: [
        turn(tree / "open/a/x", tree / "open/a/y"),
        turn(tree / "open/a", tree / "open/b"),
    ],
    "one, and one of ours with others in it": lambda tree: turn(tree / "one", tree / "ours"),
    "two in one of ours that was renamed": lambda tree: [
        turn(tree / "ours/x", tree / "ours/y"),
        (tree / "ours").rename(tree / "elsewhere"),
    ],
    "one, and a new one in its place": lambda tree: [
        (tree / "one").rename(tree / "elsewhere"),
        (tree / "one").mkdir(),
        (tree / "one/new").write_text("new"),
    ],
    "one, and a file in its place": lambda tree: [
        (tree / "one").rename(tree / "elsewhere"),
        (tree / "one").write_text("new"),
    ],
    "one into a new one in its place": lambda tree: [
        (tree / "open/a").rename(tree / "elsewhere"),
        (tree / "open/a").mkdir(),
        (tree / "elsewhere").rename(tree / "open/a/a"),
    ],
    "one into another that stands in its place": lambda tree: [
        (tree / "open/b").rename(tree / "elsewhere"),
        (tree / "open/a").rename(tree / "elsewhere/a"),
        (tree / "elsewhere").rename(tree / "open/a"),
    ],
}


NEWS = {each for each in TURNS if "a new one" in each or "a file" in each}


@pytest.mark.parametrize("how", TURNS)
def test_directories_that_were_exchanged_are_the_same_as_before_and_their_owners(closed, left, how):
    found = left(lambda: TURNS[how](closed))
    assert found.keys() <= {b".", b"open", b"open/a", b"open/b"}
    assert set().union(*found.values()) <= {TIME}


@pytest.mark.parametrize("how", TURNS)
def test_a_killed_pass_that_exchanged_directories_is_recovered_from_and_loses_nothing(closed, how):
    before = portrait(closed)
    Snapshot.take(closed, place(closed))
    TURNS[how](closed)
    news = [path.read_text() for path in closed.rglob("new")]
    recovered = recover(closed)
    assert set().union(*differences(before, portrait(closed)).values()) <= {TIME}
    if news:
        assert [path.read_text() for path in recovered.displaced.rglob("new")] == news
    recovered.close()


@pytest.mark.parametrize("how", sorted(TURNS.keys() - NEWS))
def test_a_host_killed_while_it_exchanges_directories_again_leaves_what_recovery_puts_right(
    closed, how, monkeypatch
):
    before, snapshot = portrait(closed), Snapshot.take(closed, place(closed))
    for step in range(STEPS_LIMIT):
        TURNS[how](closed)
        done = finishes(Snapshot.open(closed, snapshot.store).revert, step, monkeypatch)
        recover(closed)
        assert all(change <= {TIME} for change in differences(before, portrait(closed)).values())
        if done:
            break
    assert step > 3
    snapshot.close()


def test_a_directory_that_cannot_be_moved_out_of_the_way_is_named(tree, ordinary):
    with as_root():
        (ordinary / "others").mkdir()
        (ordinary / "others/file").touch()
    (tree / "private").mkdir(mode=0o700)
    snapshot = Snapshot.take(tree, place(tree))
    (tree / "private").rmdir()
    with as_root():
        (ordinary / "others").rename(tree / "private")
    with pytest.raises(TreeError) as caught:
        snapshot.revert()
    assert caught.value.path.startswith(str(tree / "private"))
    snapshot.close()


def test_a_link_that_was_replaced_becomes_ours(tree, left):
    def relink():
        (tree / "link").unlink()
        (tree / "link").symlink_to("own")

    assert left(relink) == {b"link": {UID}, b".": {TIME}}


@pytest.mark.parametrize("mode", [0o1775, 0o755], ids=["sticky", "closed to us"])
@pytest.mark.parametrize("name", ["README.md", "own"])
def test_a_file_is_put_back_where_none_can_be_put_in_its_place(tree, left, mode, name):
    with as_root():
        tree.chmod(mode)
    found = left(lambda: (tree / name).write_text("other"))
    assert found == ({} if name == "own" else {b"README.md": {TIME}})


def test_the_time_of_a_link_of_our_own_is_put_back_where_none_can_be_put_in_its_place(tree, left):
    (tree / "own link").symlink_to("own")
    with as_root():
        tree.chmod(0o755)
    assert left(lambda: os.utime(tree / "own link", ns=(7, 7), follow_symlinks=False)) == {}


@pytest.mark.parametrize("outside", [False, True])
def test_a_file_of_several_names_stays_one_and_its_owners(tree, left, ordinary, outside):
    second = ordinary / "second" if outside else tree / "data/second"
    os.link(tree / "README.md", second)
    inode = second.stat().st_ino

    def change():
        second.write_text("other")
        (tree / "README.md").unlink()

    found = left(change)
    assert found.keys() == {b".", b"README.md"} | (set() if outside else {b"data/second"})
    assert set().union(*found.values()) == {TIME}
    assert second.read_text() == "read me\n"
    assert (tree / "README.md").stat().st_ino == inode


@pytest.mark.parametrize("names", ["one", "both", "outside"])
def test_a_file_of_several_names_that_only_its_owner_may_link_is_put_back_as_our_own(
    tree, left, ordinary, names
):
    second = ordinary / "second" if names == "outside" else tree / "data/second"
    if not GUARDED.exists() or GUARDED.read_text() == "0\n":
        pytest.skip("here everybody may link everything")
    with as_root():
        os.link(tree / "README.md", second)
        second.chmod(0o644)

    def remove():
        (tree / "README.md").unlink()
        if names == "both":
            second.unlink()

    with (tree / "README.md").open():  # or its number might be given to the new one
        found = left(remove)
    assert UID in found[b"README.md"]
    assert (tree / "README.md").read_text() == second.read_text() == "read me\n"


@pytest.mark.parametrize("several", [False, True])
def test_a_file_that_its_owner_closed_to_us_meanwhile_stays_so(tree, left, several):
    if several:
        os.link(tree / "README.md", tree / "data/second")

    def close():
        with as_root():
            (tree / "README.md").chmod(0o644)

    found = left(close)
    assert found.keys() == {b"README.md"} | ({b"data/second"} if several else set())
    assert set().union(*found.values()) == {MODE}


def test_what_its_owner_gave_back_meanwhile_is_taken_for_what_it_was(tree):
    before, snapshot = portrait(tree), Snapshot.take(tree, place(tree))
    (tree / "data/new").write_text("new")
    snapshot.revert()
    assert snapshot.conceded == ("data",)
    with as_root():
        os.utime(tree / "data", ns=(before[b"data"][TIME],) * 2)
    (tree / "own").write_text("other")
    snapshot.revert()
    assert snapshot.conceded == ()
    assert portrait(tree) == before
    snapshot.close()


def test_a_pipe_that_was_written_to_is_left_with_another_time(tree, left):
    os.mkfifo(tree / "pipe")
    with as_root():
        os.chown(tree / "pipe", SOMEBODY, os.getegid())
        (tree / "pipe").chmod(0o660)
        os.utime(tree / "pipe", ns=(7, 7))

    def write():
        fd = os.open(tree / "pipe", os.O_RDWR | os.O_NONBLOCK)
        os.write(fd, b"x")
        os.close(fd)

    assert left(write) == {b"pipe": {TIME}}


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no extended attributes")
def test_attributes_that_only_the_system_gives_keep_nobody_from_the_tree(tree, left):
    try:
        with as_root():
            os.setxattr(tree / "own", "security.capability", CAPABILITY)
    except OSError as error:
        pytest.skip(f"this filesystem has no such attributes: {error}")
    found = left(lambda: (tree / "own").write_text("other"))
    assert found == {b"own": {XATTRS}}


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no extended attributes")
def test_attributes_that_we_may_set_are_put_back(tree, left):
    def mark():
        try:
            for path in (tree / "README.md", tree / "data"):
                os.setxattr(path, "user.mark", b"x")
        except OSError as error:
            pytest.skip(f"this filesystem has no extended attributes: {error}")

    assert left(mark) == {}


@pytest.mark.parametrize("name", ["own", "README.md"])
def test_times_that_we_may_set_and_cannot_are_not_kept_silent(tree, monkeypatch, name):
    with as_root():  # who may set those of both
        snapshot = Snapshot.take(tree, place(tree))
        (tree / name).write_text("other")
        real = os.utime

        def refused(path, *given, **more):
            if isinstance(path, int) and stat.S_ISREG(os.fstat(path).st_mode):
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
            real(path, *given, **more)

        with monkeypatch.context() as patch:
            patch.setattr(os, "utime", refused)
            with pytest.raises(TreeError) as caught:
                snapshot.revert()
        assert caught.value.path == str(tree / name)
        snapshot.revert()
        assert snapshot.conceded == ()
        snapshot.close()


def test_what_could_not_be_given_back_is_named(tree):
    snapshot = Snapshot.take(tree, place(tree))
    assert snapshot.conceded == ()
    (tree / "README.md").write_text("other")
    (tree / "data/table.csv").unlink()
    snapshot.revert()
    assert snapshot.conceded == ("README.md", "data", "data/table.csv")
    snapshot.advance({})
    assert snapshot.conceded == ()
    snapshot.close()


SPOILED = {
    b"README.md": {TIME},
    b"data": {TIME},
    b"data/table.csv": {UID},
    b"data/deep": {UID},
    b"data/deep/notes.txt": {UID},
}


def spoil(tree) -> None:
    (tree / "README.md").write_text("other")
    (tree / "data/table.csv").unlink()
    shutil.rmtree(tree / "data/deep")
    (tree / "data/new").write_text("new")
    (tree / "own").write_text("other")


def test_a_killed_pass_is_recovered_from(tree):
    before = portrait(tree)
    Snapshot.take(tree, place(tree))
    spoil(tree)
    recovered = recover(tree)
    assert differences(before, portrait(tree)) == SPOILED
    assert (recovered.displaced / "data/new").read_text() == "new"
    assert (recovered.displaced / "README.md").read_text() == "other"
    recovered.close()
    assert recover(tree) is None


def test_whoever_may_give_all_of_it_back_still_can_after_one_who_could_not(tree):
    before, snapshot = portrait(tree), Snapshot.take(tree, place(tree))
    spoil(tree)
    snapshot.revert()
    assert differences(before, portrait(tree))
    with as_root():
        os.chown(snapshot.store, 0, 0)
        recovered = recover(tree)
        assert portrait(tree) == before
        recovered.close()


def test_a_host_killed_at_any_step_of_putting_it_back_leaves_what_recovery_puts_right(tree, monkeypatch):
    snapshot = Snapshot.take(tree, place(tree))
    spoil(tree)
    snapshot.revert()  # from here on, what was replaced is ours, and stays so
    snapshot.advance({})
    before = portrait(tree)
    for step in range(STEPS_LIMIT):
        spoil(tree)
        done = finishes(Snapshot.open(tree, snapshot.store).revert, step, monkeypatch)
        recover(tree)
        assert all(change <= {TIME} for change in differences(before, portrait(tree)).values())
        if done:
            break
    assert step > 10
    snapshot.close()
