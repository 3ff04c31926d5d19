"""A console over many requests: refusals that cost nothing, workers that do not read, exits of every kind."""

from __future__ import annotations

import os

import pytest

from plughost.errors import LocalProtocolError
from plughost.failures import HandshakeFailed, PluginFailure, PluginTimeout
from tests.host.sideband.lab import EVERY, QUICK, Lab

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(EVERY, "sideband-host")

EXITS = {
    "exit": "exit()",
    "quit": "quit()",
    "raise": "raise SystemExit",
    "in-a-function": "def leave():\n    import sys\n    sys.exit()\nleave()",
    "awaited": "import asyncio\nasync def leave(): raise SystemExit\nawait leave()",
}


@requirement("sideband:request:busy")
def test_what_was_refused_while_busy_can_be_sent_again_when_it_is_not(both: Lab) -> None:
    desk = both.console()
    pipe = both.pipe()
    desk.run("told = []")
    desk.begin_until(f"print('here', flush=True)\nopen({str(pipe)!r}).read()", "here")
    for _ in range(3):
        with pytest.raises(LocalProtocolError):
            desk.begin("told.append(1)")
    with open(pipe, "w") as end:
        end.write("go on")
    assert desk.poll().state == "ready"
    assert desk.run("told.append(2); told").text == "[2]\n"


def test_a_wait_for_a_worker_that_does_not_read_is_as_long_as_it_was_said_to_be(both: Lab) -> None:
    desk = both.foreign("deaf", "ids", **QUICK)
    desk.begin_until("sleep", "sleeping")
    assert desk.poll(0.01).state == "running"
    assert desk.interrupt(0.01) == "unanswered"
    assert desk.restart().state == "ready"
    assert desk.run("say " + "x" * 3_000_000, 0.01).state in ("running", "ready")  # more than any pipe holds
    assert desk.restart().generation == 3


def test_a_large_request_runs_until_all_of_it_was_taken(both: Lab) -> None:
    desk = both.console()
    pipe = both.pipe()
    large = "#" + "x" * 3_000_000
    desk.begin_until(f"print('here', flush=True)\nopen({str(pipe)!r}).read()\n{large}\nprint('end')", "here")
    assert desk.poll(0).state == "running"
    with open(pipe, "w") as end:
        end.write("go on")
    reply = desk.poll()
    assert (reply.state, reply.text) == ("ready", "end\n")


@requirement("sideband:end:announced")
@pytest.mark.parametrize("code", EXITS.values(), ids=EXITS)
def test_code_that_leaves_ends_the_session_and_the_next_is_fresh(both: Lab, code: str) -> None:
    desk = both.console()
    desk.run("x = 1")
    reply = desk.run(f"print('bye')\n{code}\nprint('never')")
    assert (reply.state, reply.text, reply.failure) == ("ended", "bye\n", None)
    assert "Traceback" not in reply.text
    assert "exit status 0" in reply.notices[0]
    after = desk.run("'x' in globals()")
    assert (after.text, after.generation) == ("False\n", 2)


def test_what_a_worker_says_while_it_is_let_go_is_shown(both: Lab) -> None:
    desk = both.console()
    desk.run("import atexit\n_ = atexit.register(print, 'good bye')")
    reply = desk.restart()
    assert (reply.text, reply.generation) == ("good bye\n", 2)
    assert desk.run("1").text == "1\n"


@pytest.mark.parametrize("prompt", ["name: ", "", ">>> "])
def test_an_interrupt_ends_a_question_whatever_its_prompt_looks_like(both: Lab, prompt: str) -> None:
    desk = both.console()
    assert desk.run(f"x = 7\ninput({prompt!r})").prompt == prompt
    assert desk.interrupt() == "delivered"
    reply = desk.poll()
    assert (reply.state, reply.error, reply.text.count("KeyboardInterrupt")) == ("ready", True, 1)
    assert desk.run("x").text == "7\n"


def test_a_handler_of_the_codes_own_runs_once(both: Lab) -> None:
    desk = both.console()
    desk.run("import signal, time\ncalls = []\nold = signal.getsignal(signal.SIGINT)")
    desk.begin_until(
        "signal.signal(signal.SIGINT, lambda *_: calls.append(1))\n"
        "print('here', flush=True)\n"
        "while not calls: time.sleep(0.01)\n"
        "print(len(calls))",
        "here",
    )
    assert desk.interrupt() == "delivered"
    assert desk.poll().text == "1\n"
    assert desk.run("len(calls)").text == "1\n"


@pytest.mark.parametrize("fault", ["mute", "leaves"])
def test_a_start_that_failed_leaves_nothing_behind_that_the_next_could_meet(both: Lab, fault: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises((PluginTimeout, HandshakeFailed, PluginFailure)):
        both.foreign(fault, handshake_s=0.5 if fault == "mute" else 20.0, **QUICK)
    desk = both.console()
    assert desk.run("1").text == "1\n"
    desk.close()
    both.close()
    assert set(os.listdir("/proc/self/fd")) <= before | {"3"}


def test_a_copy_of_the_worker_finds_no_input_and_no_sideband(both: Lab) -> None:
    desk = both.console()
    reply = desk.run(
        "import os, sys\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        "        input()\n"
        "    except EOFError:\n"
        "        print('no input', flush=True)\n"
        "    os._exit(0)\n"
        "_ = os.waitpid(pid, 0)\n"
        "[name for name in os.environ if 'IPC' in name]"
    )
    assert (reply.state, reply.text) == ("ready", "no input\n[]\n")
    assert both.unheard() == set()


def test_names_of_python_that_code_takes_for_itself_are_its_own_affair(both: Lab) -> None:
    desk = both.console()
    desk.run("print = repr = str = len = open = input = exec = eval = compile = KeyboardInterrupt = type = 1")
    assert desk.run("[type, 2]").text == "[1, 2]\n"
    failed = desk.run("1 / 0")
    assert (failed.error, failed.text.splitlines()[-1]) == (True, "ZeroDivisionError: division by zero")
    assert desk.run("del input\ninput('? ')").state == "waiting for stdin"
    assert desk.answer("a").text == "'a'\n"
