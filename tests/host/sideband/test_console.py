"""Code to replies: state, order, waiting, timeouts and polls, questions, on both hosts."""

from __future__ import annotations

import asyncio
import json
import sys
import threading

import pytest

import plughost
from plughost.contracts.sideband.items import Image, Prompt, Stream, Text
from plughost.errors import HostClosed, LocalProtocolError
from tests.host.sideband.lab import EVERY, PATIENCE_S, Lab

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(EVERY, "sideband-host")

PICTURE = """
class Picture:
    def __init__(self, data): self.data = data
    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\n" + self.data
    def __repr__(self): return "a picture"
"""


def test_what_one_request_defines_the_next_one_finds(both: Lab) -> None:
    desk = both.console()
    first = desk.run("x = 41")
    second = desk.run("x + 1")
    assert (first.state, first.text, first.error) == ("ready", "", False)
    assert (second.state, second.text, second.request_id, second.generation) == ("ready", "42\n", 2, 1)


@requirement("sideband:output:order", "sideband:output:before")
def test_pictures_stand_behind_what_was_printed_before_them_and_in_order(both: Lab) -> None:
    desk = both.console()
    desk.run(PICTURE)
    asked = desk.run(
        "import sys\n"
        "print('before')\n"
        "sys.displayhook(Picture(b'1'))\n"
        "sys.displayhook(Picture(b'2'))\n"
        "input('? ')\n"
        "sys.displayhook(Picture(b'3'))\n"
        "print('after', file=sys.stderr)"
    )
    assert [item.data[-1:] for item in asked.images] == [b"1", b"2"]
    assert isinstance(asked.items[0], Text)
    assert asked.items[0].text.startswith("before\na picture\n")
    assert isinstance(asked.items[-1], Prompt)
    rest = desk.answer("")
    assert [item.data[-1:] for item in rest.images] == [b"3"]
    errors = [item.text for item in rest.items if isinstance(item, Text) and item.stream is Stream.STDERR]
    assert errors == ["after\n"]
    shown = [item for item in (*asked.items, *rest.items) if isinstance(item, Text | Image | Prompt)]
    assert {item.request_id for item in shown} == {asked.request_id}


@requirement("sideband:output:merged")
def test_both_streams_of_a_request_are_in_the_order_in_which_code_wrote_them(both: Lab) -> None:
    desk = both.console()
    code = (
        "import logging, sys\n"
        "for number in range(20):\n"
        "    print('out', number)\n"
        "    print('err', number, file=sys.stderr)\n"
        "sys.stdout.write('partial ')\n"
        "logging.warning('logged')\n"
        "print('end')\n"
        "1 / 0"
    )
    for _ in range(5):
        shown = [(item.stream, item.text) for item in desk.run(code).items if isinstance(item, Text)]
        lines = [(stream, line) for stream, text in shown for line in text.splitlines()]
        loop = [
            (stream, f"{stream.removeprefix('std')} {n}")
            for n in range(20)
            for stream in ("stdout", "stderr")
        ]
        assert lines[:40] == loop
        assert lines[40:43] == [("stdout", "partial "), ("stderr", "WARNING:root:logged"), ("stdout", "end")]
        assert lines[43][0] == "stderr"
        assert lines[-1] == ("stderr", "ZeroDivisionError: division by zero")


@requirement("sideband:output:merged")
def test_threads_and_forks_that_write_to_stderr_lose_nothing_and_leave_no_marks(both: Lab) -> None:
    desk = both.console()
    code = (
        "import os, sys, threading\n"
        "def write(name):\n"
        "    for n in range(50): sys.stderr.write(f'{name}{n}.')\n"
        "threads = [threading.Thread(target=write, args=(name,)) for name in 'abc']\n"
        "for each in threads: each.start()\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    write('f'); os._exit(0)\n"
        "for each in threads: each.join()\n"
        "os.waitpid(pid, 0)\n"
        "print('done')\n"
    )
    reply = desk.run(code)
    assert "\x1e" not in reply.text
    written = reply.text.replace("done\n", "").split(".")[:-1]
    assert sorted(written) == sorted(f"{name}{n}" for name in "abcf" for n in range(50))


@requirement("sideband:output:merged")
def test_a_forked_child_can_write_although_a_thread_was_writing_when_it_was_forked(both: Lab) -> None:
    desk = both.console()
    code = (
        "import os, signal, sys, threading\n"
        "forked = threading.Event()\n"
        "def write(stream):\n"
        "    while not forked.is_set(): stream.write('.\\n')\n"
        "threads = [threading.Thread(target=write, args=(each,)) for each in (sys.stdout, sys.stderr)]\n"
        "for each in threads: each.start()\n"
        "statuses = []\n"
        "for n in range(30):\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        signal.alarm(30)\n"
        "        print('c\\n', end=''); print('e\\n', end='', file=sys.stderr); os._exit(0)\n"
        "    statuses.append(os.waitpid(pid, 0)[1])\n"
        "    if statuses[-1]: break\n"
        "forked.set()\n"
        "for each in threads: each.join()\n"
    )
    lines = desk.run(code).text.split()
    assert desk.run("statuses == [0] * 30").text == "True\n"
    assert set(lines) <= {".", "c", "e", "[stderr]"}


