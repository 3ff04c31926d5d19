"""Writing: all files or none, only what differs, never through a symlink, and a way back from every error."""

import errno
import fcntl
import os
import stat

import pytest

from plughost.errors import FragmentError, TreeError
from plughost.fragments import compare, recover, write
from plughost.fragments.paths import STORE
from tests.files.portrait import portrait
from tests.fragments.offering import contents, output

NEW = [output("deep/file.txt", "new file\n"), output("new/dir/x.txt", "x"), output("top.txt", "new top\n")]


def summary(changes):
    return {change.path: str(change.kind) for change in changes}


def new_state():
    files = {each.path: each.content for each in NEW}
    return {**files, "deep": None, "new": None, "new/dir": None}


@pytest.fixture
def step_in(monkeypatch):
    """Call something right before a function of `os` is called for a matching name, once."""

    def arrange(function, matches, do):
        real, waiting = getattr(os, function), [do]

        def stepped(*arguments, **options):
            if waiting and matches(arguments):
                waiting.pop()()
            return real(*arguments, **options)

        monkeypatch.setattr(os, function, stepped)
        return waiting

    return arrange


@pytest.fixture
def failing(monkeypatch):
    """Let a function of `os` fail for matching arguments."""

    def arrange(function, matches, number):
        real = getattr(os, function)

        def fails(*arguments, **options):
            if matches(arguments):
                raise OSError(number, os.strerror(number))
            return real(*arguments, **options)

        monkeypatch.setattr(os, function, fails)

    return arrange


def test_what_differs_is_written_and_told(out):
    (out / "other").write_text("other")
    assert summary(write(NEW, out)) == {
        "deep/file.txt": "changed",
        "new/dir/x.txt": "created",
        "top.txt": "changed",
    }
    assert contents(out) == {**new_state(), "other": b"other"}


def test_a_second_run_changes_nothing_and_touches_nothing(out):
    write(NEW, out)
    before = portrait(out)
    assert set(summary(write(NEW, out)).values()) == {"unchanged"}
    assert set(summary(compare(NEW, out)).values()) == {"unchanged"}
    assert portrait(out) == before


def test_only_what_differs_is_touched(out):
    os.utime(out / "top.txt", ns=(1, 1))
    write([output("top.txt", "old top\n"), output("deep/file.txt", "x")], out)
    assert (out / "top.txt").stat().st_mtime_ns == 1


def test_the_directory_is_made_with_those_above_it(tmp_path):
    write(NEW, tmp_path / "a/b")
    assert contents(tmp_path / "a/b") == new_state()


def test_nothing_to_write_makes_no_directory(tmp_path):
    assert write([], tmp_path / "a") == []
    assert contents(tmp_path) == {}


def test_nothing_to_write_is_still_a_run(out):
    before = portrait(out)
    assert write([], out) == []
    assert portrait(out) == before


def test_the_directory_may_be_a_symlink(out, tmp_path):
    (tmp_path / "link").symlink_to("out")
    write(NEW, tmp_path / "link")
    assert contents(out) == new_state()
    assert (tmp_path / "link").is_symlink()


def test_a_relative_directory_is_that_of_the_process(out, monkeypatch):
    monkeypatch.chdir(out.parent)
    write(NEW, out.relative_to(out.parent))
    assert contents(out) == new_state()


