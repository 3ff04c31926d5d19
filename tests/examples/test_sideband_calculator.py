"""The calculator in Node.js keeps the `sideband` contract on the wire: requests, answers, interrupts, its end."""

from __future__ import annotations

import base64
import os
import signal
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from plughost import ReplyState, blocking
from plughost.testkit import assert_conforms
from tests.sdk.sideband_wire import PATIENCE_S, Worker

PLACE = Path(__file__).parent.parent.parent / "examples" / "sideband" / "calculator-node"
LINE_BYTES = 33_554_432
MANY = 300

pytestmark = [pytest.mark.needs("node"), pytest.mark.thin(6, "the calculator in Node.js")]


@pytest.fixture
def calculator() -> Iterator[Worker]:
    worker = Worker(python="node", program=PLACE / "calculator.js", env={"PATH": os.environ["PATH"]})
    try:
        worker.pump(lambda: worker.messages, "introduction")  # before it, a signal would end it
        yield worker
    finally:
        worker.close()


def test_it_introduces_itself_first_and_once(calculator: Worker) -> None:
    (info,) = calculator.run("1").messages
    assert calculator.run("2").messages == []
    assert info["type"] == "backend_info"
    assert info["language"] == "calculator"
    assert info["supports_images"] is True
    assert info["plughost"]["request_ids"]
    assert info["plughost"]["marks"]


def test_what_one_request_defines_the_next_one_finds(calculator: Worker) -> None:
    assert calculator.run("x = 3; y = x ^ 2").out == ""
    assert calculator.run("print(y, -y)\n(y - 1) * 2 / 4 # half\n\n").out == "9 -9\n4\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("2 ^ 3 ^ 2", "512"),
        ("-2 ^ 2", "-4"),
        ("2 ^ -1", "0.5"),
        ("10 - 4 - 3", "3"),
        ("8 / 4 / 2", "1"),
        ('"a" + 1 + "ü\\n😀"', "a1ü\n😀"),
        ("1.5e3", "1500"),
        ("sqrt(abs(-16))", "4"),
        ("round(pi * 100)", "314"),
        ("(1 +\n\n  # two\n  2)", "3"),
        ("repeat(3, print(7))\n8", "7\n7\n7\n8"),
    ],
)
def test_an_expression_has_its_value(code: str, shown: str, calculator: Worker) -> None:
    assert calculator.run(code).out == f"{shown}\n"


@pytest.mark.parametrize(
    "code",
    [
        "1 +",
        "((",
        "x = ",
        "1 2",
        "f(1",
        "$",
        '"open',
        '"\\q"',
        "= 3",
        ")",
        "(" * 50_000,
        "-" * 200_000 + "1",
    ],
)
def test_what_cannot_be_read_is_an_error_and_nothing_of_it_has_run(code: str, calculator: Worker) -> None:
    reply = calculator.run(f'print("begun")\n{code}')
    assert (reply.out, reply.end.get("error")) == ("", True)
    assert reply.err
    assert calculator.run("1 + 1").out == "2\n"


@pytest.mark.parametrize(
    "code",
    ["1 / 0", "nothing", "nope(1)", '"a" * 2', "sqrt(1, 2)", "sleep(-1)", "plot(x, 2, 1)", "toString()"],
)
def test_an_error_ends_its_request_and_not_the_session(code: str, calculator: Worker) -> None:
    reply = calculator.run(f'print("begun")\n{code}\nprint("never")')
    assert (reply.out, reply.end.get("error")) == ("begun\n", True)
    assert reply.err.startswith("error: ")
    assert "error" not in calculator.run("1").end


def test_of_many_requests_none_is_lost_mixed_or_ended_twice(calculator: Worker) -> None:
    for number in range(1, MANY + 1):
        reply = calculator.run(f"n = {number}\nn * 2")
        assert (reply.out, reply.end["request_id"]) == (f"{number * 2}\n", number)
    assert calculator.messages == []


def test_a_request_may_come_byte_by_byte_and_be_large(calculator: Worker) -> None:
    text = '"grün" + 1\n'
    calculator.number += 1
    calculator.tell(type="stdin_write", text=text, request_id=1, mark=f"{1:032x}")
    for byte in text.encode():
        calculator.payload(bytes([byte]))
    assert calculator.finish().out == "grün1\n"
    assert calculator.run("# " + "x" * 3_000_000 + "\n1").out == "1\n"