@requirement("sideband:output:merged")
def test_a_write_of_the_users_own_on_stdout_stays_and_the_order_is_kept(both: Lab) -> None:
    desk = both.console()
    tee = (
        "import sys\n"
        "real, log = sys.stdout.write, []\n"
        "def tee(text): log.append(text); return real(text)\n"
        "{early}sys.stdout.write = tee\n"
        "for n in range(5): print(n); print('e', n, file=sys.stderr)\n"
    )
    for early in ("", "print('first', file=sys.stderr)\n"):
        reply = desk.run(tee.format(early=early))
        lines = [line for item in reply.items if isinstance(item, Text) for line in item.text.splitlines()]
        assert [line for line in lines if line != "first"] == [
            line for n in range(5) for line in (str(n), f"e {n}")
        ]
        assert (
            desk.run("''.join(log) == '0\\n1\\n2\\n3\\n4\\n', sys.stdout.write is tee").text
            == "(True, True)\n"
        )
        desk.run("del sys.stdout.write")
    mock = (
        "from unittest import mock\n"
        "print('e', file=sys.stderr)\n"
        "with mock.patch.object(sys.stdout, 'write') as hidden:\n"
        "    print('hidden'); print('e', file=sys.stderr); print('hidden')\n"
        "print('shown')\n"
        "hidden.call_count"
    )
    assert desk.run(mock).text == "e\ne\nshown\n4\n"


@requirement("sideband:output:merged")
def test_a_signal_handler_may_write_to_stderr_inside_a_write_to_stdout(both: Lab) -> None:
    desk = both.console()
    code = (
        "import signal, sys\n"
        "def ring(number, frame): sys.stderr.write('!')\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "for n in range(3000): print('x' * 500)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "print('done')"
    )
    reply = desk.run(code)
    assert not reply.error
    assert reply.text.endswith("done\n")
    written = "".join(item.text for item in reply.items if isinstance(item, Text) and item.stream == "stdout")
    assert written == ("x" * 500 + "\n") * 3000 + "done\n"
    assert "!" in reply.text


def test_an_error_is_shown_and_said_and_the_session_goes_on(both: Lab) -> None:
    desk = both.console()
    reply = desk.run("x = 1\n1 / 0")
    assert reply.error
    assert "ZeroDivisionError" in reply.text
    assert desk.run("x").text == "1\n"


@requirement("sideband:request:pending")
def test_a_timeout_leaves_the_request_pending_and_a_poll_brings_the_rest(both: Lab) -> None:
    desk = both.console()
    reply = desk.begin("print('first', flush=True); line = input('go? '); print('second')")
    waiting = desk.poll()
    assert (waiting.state, waiting.prompt) == ("waiting for stdin", "go? ")
    assert reply.text + waiting.text == "first\n"
    assert desk.answer("yes").text == "second\n"


def test_a_reply_that_is_not_waited_for_says_running_and_polls_say_when_it_is_over(both: Lab) -> None:
    desk = both.console()
    desk.begin_until(
        "import time\nprint('here', flush=True)\nwhile not hasattr(time, 'stop'): time.sleep(.01)", "here"
    )
    running = desk.poll(0)
    assert (running.state, running.request_id, running.error) == ("running", 1, False)
    desk.interrupt()
    over = desk.poll()
    assert (over.state, over.request_id, over.error) == ("ready", 1, True)
    nothing = desk.poll()
    assert (nothing.state, nothing.request_id, nothing.items, nothing.error) == ("ready", None, (), False)


@requirement("sideband:request:busy")
def test_input_while_a_request_runs_is_refused_and_nothing_of_it_runs(both: Lab) -> None:
    desk = both.console()
    desk.begin_until("print('here', flush=True)\nwhile True: pass", "here")
    with pytest.raises(LocalProtocolError):
        desk.run("x = 'sneaked in'")
    with pytest.raises(LocalProtocolError):
        desk.answer("nobody asked")
    desk.interrupt()
    desk.poll()
    assert "NameError" in desk.run("x").text


