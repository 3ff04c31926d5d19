"""What is shown, and where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plughost.contracts.sideband.items import Image, Item, Notice, Omitted, Prompt, Stream, Text
from plughost.frontends.console.album import Album
from plughost.frontends.console.display import Display
from plughost.frontends.console.inline import Protocol, encode
from plughost.frontends.console.line_editor import LONGEST_PROMPT, divide_prompt, editable, printable
from tests.frontends.console.drawing import image, png


class Screen:
    """Standard output and standard error of this process, as files."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def of(self, display: Display, *items: Item, full_output: Path | None = None) -> tuple[str, str]:
        self._capfd.readouterr()
        display.show(items, full_output)
        return self._capfd.readouterr()


@pytest.fixture
def screen(capfd: pytest.CaptureFixture[str]) -> Screen:
    return Screen(capfd)


def out(text: str) -> Text:
    return Text(Stream.STDOUT, text, 1)


def err(text: str) -> Text:
    return Text(Stream.STDERR, text, 1)


def test_output_goes_where_it_was_written_to_as_it_is(screen: Screen) -> None:
    shown = screen.of(Display(None), out("\x1b[31mred\x1b[0m\0"), err("\x1b[2Jwrong"), out(" é\r\n"))
    assert shown == ("\x1b[31mred\x1b[0m\0 é\r\n", "\x1b[2Jwrong")


def test_errors_have_a_colour_where_there_are_colours(screen: Screen) -> None:
    assert screen.of(Display(None, colours=True), err("wrong\n")) == ("", "\x1b[31mwrong\n\x1b[0m")


def test_a_remark_cannot_speak_to_the_terminal(screen: Screen) -> None:
    shown = screen.of(Display(None), Notice("it\x1b[2J said\n[this", None))
    assert shown == ("", "[it\\x1b[2J said\\n[this]\n")


def test_prompts_are_left_to_whoever_asks(screen: Screen) -> None:
    assert screen.of(Display(None), Prompt("Name? ", 1)) == ("", "")


def test_what_is_left_out_is_counted_and_the_whole_is_named(screen: Screen) -> None:
    display = Display(None)
    omitted = Omitted(12, 0, 3, 999, spooled=True)
    _, shown = screen.of(display, omitted, full_output=Path("/output.txt"))
    assert "12 characters, 3 pictures" in shown
    assert "/output.txt" in shown
    lost = Omitted(12, 1, 0, 0, spooled=False)
    assert "/output.txt" not in screen.of(display, lost, full_output=Path("/output.txt"))[1]


def test_a_picture_is_named_by_its_path(screen: Screen, tmp_path: Path) -> None:
    shown = screen.of(Display(Album(tmp_path)), image(png(640, 480)))
    assert shown == ("", f"[picture: {tmp_path}/picture-1.png 640×480]\n")


def test_a_picture_is_shown_where_the_terminal_can(screen: Screen, tmp_path: Path) -> None:
    drawn: Image = image()
    inline = encode(drawn, Protocol.KITTY)
    assert inline is not None
    stdout, stderr = screen.of(Display(Album(tmp_path), Protocol.KITTY), drawn)
    assert stdout == inline.decode()
    assert "picture-1.png" in stderr


def test_a_picture_that_is_not_wanted_is_not_kept(screen: Screen, tmp_path: Path) -> None:
    stdout, stderr = screen.of(
        Display(None, Protocol.KITTY), image(png(640, 480)), image(b"", mime_type="a/\x1b")
    )
    assert stdout == ""
    assert "640×480" in stderr
    assert "\x1b" not in stderr


def test_a_picture_that_cannot_be_kept_says_why(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    _, stderr = screen.of(Display(Album(tmp_path / "file")), image())
    assert os.strerror(17) in stderr or os.strerror(20) in stderr  # EEXIST, ENOTDIR


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("Name? ", ("", "Name? ")),
        ("a\nb\nc: ", ("a\nb\n", "c: ")),
        ("", ("", "")),
        ("\n", ("\n", "")),
        ("x" * (LONGEST_PROMPT + 1), ("x" * (LONGEST_PROMPT + 1), "")),
    ],
)
def test_only_the_last_line_of_a_prompt_stands_beside_the_answer(prompt: str, parts: tuple[str, str]) -> None:
    assert divide_prompt(prompt) == parts


@pytest.mark.parametrize(
    "prompt",
    [
        "\x1b]0;title\x07q? ",
        "\x1b]0;title\x07\nq? ",
        "q\n\x1b]0;title\x07? ",
        "\x1b]0;title\x07" + "q" * LONGEST_PROMPT + "? ",
        "\r\x9b2J\x01\x02\n" * 3,
    ],
    ids=["one line", "before", "beside", "long", "all"],
)
def test_no_part_of_a_prompt_speaks_to_the_terminal(capfd: pytest.CaptureFixture[str], prompt: str) -> None:
    beside = Display(None).ask(f"\x1b[32m{prompt}\x1b[0m")
    shown = capfd.readouterr().out + editable(beside).replace("\x01", "").replace("\x02", "")
    assert shown.startswith("\x1b[32m")
    assert shown.endswith("\x1b[0m")
    inside = shown.removeprefix("\x1b[32m").removesuffix("\x1b[0m")
    assert inside.replace("\n", "").isprintable()
    assert inside == printable(prompt)


def test_colours_of_a_prompt_take_no_room_and_nothing_else_gets_through() -> None:
    assert (
        editable("\x1b[32mgo\x1b[0m\x1b[2J\x01\0: ")
        == "\x01\x1b[32m\x02go\x01\x1b[0m\x02\\x1b[2J\\x01\\x00: "
    )
