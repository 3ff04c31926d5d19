"""Who is not root can be locked out: it is told by name, and nothing is written."""

import os

import pytest

from plughost.errors import TreeError
from plughost.fragments import compare, recover, write
from plughost.fragments.paths import STORE
from tests.fragments.offering import contents, output


@pytest.fixture
def own(ordinary):
    out = ordinary / "out"
    (out / "deep").mkdir(parents=True)
    (out / "top.txt").write_text("old top\n")
    (out / "deep/file.txt").write_text("old file\n")
    return out


NEW = [output("deep/file.txt", "new file\n"), output("top.txt", "new top\n")]


@pytest.mark.parametrize("path", ["deep/file.txt", "deep/new.txt", "deep/a/b/new.txt"])
@pytest.mark.parametrize("mode", [0o555, 0o444, 0o400, 0o000], ids=oct)
def test_a_directory_without_permission_is_named_and_nothing_is_written(own, path, mode):
    (own / "deep").chmod(mode)
    with pytest.raises(TreeError) as caught:
        write([output("top.txt", "new"), output(path, "x")], own)
    assert caught.value.path.startswith(str(own / "deep"))
    assert (own / "deep").stat().st_mode & 0o777 == mode, "it is not opened up"
    (own / "deep").chmod(0o755)
    assert contents(own) == {"deep": None, "deep/file.txt": b"old file\n", "top.txt": b"old top\n"}


def test_a_directory_without_permission_is_found_before_anything_is_committed(own, monkeypatch):
    (own / "deep").chmod(0o555)
    monkeypatch.setattr(os, "rename", lambda *arguments, **options: pytest.fail("something was moved"))
    with pytest.raises(TreeError) as caught:
        write([output("top.txt", "new"), output("deep/new.txt", "x")], own)
    assert caught.value.path == str(own / "deep")


def test_an_output_directory_without_permission_is_named(own):
    own.chmod(0o555)
    with pytest.raises(TreeError) as caught:
        write(NEW, own)
    assert caught.value.path.startswith(str(own))
    assert (own / "top.txt").read_text() == "old top\n"
    same = [output("top.txt", "old top\n")]
    assert [str(change.kind) for change in write(same, own)] == ["unchanged"], (
        "what is up to date needs no permission"
    )


def test_an_output_directory_that_cannot_be_made_is_named(ordinary):
    ordinary.chmod(0o555)
    with pytest.raises(TreeError) as caught:
        write(NEW, ordinary / "a/b")
    assert caught.value.path == str(ordinary / "a/b")
    assert os.listdir(ordinary) == []


def test_a_file_that_cannot_be_read_cannot_be_compared(own):
    (own / "top.txt").chmod(0o200)
    for act in (compare, write):
        with pytest.raises(TreeError) as caught:
            act(NEW, own)
        assert caught.value.path == str(own / "top.txt")
    assert (own / "deep/file.txt").read_text() == "old file\n"


def test_a_file_that_cannot_be_written_is_replaced_and_keeps_its_mode(own):
    (own / "top.txt").chmod(0o444)
    write(NEW, own)
    assert (own / "top.txt").read_text() == "new top\n"
    assert (own / "top.txt").stat().st_mode & 0o777 == 0o444


def test_the_file_of_another_user_is_replaced_by_our_own(own):
    if os.getuid():
        pytest.skip("only root can make a file of another owner")
    os.seteuid(0)
    os.chown(own / "top.txt", 0, 0)
    os.seteuid(65_534)
    write(NEW, own)
    assert (own / "top.txt").read_text() == "new top\n"
    assert (own / "top.txt").stat().st_uid == 65_534


def test_the_file_of_another_user_in_a_shared_directory_brings_everything_back(own):
    if os.getuid():
        pytest.skip("only root can make a file of another owner")
    os.seteuid(0)
    (own / "shared").mkdir()
    (own / "shared/theirs").write_text("theirs")
    (own / "shared").chmod(0o1777)
    os.seteuid(65_534)
    before = contents(own)
    with pytest.raises(TreeError) as caught:
        write([*NEW, output("shared/theirs", "x"), output("shared/ours", "x")], own)
    assert caught.value.path == str(own / "shared/theirs")
    assert contents(own) == before


def test_a_store_that_is_locked_is_named(own):
    (own / STORE).mkdir()
    (own / STORE).chmod(0)
    with pytest.raises(TreeError) as caught:
        recover(own)
    assert caught.value.path == str(own / STORE)