def test_a_question_is_told_with_its_prompt_and_code_is_no_answer_to_it(both: Lab) -> None:
    desk = both.console()
    asked = desk.run("a = input('first? ')\nb = input('second? ')\nprint(a, b)")
    assert (asked.state, asked.prompt) == ("waiting for stdin", "first? ")
    assert asked.items[-1] == Prompt("first? ", asked.request_id)
    with pytest.raises(LocalProtocolError):
        desk.run("1 + 1")
    again = desk.answer("one")
    assert (again.state, again.prompt, again.request_id) == (
        "waiting for stdin",
        "second? ",
        asked.request_id,
    )
    done = desk.answer("two\n")
    assert (done.state, done.text, done.prompt) == ("ready", "one two\n", "")


def test_an_answer_that_nobody_waits_for_is_refused(both: Lab) -> None:
    desk = both.console()
    with pytest.raises(LocalProtocolError):
        desk.answer("42")


@requirement("sideband:output:background")
def test_what_is_printed_after_the_end_is_shown_later_as_nobodys(both: Lab) -> None:
    desk = both.console()
    go = both.pipe()
    desk.run(
        "import threading\n"
        f"act = lambda: (open({str(go)!r}).read(), print('late', flush=True))\n"
        "threading.Thread(target=act, daemon=True).start()"
    )
    go.write_text("go")
    shown = []
    while not shown:
        shown = [item for item in desk.poll(0).items if isinstance(item, Text)]
    assert shown == [Text(Stream.STDOUT, "late\n", None)]
    assert desk.run("'next'").text == "'next'\n"


def test_five_hundred_requests_back_to_back_are_each_answered_by_their_own(both: Lab) -> None:
    desk = both.console()
    for number in range(500):
        reply = desk.run(f"print({number})")
        assert (reply.text, reply.request_id) == (f"{number}\n", number + 1)


TEXTS = {
    "no-line-end": ("x = 1; x", "1\n"),
    "line-end": ("x = 1; x\n", "1\n"),
    "crlf": ("x = 1\r\nif x:\r\n    x\r\nprint(x)\r\n", "1\n"),
    "cr": ("x = 1\rprint(x)", "1\n"),
    "many-line-ends": ("\n\nx = 1\n\n\nx\n\n", "1\n"),
    "comment": ("# nothing", ""),
    "empty": ("", ""),
    "line-ends-only": ("\n\n", ""),
    "blanks-only": ("  \t ", ""),
    "block-without-end": ("for x in range(2):\n    print(x)", "0\n1\n"),
    "not-ascii": ("'žluť 🎨'", "'žluť 🎨'\n"),
    "nul-in-text": ("len('a\\0b')", "3\n"),
}


@pytest.mark.parametrize(("text", "shown"), TEXTS.values(), ids=TEXTS)
def test_a_request_may_end_its_lines_in_any_way_and_hold_nothing_at_all(
    both: Lab, text: str, shown: str
) -> None:
    desk = both.console()
    reply = desk.run(text)
    assert (reply.state, reply.text, reply.error, reply.prompt) == ("ready", shown, False, "")
    assert desk.run("'next'").text == "'next'\n"


def test_a_run_that_waits_for_nothing_says_running_and_goes_on(both: Lab) -> None:
    desk = both.console()
    go = both.pipe()
    reply = desk.run(f"print(open({str(go)!r}).read())", 0)
    assert (reply.state, reply.items, reply.request_id, reply.error) == ("running", (), 1, False)
    again = desk.poll(0)
    assert (again.state, again.items, again.request_id) == ("running", (), 1)
    go.write_text("gone on")
    over = desk.poll()
    assert (over.state, over.text, over.request_id) == ("ready", "gone on\n", 1)
    assert desk.poll(0).request_id is None
    assert desk.run("'next'").request_id == 2


def test_what_was_refused_while_a_request_ran_can_be_run_afterwards(both: Lab) -> None:
    desk = both.console()
    go = both.pipe()
    desk.begin(f"x = open({str(go)!r}).read()")
    with pytest.raises(LocalProtocolError):
        desk.run("x")
    go.write_text("kept")
    assert desk.poll().state == "ready"
    reply = desk.run("x")
    assert (reply.text, reply.request_id) == ("'kept'\n", 2)  # what was refused was no request


def test_a_poll_of_a_question_returns_at_once_and_shows_it_once(both: Lab) -> None:
    desk = both.console()
    asked = desk.run("input('? ')")
    assert asked.items == (Prompt("? ", 1),)
    again = desk.poll()
    assert (again.state, again.prompt, again.items, again.request_id) == ("waiting for stdin", "? ", (), 1)
    assert desk.answer("yes").text == "'yes'\n"


def test_a_poll_of_a_console_that_was_never_used_finds_it_ready(both: Lab) -> None:
    reply = both.console().poll()
    assert (reply.state, reply.items, reply.request_id, reply.generation) == ("ready", (), None, 1)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lines", [1, 5], ids=["tiny", "multi-line"])
