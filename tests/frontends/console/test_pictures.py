"""Pictures: their size, the files that they are kept in, and how a terminal is made to show them."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import pytest

from plughost.frontends.console.album import Album
from plughost.frontends.console.inline import CHUNK, LARGEST_BYTES, Protocol, encode, protocol
from plughost.frontends.console.picture import ending, size
from tests.frontends.console.drawing import image, png


def test_a_png_says_how_large_it_is() -> None:
    assert size(png(640, 480)) == (640, 480)
    assert str(size(png(640, 480))) == "640×480"


@pytest.mark.parametrize("data", [b"", png()[:23], b"\xff" * 100, png().replace(b"IHDR", b"XXXX")], ids=len)
def test_what_is_no_png_has_no_size(data: bytes) -> None:
    assert size(data) is None
    assert encode(image(data), Protocol.KITTY) is None


@pytest.mark.parametrize(
    ("mime_type", "expected"),
    [
        ("image/png", ".png"),
        ("IMAGE/JPEG; q=1", ".jpg"),
        ("image/svg+xml", ".svg"),
        ("text/html", ".bin"),
        ("image/../../etc/passwd", ".bin"),
        ("", ".bin"),
    ],
)
def test_a_file_is_named_by_what_it_says_it_is(mime_type: str, expected: str) -> None:
    assert ending(image(mime_type=mime_type)) == expected


def test_each_picture_is_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    album = Album(tmp_path / "new" / "directory")
    first, second = album.keep(image(png(1, 1))), album.keep(image(png(2, 2), id="../../figure-2\0"))
    assert first is not None
    assert second is not None
    assert [first.name, second.name] == ["picture-1.png", "picture-2.png"]
    assert second.read_bytes() == png(2, 2)
    assert second.parent == tmp_path / "new" / "directory"
    assert second.stat().st_mode & 0o077 == 0


def test_a_picture_that_is_shown_again_takes_the_place_of_its_own(tmp_path: Path) -> None:
    album = Album(tmp_path)
    first = album.keep(image())
    other = album.keep(image(id="other"))
    again = album.keep(image(png(9, 9), is_new=False))
    assert again == first
    assert again is not None
    assert again.read_bytes() == png(9, 9)
    assert album.keep(image()) not in (first, other)  # a new one of the same id
    assert len(list(tmp_path.iterdir())) == 3


def test_a_picture_that_has_become_something_else_is_another_file(tmp_path: Path) -> None:
    album = Album(tmp_path)
    album.keep(image())
    changed = album.keep(image(b"<svg/>", mime_type="image/svg+xml", is_new=False))
    assert changed is not None
    assert changed.suffix == ".svg"


def test_files_of_others_are_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "picture-1.png").write_text("somebody's")
    (tmp_path / "picture-2.png").symlink_to(tmp_path / "elsewhere")
    kept = Album(tmp_path).keep(image())
    assert kept == tmp_path / "picture-3.png"
    assert (tmp_path / "picture-1.png").read_text() == "somebody's"
    assert not (tmp_path / "elsewhere").exists()


def test_a_directory_that_cannot_be_written_is_a_problem_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    album = Album(tmp_path / "file" / "below")
    assert album.keep(image()) is None
    assert album.problem == os.strerror(20)  # ENOTDIR
    assert Album(tmp_path).keep(image()) is not None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-kitty"}, Protocol.KITTY),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, Protocol.KITTY),
        ({"TERM": "xterm-ghostty"}, Protocol.KITTY),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"}, Protocol.KITTY),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, Protocol.ITERM),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "KITTY_WINDOW_ID": "1"}, Protocol.ITERM),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, Protocol.ITERM),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, None),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, None),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"}, None),
        ({"TERM": "screen", "KITTY_WINDOW_ID": "1"}, None),
        ({"TERM": "xterm-256color"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_the_environment_says_what_a_terminal_understands(
    environ: dict[str, str], expected: Protocol | None
) -> None:
    assert protocol(environ) is expected


def test_kitty_is_given_the_picture_in_chunks_and_asked_for_no_answer() -> None:
    data = png() + bytes(range(256)) * 80
    shown = encode(image(data), Protocol.KITTY)
    assert shown is not None
    pieces = re.findall(rb"\x1b_G([^;]*);([^\x1b]*)\x1b\\", shown)
    assert b"".join(b"\x1b_G%b;%b\x1b\\" % piece for piece in pieces) + b"\n" == shown
    assert base64.b64decode(b"".join(text for _, text in pieces)) == data
    assert max(len(text) for _, text in pieces) == CHUNK
    assert [keys for keys, _ in pieces] == [b"a=T,f=100,q=2,m=1", *[b"m=1"] * (len(pieces) - 2), b"m=0"]


def test_a_picture_of_one_chunk_is_whole_at_once() -> None:
    shown = encode(image(), Protocol.KITTY)
    assert shown is not None
    assert shown.startswith(b"\x1b_Ga=T,f=100,q=2,m=0;")


def test_iterm_is_given_the_picture_in_one_sequence() -> None:
    shown = encode(image(), Protocol.ITERM)
    expected = b"\x1b]1337;File=inline=1;size=%d:%b\x07\n" % (len(png()), base64.b64encode(png()))
    assert shown == expected


@pytest.mark.parametrize("by", Protocol)
def test_what_is_too_large_for_a_terminal_is_not_sent_there(by: Protocol) -> None:
    assert encode(image(png() + bytes(LARGEST_BYTES)), by) is None
    assert encode(image(png(100_000, 100_000)), by) is None
    assert encode(image(png(7_680, 4_320)), by) is not None
