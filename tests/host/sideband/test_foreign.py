"""Workers without ids, and workers that say what is wrong: served as well as can be, and what is dropped is told."""

from __future__ import annotations

import sys

import pytest

from plughost.errors import LocalProtocolError
from tests.host.sideband.lab import EVERY, PATIENCE_S, QUICK, Desk, Lab

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(EVERY, "sideband-host")


@requirement("sideband:request:settled")
def test_a_worker_without_ids_is_served_with_all_of_its_output(both: Lab) -> None:
    desk = both.foreign()
    for number in range(5):
        reply = desk.run(f"say {number}")
        assert (reply.text, reply.state, reply.prompt) == (f"{number}\n", "ready", "> ")


def test_a_poll_of_a_worker_without_ids_tells_its_prompt(both: Lab) -> None:
    desk = both.foreign()
    desk.run("say it")
    reply = desk.poll()
    assert (reply.state, reply.prompt, reply.items, reply.request_id) == ("ready", "> ", (), None)
    empty = desk.run("")
    assert (empty.state, empty.prompt, empty.text) == ("ready", "> ", "")


def test_a_request_whose_input_is_not_read_is_not_over(both: Lab) -> None:
    desk = both.foreign("deaf", "ids", **QUICK)
    reply = desk.begin("sleep\n" + "x" * 1_000_000)
    while "sleeping" not in reply.text:
        reply = desk.poll(0.01)
    later = desk.poll(0)
    assert (later.state, later.request_id) == ("running", 1)
    with pytest.raises(LocalProtocolError):
        desk.run("say no")


def test_a_worker_without_ids_can_ask(both: Lab) -> None:
    desk = both.foreign()
    asked = desk.run("ask colour? ")
    assert (asked.state, asked.prompt) == ("waiting for stdin", "colour? ")
    with pytest.raises(LocalProtocolError):
        desk.run("say no")
    assert desk.answer("blue").text == "answered blue\n"


WORKER = """
import json, os, sys
WRITE = int(os.environ["MCP_CONSOLE_IPC_WRITE_FD"])
def tell(type, **members):
    os.write(WRITE, json.dumps({"type": type, **members}).encode() + b"\\n")
def read(prompt, over):
    tell("readline_start", prompt=prompt)
    if over:
        tell("request_end")
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    tell("readline_result", prompt=prompt, line=line)
    return line.strip()
tell("backend_info", language="words", supports_images=False)
prompt, number = sys.argv[1], 0
line = sys.stdin.readline().strip() if "late" in sys.argv else read(prompt.replace("N", "0"), False)
while True:
    word, _, rest = line.partition(" ")
    if word == "ask":
        print("got", read(rest.strip("'"), True), flush=True)
    elif word == "prompt":
        prompt = rest
    else:
        print("ran", line, flush=True)
    number += 1
    line = read(prompt.replace("N", str(number)), True)
"""


def literal(lab: Lab, *words: str) -> Desk:
    """Return a console with a worker that says request_end wherever it waits for a line, with its prompt."""
    return lab.console([sys.executable, "-I", "-S", "-c", WORKER, *words])


@requirement("sideband:input:unended")
@pytest.mark.parametrize(
    "words", [("> ",), ("In [N]: ",), ("> ", "late"), ("In [N]: ", "late")], ids=" ".join
)
def test_a_worker_whose_requests_end_with_its_next_prompt_is_ready_after_each(
    lab: Lab, words: tuple[str, ...]
) -> None:
    desk = literal(lab, *words)
    for number in (1, 2, 3):
        reply = desk.run(f"code {number}")
        prompt = words[0].replace("N", str(number))
        assert (reply.state, reply.prompt, reply.text) == ("ready", prompt, f"ran code {number}\n")


@requirement("sideband:input:unended")
def test_code_that_changes_the_prompt_of_such_a_worker_does_not_end_its_use(lab: Lab) -> None:
    desk = literal(lab, "> ")
    changed = desk.run("prompt $")
    assert (changed.state, changed.prompt) == ("waiting for stdin", "$")
    replies = [desk.run(f"code {number}") for number in (2, 3)]
    assert [(each.state, each.text, each.request_id) for each in replies] == [
        ("ready", "ran code 2\n", 2),
        ("ready", "ran code 3\n", 3),
    ]
    assert [len(each.notices) for each in replies] == [1, 0]


@requirement("sideband:input:unended")
@pytest.mark.parametrize("words", [("> ",), ("In [N]: ",), ("> ", "late")], ids=" ".join)
def test_a_question_of_such_a_worker_can_be_answered(lab: Lab, words: tuple[str, ...]) -> None:
    desk = literal(lab, *words)
    asked = desk.run("ask 'name? '")
    assert (asked.state, asked.prompt) == ("waiting for stdin", "name? ")
    answered = desk.answer("Ada")
    assert (answered.state, answered.text, answered.request_id) == ("ready", "got Ada\n", 1)


@requirement("sideband:interrupt:sent")
def test_a_worker_without_ids_is_sent_the_signal(both: Lab) -> None:
    desk = both.foreign()
    desk.begin_until("sleep", "sleeping")
    assert desk.interrupt() == "sent"
    reply = desk.poll()
    assert (reply.state, reply.text) == ("ready", "interrupted\n")
    assert desk.run("say again").text == "again\n"


def test_a_worker_without_ids_is_sent_no_signal_while_nothing_runs(both: Lab) -> None:
    desk = both.foreign()
    assert desk.interrupt() == "idle"
    assert desk.run("say unharmed").text == "unharmed\n"


def test_the_end_of_a_worker_without_ids_is_told_as_any_other(both: Lab) -> None:
    desk = both.foreign()
    reply = desk.run("exit 6")
    assert (reply.state, reply.error) == ("ended", True)
    assert "exit status 6" in reply.notices[0]
    assert desk.run("say back").generation == 2


@requirement("sideband:request:late")
@pytest.mark.parametrize("kind", [("ids", "marks"), ("ids",)], ids=["marks", "ids"])
def test_ends_of_other_requests_end_nothing(both: Lab, kind: tuple[str, ...]) -> None:
    desk = both.foreign("twice", "early", *kind)
    for number in range(20):
        assert desk.run(f"say {number}").text == f"{number}\n"
    assert both.unheard()


GARBAGE = {
    "no-json": b"{{{\n",
    "no-object": b"[1]\n",
    "no-text": b"\xff\xfe\n",
    "unknown": b'{"type":"surprise"}\n',
    "wrong-member": b'{"type":"readline_start","prompt":7}\n',
    "bad-base64": b'{"type":"plot_image","id":"1","mime_type":"image/png","data":"%","is_new":true}\n',
}


@requirement("sideband:line:skipped")
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_a_line_that_is_no_message_costs_nothing_but_itself(lab: Lab, garbage: bytes) -> None:
    desk = lab.foreign("ids", "marks")
    assert desk.run(f"bytes {garbage!r}").state == "ready"
    assert desk.run("say on").text == "on\n"
    assert len(lab.unheard()) == 1


@requirement("sideband:request:unmarked")
@pytest.mark.long
def test_a_mark_that_never_comes_is_not_waited_for_for_ever(lab: Lab) -> None:
    desk = lab.foreign("ids", "marks", "liar")
    assert desk.begin("say it").request_id == 1
    reply = desk.poll(PATIENCE_S)
    assert reply.state == "ready"
    assert lab.unheard()