def test_ten_thousand_requests_are_each_answered_by_their_own(both: Lab, lines: int) -> None:
    desk = both.console()
    for number in range(10_000):
        text = "".join(f"x = {number}\n" if line < lines - 1 else "x\n" for line in range(lines))
        reply = desk.run(text if lines > 1 else f"{number}")
        assert (reply.text, reply.request_id, reply.state) == (f"{number}\n", number + 1, "ready")


def test_a_program_of_megabytes_is_run_whole(both: Lab) -> None:
    desk = both.console()
    assert desk.run(f"len('{'é' * 3_000_000}')").text == "3000000\n"


def test_a_program_that_does_not_fit_a_line_is_refused(both: Lab) -> None:
    desk = both.console(frame_bytes=100_000)
    with pytest.raises(LocalProtocolError):
        desk.run("#" * 100_000)
    assert desk.run("1").request_id == 1


@pytest.mark.parametrize("worker", ["threads", "loop"])
async def test_output_is_read_while_nobody_waits(lab: Lab, worker: str) -> None:
    pipe = lab.pipe()
    code = f"print('z' * 10_000_000, flush=True); open({str(pipe)!r}, 'w').close()"

    async def until_printed() -> None:
        await asyncio.wait_for(asyncio.to_thread(lambda: pipe.open("rb").close()), PATIENCE_S)

    if worker == "threads":
        desk = lab.console()
        desk.begin(code)
        await until_printed()
        shown = [desk.poll()]
        while shown[-1].state != "ready":
            shown.append(desk.poll())
    else:
        async with plughost.Host() as host:
            console = await host.console(sys.executable)
            await console.run(code, 0)
            await until_printed()
            shown = [await console.poll(PATIENCE_S)]
    assert shown[-1].state == "ready"


def test_consoles_of_one_host_know_nothing_of_each_other(both: Lab) -> None:
    first, second = both.console(name="first"), both.console()
    first.run("x = 'first'")
    second.run("x = 'second'")
    assert first.run("x").text == "'first'\n"
    assert first.console.name == "first"
    assert second.console.name == "console"
    assert both.console().console.name == "console-2"
    with pytest.raises(LocalProtocolError):
        both.console(name="first")
    first.close()
    assert both.console(name="first").run("1").text == "1\n"


def test_a_closed_console_is_closed(both: Lab) -> None:
    desk = both.console()
    desk.close()
    desk.close()
    for call in (lambda: desk.run("1"), desk.poll, desk.interrupt, desk.restart, lambda: desk.answer("")):
        with pytest.raises(HostClosed):
            call()


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), 86_401, True, "1"], ids=str)
def test_a_wait_that_is_none_is_refused(lab: Lab, timeout: object) -> None:
    desk = lab.console()
    for call in (desk.run, desk.answer):
        with pytest.raises(LocalProtocolError):
            call("1", timeout)  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError):
        desk.poll(timeout)  # type: ignore[arg-type]
    assert desk.run("1").request_id == 1


@pytest.mark.parametrize("text", [None, b"1", 1, "\ud800"], ids=["none", "bytes", "number", "surrogate"])
def test_what_is_no_text_is_refused_and_nothing_is_sent(lab: Lab, text: object) -> None:
    desk = lab.console()
    with pytest.raises(LocalProtocolError):
        desk.run(text)  # type: ignore[arg-type]
    assert desk.run("1").request_id == 1


def test_a_reply_can_be_written_as_json(lab: Lab) -> None:
    desk = lab.console()
    desk.run(PICTURE)
    made = json.loads(json.dumps(desk.run("print(1); Picture(b'x')").to_dict()))
    assert [item["kind"] for item in made["items"]] == ["text", "image"]
    assert made["state"] == "ready"
    asked = json.loads(json.dumps(desk.run("input('?')").to_dict()))
    assert asked["items"] == [{"kind": "prompt", "prompt": "?", "request_id": 3, "secret": False}]


def test_another_thread_can_interrupt_what_one_waits_for(lab: Lab) -> None:
    desk = lab.console()
    replies = []
    thread = threading.Thread(
        target=lambda: replies.append(desk.run("print('here', flush=True)\nwhile True: pass"))
    )
    thread.start()
    while (outcome := desk.interrupt()) == "idle":  # it has not begun
        pass
    thread.join(PATIENCE_S)
    assert outcome == "delivered"
    assert [(reply.state, reply.error) for reply in replies] == [("ready", True)]


def test_one_who_waits_a_moment_is_not_held_up_by_one_who_waits_long(lab: Lab) -> None:
    desk, other = lab.console(), lab.foreign("deaf", "ids", teardown_s=0.1, terminate_s=0.1)
    thread = threading.Thread(target=lambda: other.run("sleep", 30.0), daemon=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda _: None)  # its console is closed under it
        thread.start()
        assert desk.run("1").text == "1\n"
        while other.interrupt(0.01) == "idle":
            pass
        assert other.interrupt(0.01) == "unanswered"
        other.close()
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