@pytest.mark.parametrize(
    ("umask", "file", "directory"), [(0o022, 0o644, 0o755), (0o077, 0o600, 0o700), (0, 0o644, 0o777)]
)
def test_new_files_have_the_mode_that_the_umask_leaves(tmp_path, umask, file, directory):
    before = os.umask(umask)
    try:
        write([output("a/b", "x")], tmp_path / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out/a/b").stat().st_mode) == file
    assert stat.S_IMODE((tmp_path / "out/a").stat().st_mode) == directory


@pytest.mark.parametrize(
    ("mode", "kept"), [(0o755, 0o755), (0o600, 0o600), (0o444, 0o444), (0o4755, 0o755)], ids=oct
)
def test_a_replaced_file_keeps_its_permissions_but_runs_as_nobody_else(out, mode, kept):
    (out / "top.txt").chmod(mode)
    write(NEW, out)
    assert stat.S_IMODE((out / "top.txt").stat().st_mode) == kept


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_replaced_file_keeps_its_owner_where_that_is_allowed(out):
    os.chown(out / "top.txt", 65_534, 65_534)
    write(NEW, out)
    assert ((out / "top.txt").stat().st_uid, (out / "top.txt").stat().st_gid) == (65_534, 65_534)


def test_another_name_of_a_replaced_file_keeps_the_old_content(out):
    os.link(out / "top.txt", out / "second")
    write(NEW, out)
    assert (out / "second").read_text() == "old top\n"
    assert (out / "second").stat().st_nlink == 1


def test_many_files_in_deep_directories_are_written(tmp_path):
    outputs = [output("/".join(["d"] * 60) + f"/{number}/f", "x" * number) for number in range(100)]
    write(outputs, tmp_path)
    assert set(summary(compare(outputs, tmp_path)).values()) == {"unchanged"}


# What is in the way


@pytest.mark.parametrize(
    "path", ["link", "link/file.txt", "up/escaped", "dangling", "dangling/x", "top.txt/x", "deep", "fifo"]
)
def test_whatever_is_in_the_way_nothing_is_written(out, path):
    (out / "link").symlink_to("deep")
    (out / "up").symlink_to("..")
    (out / "dangling").symlink_to("nowhere")
    os.mkfifo(out / "fifo")
    before = portrait(out.parent)
    with pytest.raises(TreeError) as caught:
        write([*NEW, output(path, "x")], out)
    assert caught.value.path == str(out / path.partition("/")[0])
    assert {k: v[:4] + v[5:] for k, v in portrait(out.parent).items()} == {
        k: v[:4] + v[5:] for k, v in before.items()
    }


def test_a_directory_on_another_filesystem_is_refused_before_anything_is_committed(out, monkeypatch):
    real, inode = os.fstat, (out / "deep").stat().st_ino

    def elsewhere(fd):
        status = real(fd)
        fields = list(status)
        fields[stat.ST_DEV] += status.st_ino == inode
        return os.stat_result(fields, {name: getattr(status, name) for name in ("st_mtime_ns",)})

    before = contents(out)
    monkeypatch.setattr(os, "fstat", elsewhere)
    monkeypatch.setattr(os, "rename", lambda *arguments, **options: pytest.fail("something was moved"))
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert caught.value.path == str(out / "deep")
    assert contents(out) == before


def test_a_path_that_escapes_is_refused_again_on_the_way_to_the_disk(out):
    with pytest.raises(FragmentError):
        write([output("../x", "x")], out)
    assert not (out.parent / "x").exists()


def test_a_directory_that_was_made_is_removed_when_nothing_can_be_written(tmp_path, failing):
    failing("write", lambda arguments: True, errno.ENOSPC)
    with pytest.raises(TreeError):
        write(NEW, tmp_path / "a/b")
    assert contents(tmp_path) == {}


def test_a_directory_that_cannot_be_made_is_named(out):
    with pytest.raises(TreeError) as caught:
        write(NEW, out / "top.txt/x")
    assert caught.value.path == str(out / "top.txt/x")
    (out / "dangling").symlink_to("nowhere")
    with pytest.raises(TreeError):
        write(NEW, out / "dangling")


@pytest.mark.parametrize("action", [write, compare], ids=["write", "compare"])
@pytest.mark.parametrize("name", ["top.txt", "dangling", "loop"])
def test_what_stands_where_the_directory_should_be_is_met_with_all_that_would_do(out, name, action):
    (out / "dangling").symlink_to("nowhere")
    (out / "loop").symlink_to("loop")
    before = contents(out)
    with pytest.raises(TreeError) as caught:
        action(NEW, out / name)
    assert caught.value.path == str(out / name)
    assert "existing" not in caught.value.remedy  # a missing one would do: it is made
    assert contents(out) == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("function", ["write", "fsync", "mkdir", "open", "link"])
def test_a_disk_that_fails_before_the_commit_leaves_everything(out, failing, function, number):
    before = contents(out)
    if function == "open":
        failing("open", lambda arguments: arguments[0] == "new-2", number)
    elif function == "mkdir":
        failing("mkdir", lambda arguments: arguments[0] == STORE, number)
    else:
        failing(function, lambda arguments: True, number)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert os.strerror(number) in caught.value.problem
    assert contents(out) == before


@pytest.mark.parametrize("name", ["new-0", "new-1", "new-2"])
@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.EXDEV, errno.EBUSY, errno.ENOSPC], ids=errno.errorcode.get
)
def test_a_rename_that_fails_after_the_commit_brings_everything_back(out, failing, name, number):
    before = portrait(out)
    failing("rename", lambda arguments: arguments[0] == name, number)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert os.strerror(number) in caught.value.problem
    assert contents(out) == {"deep": None, "deep/file.txt": b"old file\n", "top.txt": b"old top\n"}
    for path in (b"top.txt", b"deep/file.txt"):
        assert portrait(out)[path] == before[path]


