"""What would change: told without touching anything, and shown to people within bounds."""

import os
import random

import pytest

from plughost.errors import FragmentError, TreeError
from plughost.fragments import Change, ChangeKind, compare
from plughost.fragments.changes import DIFF_BYTES, DIFF_LINES
from tests.files.portrait import portrait
from tests.fragments.offering import contents, output


def kinds(outputs, directory):
    return {change.path: str(change.kind) for change in compare(outputs, directory)}


def test_every_output_is_created_changed_or_unchanged(out):
    before = portrait(out)
    outputs = [output("top.txt", "old top\n"), output("deep/file.txt", "new"), output("deep/more/x", "")]
    assert kinds(outputs, out) == {
        "top.txt": "unchanged",
        "deep/file.txt": "changed",
        "deep/more/x": "created",
    }
    assert [change.path for change in compare(outputs[::-1], out)] == [
        "deep/more/x",
        "deep/file.txt",
        "top.txt",
    ]
    assert portrait(out) == before


def test_in_a_directory_that_is_missing_everything_is_created(tmp_path):
    assert kinds([output("a/b", "x")], tmp_path / "no/such") == {"a/b": "created"}
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("size", [DIFF_BYTES - 1, DIFF_BYTES, DIFF_BYTES + 1, 3 * DIFF_BYTES])
def test_contents_are_compared_to_the_last_byte(out, size):
    (out / "big").write_bytes(b"x" * size)
    assert kinds([output("big", b"x" * size)], out) == {"big": "unchanged"}
    for other in (b"x" * (size - 1) + b"y", b"x" * (size - 1), b"x" * (size + 1)):
        assert kinds([output("big", other)], out) == {"big": "changed"}


def test_the_directory_may_be_a_symlink_because_its_user_named_it(out, tmp_path):
    (tmp_path / "link").symlink_to(out)
    assert kinds([output("top.txt", "old top\n")], tmp_path / "link") == {"top.txt": "unchanged"}


@pytest.mark.parametrize("path", ["link", "link/file.txt", "up/out/top.txt", "dangling", "dangling/x"])
def test_nothing_is_reached_through_a_symlink(out, path):
    (out / "link").symlink_to("deep")
    (out / "up").symlink_to("..")
    (out / "dangling").symlink_to("nowhere")
    with pytest.raises(TreeError) as caught:
        compare([output(path, "x")], out)
    assert caught.value.path == str(out / path.partition("/")[0])
    assert "symlink" in caught.value.problem


def test_what_is_no_file_is_refused_without_waiting_for_it(out):
    os.mkfifo(out / "fifo")
    for path, culprit in {"fifo": "fifo", "deep": "deep", "top.txt/x": "top.txt", "fifo/a/b": "fifo"}.items():
        with pytest.raises(TreeError) as caught:
            compare([output(path, "x")], out)
        assert caught.value.path == str(out / culprit)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", ".git/config", ""])
def test_outputs_of_any_origin_have_plain_paths(out, path):
    with pytest.raises(FragmentError):
        compare([output(path, "x")], out)


def test_a_directory_that_is_none_is_named(out):
    for directory in (out / "top.txt", out / "top.txt/x"):
        with pytest.raises(TreeError) as caught:
            compare([output("a", "x")], directory)
        assert caught.value.path == str(directory)


def test_leftovers_of_a_killed_run_are_not_looked_at(out):
    (out / ".plughost-generate").mkdir()
    (out / ".plughost-generate/journal").write_text("nonsense")
    assert kinds([output("top.txt", "old top\n")], out) == {"top.txt": "unchanged"}


# Diffs


def diff(before, after, kind=ChangeKind.CHANGED):
    return Change("a/b.txt", kind, before, after).diff()


def test_a_diff_is_unified():
    found = diff(b"one\ntwo\nthree\n", b"one\n2\nthree\n")
    assert found == "--- a/a/b.txt\n+++ b/a/b.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def test_a_new_file_comes_from_nowhere():
    found = diff(b"", b"one\n", ChangeKind.CREATED)
    assert found == "--- /dev/null\n+++ b/a/b.txt\n@@ -0,0 +1 @@\n+one\n"
    assert diff(b"", b"", ChangeKind.CREATED) == "--- /dev/null\n+++ b/a/b.txt\n"


def test_what_is_unchanged_has_no_diff():
    assert diff(b"x", b"x", ChangeKind.UNCHANGED) == ""


def test_a_missing_end_of_line_is_seen():
    assert diff(b"x\n", b"x").splitlines()[3:] == ["-x", "+x", "\\ No newline at end of file"]


def test_a_diff_holds_nothing_that_a_terminal_would_obey():
    found = diff(b"\x1b[2J\x07\n", "\tü\u202e\r\n\x9b31m".encode())
    assert "\t" in found
    assert found.replace("\n", "").replace("\t", "").isprintable()
    assert "\\x0d" in found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\0", b"x\n"),
        (b"\xff\n", b"x\n"),
        (None, b"x\n"),
        (b"x\n", b"y" * (DIFF_BYTES + 1)),
        (b"\n" * (DIFF_LINES + 1), b"x\n"),
    ],
    ids=["nul", "not-utf8", "not-kept", "bytes", "lines"],
)
def test_what_cannot_be_shown_is_told_in_words(before, after):
    found = diff(before, after)
    assert found.count("\n") == 1
    assert found.startswith("a/b.txt: changed")


@pytest.mark.parametrize("times", [1, 19, 2000])
def test_the_longest_diff_is_whole(times):
    lines = [b"%d" % (number // times) for number in range(DIFF_LINES - 1)]
    random.Random(1).shuffle(lines)
    before, after = b"\n".join(lines), b"\n".join([*lines[::-1], b"more"])
    found = diff(before, after).splitlines()[2:]
    assert (
        len([line for line in found if line[0] == "+"]) == len([line for line in found if line[0] == "-"]) + 1
    )
    assert "+more" in found


def test_an_old_file_that_is_too_long_is_not_kept(out):
    (out / "big").write_bytes(b"x" * (DIFF_BYTES + 1))
    (change,) = compare([output("big", "y")], out)
    assert change.before is None
    assert change.diff().count("\n") == 1