# Reading


def test_input_is_asked_for_and_what_is_answered_is_never_code(calculator: Worker) -> None:
    calculator.send('n = input("how many? ")\nn * 2')
    assert calculator.message("readline_start")["prompt"] == "how many? "
    calculator.answer("21\n")
    assert calculator.message("readline_result")["line"] == "21\n"
    assert calculator.finish().out == "42\n"


def test_a_line_that_is_there_already_is_read_without_waiting_and_the_rest_is_forgotten(
    calculator: Worker,
) -> None:
    calculator.send("a = input()\nb = input()\nb + a")
    calculator.message("readline_start")
    calculator.answer("x\ny\nz\n")
    assert calculator.finish().out == "yx\n"
    calculator.send("input()")
    calculator.message("readline_start", request_id=2)
    calculator.answer("new\n")
    assert calculator.finish().out == "new\n"


def test_an_answer_that_comes_too_late_is_taken_and_never_run(calculator: Worker) -> None:
    calculator.run("1")
    calculator.answer('print("never")\n')
    reply = calculator.run("2")
    assert (reply.out, reply.end["request_id"]) == ("2\n", 2)


def test_a_line_may_be_answered_in_parts_and_twenty_can_be_asked_for(calculator: Worker) -> None:
    calculator.send("\n".join(f"a{n} = input()" for n in range(20)) + "\na19")
    for number in range(20):
        calculator.message("readline_start")
        calculator.answer("part ")
        calculator.answer(f"{number}\n")
        assert calculator.message("readline_result")["line"] == f"part {number}\n"
    reply = calculator.finish()
    assert (reply.out, reply.err) == ("part 19\n", "")


# Interrupts


@pytest.mark.parametrize("how", ["message", "signal", "both"])
@pytest.mark.parametrize("code", ["sleep(100000)", "input()", "sleep(1e300)", "repeat(1e18, 1)"])
def test_an_interrupt_ends_what_runs_and_what_is_remembered_survives(
    code: str, how: str, calculator: Worker
) -> None:
    calculator.run("kept = 7")
    calculator.send(f'print("on")\n{code}\nprint("never")')
    calculator.printed("on")
    if how == "signal":
        os.kill(calculator.process.pid, signal.SIGINT)
    else:
        calculator.interrupt(signalled=how == "both", request_id=2)
        assert calculator.message("interrupted", request_id=2)["outcome"] == "delivered"
    reply = calculator.finish()
    assert (reply.out, reply.end.get("error")) == ("on\n", True)
    assert calculator.run("kept").out == "7\n"


def test_an_interrupt_of_one_request_never_ends_the_next(calculator: Worker) -> None:
    for number in range(1, 60):
        calculator.send("sleep(100000)" if number % 2 else "repeat(3, 1)\nprint(1)")
        if number % 2:
            calculator.interrupt(request_id=number)
        reply = calculator.finish(number)
        assert (reply.out, reply.end.get("error", False)) == (("", True) if number % 2 else ("1\n", False))


def test_an_interrupt_of_another_request_or_of_none_does_no_harm(calculator: Worker) -> None:
    calculator.interrupt()
    assert calculator.message("interrupted")["outcome"] == "idle"
    calculator.send("input()")
    calculator.message("readline_start")
    calculator.interrupt(signalled=False, request_id=99)
    assert calculator.message("interrupted", request_id=99)["outcome"] == "idle"
    calculator.answer("1\n")
    assert calculator.finish().out == "1\n"