def test_a_directory_that_cannot_be_made_after_the_commit_brings_everything_back(out, failing):
    failing("mkdir", lambda arguments: arguments[0] == "dir", errno.ENOSPC)
    before = contents(out)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert caught.value.path == str(out / "new/dir")
    assert contents(out) == before


def test_an_interrupt_brings_everything_back(out, step_in):
    before = contents(out)

    def interrupt():
        raise KeyboardInterrupt

    for name in ("new-1", "journal.new"):
        waiting = step_in("rename", lambda arguments, name=name: arguments[0] == name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            write(NEW, out)
        assert not waiting
        assert contents(out) == before


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP], ids=errno.errorcode.get)
def test_files_are_replaced_and_put_back_where_no_file_can_have_two_names(out, failing, number):
    failing("link", lambda arguments: True, number)
    failing_for = {"new-2"}
    failing("rename", lambda arguments: arguments[0] in failing_for, errno.EBUSY)
    before = contents(out)
    with pytest.raises(TreeError):
        write(NEW, out)
    assert contents(out) == before
    failing_for.clear()
    write(NEW, out)
    assert contents(out) == new_state()


def test_what_cannot_be_put_back_now_is_put_back_by_the_next_run(out, monkeypatch, failing):
    before = contents(out)
    with monkeypatch.context():
        failing("rename", lambda arguments: arguments[0] in ("new-2", "old-0"), errno.EIO)
        with pytest.raises(TreeError):
            write(NEW, out)
        assert (out / STORE / "undo").exists()
        with pytest.raises(TreeError):
            write(NEW, out)
    monkeypatch.undo()
    assert recover(out)
    assert contents(out) == before
    assert not recover(out)


@pytest.mark.parametrize("name", ["journal", "old-0", STORE])
def test_what_cannot_be_cleared_away_is_left_to_the_next_run(out, monkeypatch, failing, name):
    for function in ("unlink", "rmdir"):
        failing(function, lambda arguments: arguments[0] == name, errno.EIO)
    assert set(summary(write(NEW, out)).values()) == {"changed", "created"}
    assert (out / STORE).exists()
    monkeypatch.undo()
    assert set(summary(compare(NEW, out)).values()) == {"unchanged"}
    assert recover(out)
    assert contents(out) == new_state()


# Somebody else at work


