"""Workers without ids, and workers that say what is wrong: served as well as can be, and what is dropped is told."""

from __future__ import annotations

import pytest

from plughost.errors import LocalProtocolError
from tests.host.sideband.lab import EVERY, PATIENCE_S, QUICK, Lab

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
