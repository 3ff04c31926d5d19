"""What a reply leaves out, from its file."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plughost.contracts.sideband.items import Item, Omitted, Stream, Text
from plughost.frontends.console import full_output
from plughost.frontends.console.display import Display
from plughost.frontends.console.full_output import FullOutput
from plughost.frontends.console.output_directory import OutputDirectory

Show = Callable[..., tuple[str, str]]


@pytest.fixture
def full() -> Iterator[FullOutput]:
    made = FullOutput()
    yield made
    made.close()


@pytest.fixture
def show(full: FullOutput, capfd: pytest.CaptureFixture[str]) -> Show:
    display = Display(None, full=full)

    def go(path: Path | None, *items: Item) -> tuple[str, str]:
        display.show(items, path)
        return capfd.readouterr()

    return go


def out(text: str) -> Text:
    return Text(Stream.STDOUT, text, 1)


def err(text: str) -> Text:
    return Text(Stream.STDERR, text, 1)


def left(chars: int, *, entries: int = 0, images: int = 0) -> Omitted:
    return Omitted(chars, entries, images, 0, spooled=True)


@pytest.mark.parametrize("block", [4, 5, 7, 1_048_576])
def test_what_is_left_out_stands_in_its_place(
    show: Show, full: FullOutput, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(full_output, "BLOCK_BYTES", block)
    path = tmp_path / "output"
    path.write_text("heäd€𝄞 middle€𝄞ä tail")
    assert show(None, out("before ")) == ("before ", "")  # a file begins with the reply that names it first
    assert show(path, out("heäd€𝄞 "), left(9), out(" tail")) == ("heäd€𝄞 middle€𝄞ä tail", "")
    assert full.lost == 0


def test_the_place_goes_along_from_reply_to_reply(show: Show, full: FullOutput, tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("12€4")
    assert show(path, out("1"), err("2"), left(1), out("4")) == ("1€4", "2")
    with path.open("a") as file:
        file.write("567890")
    assert show(path, out("5")) == ("5", "")
    assert show(path, left(2), out("8"), left(1), out("0")) == ("67890", "")
    assert full.lost == 0


def test_another_file_is_another_whole(show: Show, full: FullOutput, tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_text("abc")
    second.write_text("xyz")
    assert show(first, out("a"), left(1), out("c"))[0] == "abc"
    assert show(second, out("x"), left(1), out("z"))[0] == "xyz"
    assert full.lost == 0


def test_what_the_file_does_not_have_is_counted_and_said(
    show: Show, full: FullOutput, tmp_path: Path
) -> None:
    path = tmp_path / "output"
    path.write_text("head and so")
    stdout, stderr = show(path, out("head "), left(10), out(" tail"))
    assert stdout == "head and so tail"
    assert "4 characters" in stderr
    assert full.lost == 4


def test_half_a_character_is_none(show: Show, full: FullOutput, tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_bytes("a€".encode()[:-1])
    assert show(path, left(2))[0] == "a"
    assert full.lost == 1


@pytest.mark.parametrize("damage", ["absent", "removed", "replaced", "no text", "a link", "a directory"])
def test_a_file_that_is_not_what_it_was_gives_nothing(
    show: Show, full: FullOutput, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "output"
    if damage == "a directory":
        path.mkdir()
    elif damage == "a link":
        (tmp_path / "other").write_text("1234")
        path.symlink_to(tmp_path / "other")
    elif damage != "absent":
        path.write_bytes(b"1\xff34" if damage == "no text" else b"1234")
    show(path, out("1"))
    if damage in ("removed", "replaced"):
        path.rename(tmp_path / "elsewhere")  # whose inode stays in use
    if damage == "replaced":
        path.write_text("abcd")
    stdout, stderr = show(path, left(2), out("4"))
    assert stdout == "4"
    assert "2 characters" in stderr
    assert full.lost == 2


def test_without_a_file_all_of_it_is_lost(show: Show, full: FullOutput) -> None:
    assert show(None, out("1"), Omitted(7, 0, 0, 0, spooled=False))[0] == "1"
    assert full.lost == 7


def test_what_is_no_text_is_still_said_to_be_left_out(show: Show, full: FullOutput, tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("1234")
    stdout, stderr = show(path, left(4, entries=3, images=2))
    assert stdout == "1234"
    assert "3 remarks, 2 pictures" in stderr
    assert "characters" not in stderr
    assert full.lost == 0


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "1").touch()
    (tmp_path / "2").touch()
    full = FullOutput()
    before = set(os.listdir("/proc/self/fd"))
    full.follow(tmp_path / "1")
    full.follow(tmp_path / "2")
    full.close()
    full.close()
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_private_directory_goes_with_what_nobody_was_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held = [signal.getsignal(end) for end in (signal.SIGTERM, signal.SIGHUP)]
    with OutputDirectory(None) as unused:
        unused.discard(None)
    with OutputDirectory(None) as discarded:
        (discarded.path / "output").touch()
        discarded.discard(discarded.path / "output")
        assert (discarded.path / "output").exists()
    with OutputDirectory(None) as used:
        (used.path / "output").touch()
        (used.path / "picture").touch()
        used.discard(used.path / "output")
    assert [path.name for path in tmp_path.iterdir()] == [used.path.name]
    assert [path.name for path in used.path.iterdir()] == ["picture"]
    assert [signal.getsignal(end) for end in (signal.SIGTERM, signal.SIGHUP)] == held


def test_nothing_is_removed_from_a_directory_that_somebody_named(tmp_path: Path) -> None:
    with OutputDirectory(tmp_path) as named:
        (tmp_path / "output").touch()
        named.discard(tmp_path / "output")
    assert (tmp_path / "output").exists()