def test_a_directory_swapped_for_a_symlink_before_the_commit_is_not_followed(out, tmp_path, step_in):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file.txt").write_text("precious")

    def swap():
        (out / "deep").rename(tmp_path / "moved")
        (out / "deep").symlink_to(tmp_path / "elsewhere")

    waiting = step_in("rename", lambda arguments: arguments[0] == "journal.new", swap)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert not waiting
    assert caught.value.path == str(out / "deep")
    assert contents(tmp_path / "elsewhere") == {"file.txt": b"precious"}
    assert (tmp_path / "moved/file.txt").read_text() == "old file\n"
    assert (out / "top.txt").read_text() == "old top\n"
    assert not (out / "new").exists()


@pytest.mark.parametrize("name", ["new-0", "new-1", "new-2"])
def test_a_directory_swapped_for_a_symlink_between_two_renames_is_not_followed(out, tmp_path, step_in, name):
    (tmp_path / "elsewhere").mkdir()

    def swap():
        os.rename(out / "deep", tmp_path / "moved")
        (out / "deep").symlink_to(tmp_path / "elsewhere")

    step_in("rename", lambda arguments: arguments[0] == name, swap)
    try:
        write(NEW, out)
    except TreeError:
        pass
    assert contents(tmp_path / "elsewhere") == {}


def test_a_new_directory_that_turns_out_to_be_a_symlink_is_not_followed(out, tmp_path, step_in):
    (tmp_path / "elsewhere").mkdir()
    step_in(
        "mkdir",
        lambda arguments: arguments[0] == "new",
        lambda: (out / "new").symlink_to(tmp_path / "elsewhere"),
    )
    before = contents(out)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert caught.value.path == str(out / "new")
    assert contents(tmp_path / "elsewhere") == {}
    (out / "new").unlink()
    assert contents(out) == before


def test_a_file_swapped_for_a_pipe_is_not_waited_for(out, step_in):
    def swap():
        (out / "top.txt").unlink()
        os.mkfifo(out / "top.txt")

    waiting = step_in("open", lambda arguments: arguments[0] == "top.txt", swap)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert not waiting
    assert caught.value.path == str(out / "top.txt")


def test_a_file_that_somebody_replaces_meanwhile_is_left_and_all_others_put_back(out, step_in):
    def edit():
        (out / "edited").write_text("edited")
        os.replace(out / "edited", out / "top.txt")

    step_in("rename", lambda arguments: arguments[0] == "journal.new", edit)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert caught.value.path == str(out / "top.txt")
    assert contents(out) == {"deep": None, "deep/file.txt": b"old file\n", "top.txt": b"edited"}


def test_a_file_that_somebody_makes_meanwhile_is_left(out, step_in):
    def make():
        (out / "new/dir").mkdir(parents=True)
        (out / "new/dir/x.txt").write_text("theirs")

    step_in("rename", lambda arguments: arguments[0] == "journal.new", make)
    with pytest.raises(TreeError) as caught:
        write(NEW, out)
    assert caught.value.path == str(out / "new/dir/x.txt")
    assert (out / "new/dir/x.txt").read_text() == "theirs"
    assert (out / "top.txt").read_text() == "old top\n"


def test_what_somebody_puts_into_a_new_directory_survives_the_way_back(out, step_in, failing):
    failing("rename", lambda arguments: arguments[0] == "new-2", errno.EIO)
    step_in(
        "stat", lambda arguments: arguments[0] == "new-2", lambda: (out / "new/theirs").write_text("theirs")
    )
    with pytest.raises(TreeError):
        write(NEW, out)
    found = {
        "deep": None,
        "deep/file.txt": b"old file\n",
        "top.txt": b"old top\n",
        "new": None,
        "new/theirs": b"theirs",
    }
    assert contents(out) == found


def test_one_run_at_a_time(out):
    fd = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        before = contents(out)
        with pytest.raises(TreeError) as caught:
            write(NEW, out)
        assert caught.value.path == str(out)
        assert contents(out) == before
        assert set(summary(compare(NEW, out)).values()) == {"changed", "created"}
    finally:
        os.close(fd)
    write(NEW, out)
