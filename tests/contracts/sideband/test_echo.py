"""An echo is cut where the worker says that it has read it, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.sideband.echo import MOST_KEPT, Echo
from plughost.contracts.sideband.items import Notice, Stream, Text
from tests.contracts.sideband.wire import line

requirement = pytest.mark.requirement

OUT, ERR = Stream.STDOUT, Stream.STDERR


def shown(text, *read, stream=OUT):
    """Return what is left of *text*, printed by a request that has read the lines *read*."""
    echo = Echo()
    echo.begin(1)
    for prompt, each in read:
        echo.read(prompt, each)
    return "".join(item.text for item in echo.cut((Text(stream, text, 1),)))


ONE = ("> ", "1 + 1\n")
BLOCK = [("> ", "f <- function() {\n"), ("+ ", "1\n"), ("+ ", "}\n")]


@requirement("sideband:output:echo")
@pytest.mark.parametrize(
    ("text", "read", "left"),
    [
        ("> 1 + 1\n[1] 2\n", [ONE], "[1] 2\n"),
        ("> 1 + 1\r\n[1] 2\r\n", [ONE], "[1] 2\r\n"),
        ("> 1 + 1\n", [ONE], ""),
        ("> f <- function() {\n+ 1\n+ }\nx", BLOCK, "x"),
        ("> f <- function() {\n+ 1\n!", BLOCK, "!"),
        ("> 1 + 1\n[1] 2\n> 1 + 1\n", [ONE, ONE], "[1] 2\n> 1 + 1\n"),
        ("1 + 1\n", [ONE], "1 + 1\n"),
        (">  1 + 1\n", [ONE], ">  1 + 1\n"),
        (" > 1 + 1\n", [ONE], " > 1 + 1\n"),
        ("> 1 + 1", [ONE], "> 1 + 1"),
        ("> 1 + 1\n", [], "> 1 + 1\n"),
        (">>> ", [("", "x\n")], ">>> "),
    ],
    ids=[
        "one line",
        "as a terminal ends it",
        "nothing else",
        "a block",
        "part of a block",
        "the second is not at the beginning",
        "no prompt",
        "another prompt",
        "indented",
        "no end",
        "nothing was read",
        "a prompt that was printed",
    ],
)
def test_only_what_was_read_is_cut_and_only_at_the_beginning(text, read, left):
    assert shown(text, *read) == left


@requirement("sideband:output:echo")
def test_an_echo_behind_an_error_or_on_stderr_stays():
    assert shown("> 1 + 1\n", ONE, stream=ERR) == "> 1 + 1\n"
    echo = Echo()
    echo.begin(1)
    echo.read(*ONE)
    items = (Text(ERR, "Error\n", 1), Text(OUT, "> 1 + 1\n", 1))
    assert echo.cut(items) == items


@requirement("sideband:output:echo")
def test_what_comes_later_or_from_another_request_stays():
    echo = Echo()
    echo.begin(1)
    echo.read(*ONE)
    echoed = Text(OUT, "> 1 + 1\n", 1)
    other = Text(OUT, "> 1 + 1\n", None)
    assert echo.cut((other, echoed, Notice("x", 1))) == (other, Notice("x", 1))
    assert echo.cut((echoed,)) == (echoed,)
    echo.begin(2)
    assert echo.cut((echoed,)) == (echoed,)


def test_no_more_lines_are_remembered_than_a_person_types():
    read = [("", f"{at}\n") for at in range(MOST_KEPT + 1)]
    assert shown("".join(each for _, each in read), *read) == read[-1][1]


@given(st.text(), st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3))))
def test_what_is_left_is_always_the_end_of_what_was_printed(text, read):
    assert text.endswith(shown(text, *read))


@requirement("sideband:output:echo")
@pytest.mark.parametrize("echoes", [False, True])
def test_only_a_worker_that_is_said_to_echo_loses_its_echo(talk, echoes):
    worker = talk(echoes=echoes).begin_foreign().run("1 + 1")
    worker.show(b"> 1 + 1\r\n[1] 2\r\n")  # may well come before the line that explains it
    worker.tell(line("readline_result", prompt="> ", line="1 + 1\n"))
    assert worker.text() == ("[1] 2\r\n" if echoes else "> 1 + 1\r\n[1] 2\r\n")


def test_a_worker_with_ids_never_loses_an_echo(talk):
    worker = talk(echoes=True).begin().run("1 + 1").show(b"> 1 + 1\n")
    worker.tell(line("readline_result", prompt="> ", line="1 + 1\n", request_id=1))
    assert worker.text() == "> 1 + 1\n"


@requirement("sideband:output:echo")
def test_a_prompt_that_was_shown_before_the_request_began_is_part_of_its_echo(talk):
    worker = talk(echoes=True).begin_foreign().show(b"> ").run("1 + 1")
    worker.show(b"1 + 1\r\n2\r\n> ").tell(line("readline_result", prompt="> ", line="1 + 1\n"))
    worker.tell(line("readline_start", prompt="> "))
    assert worker.text() == "2\r\n"
    worker.tell(line("request_end")).tick(1.0).run("3")
    worker.show(b"3\r\n3\r\n> ").tell(line("readline_result", prompt="> ", line="3\n"))
    worker.tell(line("readline_start", prompt="> "))
    assert worker.text() == "3\r\n"


@requirement("sideband:output:echo")
def test_a_prompt_at_the_end_is_cut_only_while_the_worker_says_that_it_shows_it(talk):
    worker = talk(echoes=True).begin_foreign().run("x").show(b"done\n> ")
    assert worker.text() == "done\n> "
    worker.tell(line("readline_start", prompt="> ")).show(b"more\n> ")
    assert worker.text() == "more\n"
