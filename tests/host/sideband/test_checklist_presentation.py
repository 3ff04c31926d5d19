"""What is shown is what was printed: nothing that only looks like a prompt, an echo or half a character is touched."""

from __future__ import annotations

import pytest

from plughost.contracts.sideband.items import Image, Stream, Text
from plughost.host.sideband.reply import Reply
from tests.host.sideband.lab import EVERY, Lab

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(EVERY, "sideband-host")

# A picture without a word.
FIGURE = """
import matplotlib.pyplot as plt
def figure():
    plt.figure(figsize=(1, 1)); plt.plot([1, 2]); plt.show(); plt.close("all")
"""
PROMPTS = ("who? ", "", ">>> ", "... ", "(Pdb) ", "\n", "ä😀")


@pytest.mark.parametrize(
    "shown", [">>> 1", "... ", "> ", "(Pdb) n", "In [1]: x", "\x1e" + "0" * 32 + "\x1e", ""]
)
def test_output_that_looks_like_a_prompt_or_a_mark_stays(both: Lab, shown: str) -> None:
    desk = both.console()
    assert desk.run(f"print({shown!r})\nprint({shown!r}, end='')").text == f"{shown}\n{shown}"


@pytest.mark.parametrize("prompt", PROMPTS)
def test_text_that_equals_what_was_asked_or_answered_stays(both: Lab, prompt: str) -> None:
    desk = both.console()
    code = f"x = input({prompt!r})\nprint(x)\nprint({prompt!r} + x)\nx"
    asked = desk.run(code)
    assert (asked.state, asked.prompt, asked.text) == ("waiting for stdin", prompt, "")
    assert desk.answer("print(1)").text == f"print(1)\n{prompt}print(1)\n'print(1)'\n"


def test_code_is_never_shown_however_much_of_it_there_is(both: Lab) -> None:
    desk = both.console()
    assert desk.run("\n".join(f"name_{n} = {n}" for n in range(20_000))).items == ()
    assert desk.run("name_19999").text == "19999\n"


def _shown(reply: Reply, stream: Stream) -> str:
    return "".join(item.text for item in reply.items if isinstance(item, Text) and item.stream is stream)


@requirement("sideband:output:utf8")
def test_a_character_that_is_cut_by_the_other_stream_is_whole(both: Lab) -> None:
    desk = both.console()
    reply = desk.run(
        "import os\n"
        "for stream, part in ((1, b'caf\\xc3'), (2, b'warn\\xe2\\x82'), (1, b'\\xa9'), (2, b'\\xac')):\n"
        "    _ = os.write(stream, part)"
    )
    assert (_shown(reply, Stream.STDOUT), _shown(reply, Stream.STDERR)) == ("café", "warn€")


@requirement("sideband:output:utf8")
def test_a_character_that_is_cut_by_a_picture_is_whole(both: Lab) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: install it to run this")
    desk = both.console()
    desk.run(FIGURE)
    reply = desk.run("import os\nos.write(1, b'caf\\xc3') and None\nfigure()\nos.write(1, b'\\xa9') and None")
    assert len(reply.images) == 1
    assert _shown(reply, Stream.STDOUT) == "café"


def test_a_reply_that_is_only_a_picture_is_shown_once(both: Lab) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: install it to run this")
    desk = both.console()
    desk.run(FIGURE)
    reply = desk.run("figure()")
    assert [type(item) for item in reply.items] == [Image]
    assert desk.poll().items == ()
    assert desk.run("None").items == ()


@requirement("sideband:output:raw")
def test_both_streams_are_told_apart_and_nothing_is_put_in_front_of_either(both: Lab) -> None:
    desk = both.console()
    reply = desk.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 / 0")
    out = "".join(
        item.text for item in reply.items if isinstance(item, Text) and item.stream is Stream.STDOUT
    )
    err = "".join(
        item.text for item in reply.items if isinstance(item, Text) and item.stream is Stream.STDERR
    )
    assert out == "out\n"
    assert err.startswith("err\nTraceback ")
    assert err.endswith("ZeroDivisionError: division by zero\n")
