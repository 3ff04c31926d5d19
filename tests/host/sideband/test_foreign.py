"""Workers without ids, and workers that say what is wrong: served as well as can be, and what is dropped is told."""

from __future__ import annotations

import pytest

from plughost.errors import LocalProtocolError
from tests.host.sideband.lab import EVERY, PATIENCE_S, Lab

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(EVERY, "sideband-host")


@requirement("sideband:request:settled")
def test_a_worker_without_ids_is_served_with_all_of_its_output(both: Lab) -> None:
    desk = both.foreign()
    for number in range(5):
        reply = desk.run(f"say {number}")
        assert (reply.text, reply.state, reply.prompt) == (f"{number}\n", "ready", "> ")


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
def test_a_mark_that_never_comes_is_not_waited_for_for_ever(lab: Lab) -> None:
    desk = lab.foreign("ids", "marks", "liar")
    assert desk.begin("say it").request_id == 1
    reply = desk.poll(PATIENCE_S)
    assert reply.state == "ready"
    assert lab.unheard()
