"""Files and directories that nobody may change, root included, until a flag is taken off: the remedy says which."""

import os
import shlex
import shutil
import subprocess

import pytest

from plughost.errors import TreeError
from plughost.files.flags import lifted


def chattr(*words) -> int:
    return subprocess.run(["chattr", *words], check=False, capture_output=True).returncode


@pytest.fixture
def flag(root):
    """Set a flag, as a plugin of root's can."""
    (root / "probe").touch()
    if not shutil.which("chattr") or chattr("+i", root / "probe"):
        pytest.skip("only root can set such flags, where the filesystem has them")
    chattr("-i", root / "probe")
    (root / "probe").unlink()

    def flag(name, letter="i"):
        assert not chattr(f"+{letter}", root / name)

    yield flag
    chattr("-R", "-ia", root)


def advised(remedy: str) -> list[list[str]]:
    """Return the commands of a remedy."""
    return [shlex.split(command) for command in remedy.split("`")[1::2]]


def rewrite(root):
    (root / "README.md").write_text("other")


DEEDS = {
    "a file": (rewrite, "README.md", ["README.md"]),
    "a new file": (lambda root: (root / "data/new").touch(), "data/new", ["data/new"]),
    "a directory that something was removed from": (
        lambda root: (root / "data/table.csv").unlink(),
        "data",
        ["data"],
    ),
    "a directory that something was added to": (lambda root: (root / "data/new").touch(), "data", ["data"]),
    "deep in a new directory": (
        lambda root: shutil.copytree(root / "data", root / "new"),
        "new/deep/notes.txt",
        ["new"],
    ),
    "the root": (lambda root: (root / "README.md").unlink(), ".", ["."]),
}


@pytest.mark.parametrize("letter", ["i", "a"])
@pytest.mark.parametrize("deed", DEEDS)
def test_the_remedy_names_the_flag_and_helps(root, take, flag, deed, letter):
    do, flagged, named = DEEDS[deed]
    snapshot = take(root)
    do(root)
    flag(flagged, letter)
    with pytest.raises(TreeError) as caught:
        snapshot.revert()
    ((command, *options, path),) = advised(caught.value.remedy)
    assert command == "chattr"
    assert f"-{letter}" in options
    assert path == os.path.normpath(root / named[0])
    subprocess.run([command, *options, path], check=True)
    snapshot.revert()
    assert snapshot.changes() == ()


def test_all_of_them_are_named(root, take, flag):
    snapshot = take(root)
    for name, letter in (("README.md", "i"), ("data/table.csv", "a")):
        (root / name).write_text("other")
        flag(name, letter)
    with pytest.raises(TreeError) as caught:
        snapshot.revert()
    ((*command, one, two),) = advised(caught.value.remedy)
    assert [one, two] == [str(root / "README.md"), str(root / "data/table.csv")]
    subprocess.run([*command, one, two], check=True)
    snapshot.revert()


def test_a_name_is_quoted_for_the_shell(root, take, flag):
    name = "it's; `true` $HOME"
    snapshot = take(root)
    (root / name).touch()
    flag(name)
    with pytest.raises(TreeError) as caught:
        snapshot.revert()
    assert shlex.quote(str(root / name)) in caught.value.remedy


def test_where_no_flag_is_set_none_is_spoken_of(root):
    assert lifted(root, ["README.md", "data", "missing", "link", "data/deep"]) is None


def test_nothing_but_files_and_directories_is_opened(root):
    os.mkfifo(root / "pipe")
    (root / "dangling").symlink_to("nowhere")
    (root / "out").symlink_to("/")
    assert lifted(root, ["pipe", "dangling", "out", "out/etc"]) is None