# Bad lines


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no json",
        b"[1]",
        b"null",
        b"7",
        b'"stdin_write"',
        b"{}",
        b'{"type":7}',
        b'{"type":"greeting","text":"x"}',
        b'{"type":"stdin_write"}',
        b'{"type":"stdin_write","text":7,"request_id":1}',
        b'{"type":"stdin_write","text":"x","request_id":"1"}',
        b'{"type":"stdin_write","text":"x","request_id":0}',
        b'{"type":"interrupt","request_id":true}',
        b"\xff\xfe\x00",
        b'{"type":"\xff"}',
        b"x" * (LINE_BYTES + 1),
    ],
    ids=lambda line: line[:50].decode("latin-1"),
)
def test_a_line_that_is_no_message_costs_nothing_but_that_line(line: bytes, calculator: Worker) -> None:
    calculator.raw(line + b"\n")
    calculator.raw(b'{"type":"interrupt","more":[1]}\n')
    assert calculator.message("interrupted")["outcome"] == "idle"
    assert calculator.run("1 + 1").out == "2\n"


# Pictures


def test_a_plot_is_a_png_that_comes_before_the_end_of_its_request(calculator: Worker) -> None:
    reply = calculator.run("plot(sin(x), 0, 7)\nplot(1 / (x - 3), 0, 7)\n")
    pictures = reply.of("plot_image")
    assert len({picture["id"] for picture in pictures}) == 2
    for picture in pictures:
        assert (picture["mime_type"], picture["is_new"], picture["request_id"]) == ("image/png", True, 1)
        data = base64.b64decode(picture["data"], validate=True)
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">2I", data[16:24])
        begin = data.index(b"IDAT") + 4
        length = struct.unpack(">I", data[begin - 8 : begin - 4])[0]
        assert len(zlib.decompress(data[begin : begin + length])) == height * (width + 1)


def test_a_plot_has_its_mark_among_what_is_printed(calculator: Worker) -> None:
    base = "0123456789abcdef01234567ffffffff"
    text = 'print("a")\nplot(x, 0, 1)\nprint("b")\nplot(x, 0, 2)\n'
    calculator.number += 1
    calculator.tell(type="stdin_write", text=text, request_id=1, mark=f"{1:032x}", image_mark=base)
    calculator.payload(text.encode())
    reply = calculator.finish()
    first, second = base[:24] + "00000000", base[:24] + "00000001"
    assert reply.out == f"a\n\x1e{first}\x1eb\n\x1e{second}\x1e"
    assert [picture["mark"] for picture in reply.of("plot_image")] == [first, second]


# Its end


def test_it_ends_when_it_is_asked_to_whatever_it_does(calculator: Worker) -> None:
    calculator.send('print("on")\nsleep(100000)')
    calculator.printed("on")
    calculator.tell(type="session_end")
    assert calculator.drain() == 0


def test_it_ends_when_the_host_has_gone(calculator: Worker) -> None:
    calculator.run("1")
    os.close(calculator.control)
    calculator.control = os.open(os.devnull, os.O_RDONLY)  # to be closed in the end
    assert calculator.drain() == 0


@pytest.mark.parametrize(("code", "status"), [("quit()", 0), ("quit(3)", 3), ('quit("x")', 0)])
def test_quit_finishes_the_output_and_says_so_before_it_exits(
    code: str, status: int, calculator: Worker
) -> None:
    calculator.send(f'print("bye")\n{code}\nprint("never")')
    assert calculator.finish().out == "bye\n"
    assert calculator.message("session_end")["status"] == status
    assert calculator.drain() == status


def test_without_a_host_it_says_so_and_fails() -> None:
    ran = subprocess.run(
        ["node", str(PLACE / "calculator.js")],
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode != 0
    assert b"MCP_CONSOLE_IPC_READ_FD" in ran.stderr


# By a host


@pytest.mark.timeout(300)
@pytest.mark.long
def test_it_keeps_its_contract() -> None:
    assert_conforms(PLACE)


def test_a_host_runs_it_as_any_other_worker() -> None:
    with blocking.Host() as host:
        console = host.console(["node", "calculator.js"], cwd=PLACE)
        reply = console.run('print(1)\nplot(x, 0, 1)\n"é"', 60)
        assert [getattr(item, "text", None) for item in reply.items] == ["1\n", None, "é\n"]
        asked = console.run('input("? ") + 1', 60)
        assert (asked.state, asked.prompt) == (ReplyState.WAITING, "? ")
        assert console.answer("41", 60).text == "42\n"
        ended = console.run("quit()", 60)
        assert (ended.state, ended.generation) == (ReplyState.ENDED, 1)
        assert console.run("1", 60).generation == 2
