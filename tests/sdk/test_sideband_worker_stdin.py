"""What reads stdin in a cell asks the host, and never gets a byte of another request."""

import os

import pytest

from tests.sdk.sideband_wire import Kept, Worker


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    kept = Kept(cwd=tmp_path_factory.mktemp("cwd"))
    yield kept
    kept.close()


@pytest.fixture
def worker(kept):
    """A worker for cells that leave it as it was."""
    return kept.get()


def ask(worker, text, *answers):
    """Run *text*, answering each question; return the reply and the prompts."""
    worker.send(text)
    prompts = []
    for answer in answers:
        prompts.append(worker.message("readline_start", request_id=worker.number)["prompt"])
        worker.answer(answer)
    return worker.finish(), prompts


def test_input_asks_with_its_prompt_and_says_what_it_read(worker):
    worker.send("print('before')\nname = input('name? ')\nname")
    assert worker.message("readline_start") == {
        "type": "readline_start",
        "prompt": "name? ",
        "request_id": worker.number,
    }
    worker.printed("before\n")  # what was printed is there before the question
    worker.answer("Ada\n")
    reply = worker.finish()
    assert reply.messages == [
        {"type": "readline_result", "prompt": "name? ", "line": "Ada\n", "request_id": worker.number}
    ]
    assert reply.out == "before\n'Ada'\n"  # the prompt is the host's to show


READS = {
    "readline": ("sys.stdin.readline()", ["a b\n"], "'a b\\n'"),
    "read of a size": ("sys.stdin.read(3)", ["abcdef\n"], "'abc'"),
    "read to the end": ("sys.stdin.read()", ["a\n", "b\n", "\x04\n"], "'a\\nb\\n'"),
    "readlines": ("sys.stdin.readlines()", ["a\n", "\x04"], "['a\\n']"),
    "iteration": ("[line for line in sys.stdin]", ["a\n", "b\n", "\x04\n"], "['a\\n', 'b\\n']"),
    "next": ("next(sys.stdin)", ["a\n"], "'a\\n'"),
    "the buffer": ("sys.stdin.buffer.readline()", ["ü\n"], "b'\\xc3\\xbc\\n'"),
    "the buffer by size": ("sys.stdin.buffer.read(2)", ["abc\n"], "b'ab'"),
    "the raw stream": ("sys.stdin.buffer.raw.read(100)", ["abc\n"], "b'abc\\n'"),
    "the original": ("sys.__stdin__.readline()", ["a\n"], "'a\\n'"),
    "an empty line": ("input()", ["\n"], "''"),
    "CRLF": ("input()", ["a\r\n"], "'a'"),
    "a line without an end": ("input()", ["a"], None),
    "a NUL and an emoji": ("input()", ["\0😀\n"], "'\\x00😀'"),
    "two lines of one answer": ("input() + input()", ["a\nb\n"], "'ab'"),
    "a long line": ("len(input())", ["x" * 100_000 + "\n"], "100000"),
    "a prompt that is no text": ("input(5)", ["a\n"], "'a'"),
    "getpass": ("__import__('getpass').getpass()", ["secret\n"], "'secret'"),
    "a module that imported getpass first": (
        "exec('from getpass import getpass') or getpass('p')",
        ["s\n"],
        "'s'",
    ),
}


@pytest.mark.parametrize("name", [name for name, case in READS.items() if case[2] is not None])
def test_every_way_of_reading_gets_the_answers(worker, name):
    code, answers, shown = READS[name]
    reply, _ = ask(worker, f"import sys\n{code}", *answers)
    assert (reply.out, reply.err) == (shown + "\n", "")


def test_the_end_of_input_is_an_eof_error_and_not_for_ever(worker):
    reply, _ = ask(
        worker, "try:\n    input()\nexcept EOFError:\n    print('eof')\ninput()", "\x04\n", "again\n"
    )
    assert reply.out == "eof\n'again'\n"


def test_a_password_is_not_said_back(worker):
    worker.send("import getpass\ngetpass.getpass('pin: ') == 'x'")
    assert worker.message("readline_start")["secret"] is True
    worker.answer("x\n")
    reply = worker.finish()
    assert reply.messages[0]["line"] == "\n"
    assert reply.out == "True\n"


def test_what_a_request_leaves_unread_is_gone_with_it(worker):
    ask(worker, "import sys\nsys.stdin.read(1)", "abc\nrest\n")
    reply, _ = ask(worker, "input()", "new\n")
    assert reply.out == "'new'\n"


def test_an_answer_that_comes_too_late_is_never_run(worker):
    worker.run("late = 0")
    worker.answer("late = 1\n")
    assert worker.run("late").out == "0\n"


def test_without_a_request_id_input_goes_to_whoever_waits(worker):
    worker.send("input('> ')")
    worker.message("readline_start")
    worker.tell(type="stdin_write", text="there\n")
    worker.payload(b"there\n")
    assert worker.finish().out == "'there'\n"


def test_the_lines_after_input_are_code_and_no_answer(worker):
    reply, _ = ask(worker, "x = input()\nprint('code')\nx", "answer\n")
    assert reply.out == "code\n'answer'\n"


def test_requests_sent_ahead_run_in_turn_and_none_is_read_as_an_answer(worker):
    first = worker.send("x = input('? ')")
    text = "print('second', x)\n"
    worker.tell(type="stdin_write", text=text, request_id=first + 1, mark=f"{first + 1:032x}")
    worker.payload(text.encode())
    worker.message("readline_start", request_id=first)
    worker.answer("mine\n")
    worker.finish(first)
    worker.number = first + 1
    assert worker.finish().out == "second mine\n"


def test_input_with_a_stdin_of_the_users_own_reads_that(worker):
    reply = worker.run(
        "import sys, io\nold, sys.stdin = sys.stdin, io.StringIO('mine\\n')\nx = input('p')\nsys.stdin = old\nx"
    )
    assert reply.out == "p'mine'\n"
    assert reply.of("readline_start") == []


@pytest.mark.parametrize(
    "how", ["sys.stdin.close()", "sys.stdin.detach()", "sys.stdin.buffer.close()", "del sys.stdin"]
)
def test_a_stdin_that_was_closed_is_mended_for_the_next_request(worker, how):
    worker.run(f"import sys\n{how}")
    if how.startswith("del"):
        worker.run("sys.stdin = sys.__stdin__")
    assert ask(worker, "input()", "fine\n")[0].out == "'fine'\n"


@pytest.mark.parametrize(
    "code",
    [
        "os.read(0, 10)",
        "open(0, 'rb', closefd=False).read()",
        "subprocess.run(['cat'], capture_output=True).stdout",
        "subprocess.run(['cat'], stdin=sys.stdin, capture_output=True).stdout",
    ],
    ids=["os.read", "open", "a subprocess", "a subprocess that is given stdin"],
)
def test_descriptor_0_is_at_its_end_so_nothing_can_take_a_later_request(worker, code):
    assert worker.run(f"import os, subprocess, sys\n{code}").out == "b''\n"


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="needs pipes of packets")
def test_a_question_whose_answer_is_there_already_is_one_write_with_it(leak_check, tmp_path):
    worker = Worker(cwd=tmp_path, packets=True)
    try:
        reply, _ = ask(worker, "input('a') + input('b')", "1\n2\n")
        assert reply.out == "'12'\n"
        assert worker.writes[1:] == [
            ["readline_start"],
            ["readline_result"],
            ["readline_start", "readline_result"],
            ["request_end"],
        ]
    finally:
        worker.close()


def test_a_thread_reads_while_its_request_runs(worker):
    code = (
        "import threading\ngot = []\nt = threading.Thread(target=lambda: got.append(input('thread? ')))\n"
        "t.start()\nt.join()\ngot"
    )
    reply, prompts = ask(worker, code, "yes\n")
    assert prompts == ["thread? "]
    assert reply.out == "['yes']\n"


def test_a_thread_whose_request_ends_finds_the_end_of_input(worker, tmp_path):
    seen = tmp_path / "seen"
    worker.send(
        "import os, threading, time\n"
        "def read():\n    try:\n        input('lost? ')\n    except EOFError:\n        ended.append(1)\n"
        "ended = []\nt = threading.Thread(target=read)\nt.start()\n"
        f"while not os.path.exists({str(seen)!r}): time.sleep(0.01)"
    )
    worker.message("readline_start", prompt="lost? ")
    seen.touch()
    worker.finish()
    assert worker.run("t.join()\nended").out == "[1]\n"


def test_pdb_is_answered_like_input_and_shows_the_cell(worker):
    worker.send("def f(x):\n    breakpoint()\n    return x + 1\nf(41)")
    assert worker.message("readline_start")["prompt"] == "(Pdb) "
    worker.printed("-> ")  # the line where it stands
    for command in ("p x\n", "x = 1\n", "c\n"):
        worker.answer(command)
        if command != "c\n":
            worker.message("readline_start")
    assert worker.finish().out.endswith("41\n2\n")


def test_stepping_past_the_end_of_a_cell_ends_the_cell(worker):
    worker.send("import pdb\npdb.set_trace()\nlast = 1")
    while worker.pump(lambda: worker.messages)[0]["type"] != "request_end":
        if worker.messages.pop(0)["type"] == "readline_start":
            worker.answer("n\n")
    reply = worker.finish()
    assert "sideband_worker" not in reply.out
    assert worker.run("last").out == "1\n"


def test_questions_in_a_loop_are_each_answered(worker):
    code = "total = 0\nwhile (line := input('number? ')) != 'end':\n    total += int(line)\ntotal"
    reply, prompts = ask(worker, code, *(f"{n}\n" for n in range(20)), "end\n")
    assert prompts == ["number? "] * 21
    assert reply.out == f"{sum(range(20))}\n"


def test_threads_go_on_while_a_question_waits(worker):
    worker.send(
        "import threading\nasked = threading.Event()\n"
        "t = threading.Thread(target=lambda: asked.wait() and print('thread'))\nt.start()\n"
        "class Prompt:\n    def __str__(self):\n        asked.set()\n        return '? '\n"
        "x = input(Prompt())\nt.join()\nx"
    )
    worker.message("readline_start", prompt="? ")
    worker.printed("thread\n")  # though nobody has answered
    worker.answer("late\n")
    assert worker.finish().out == "thread\n'late'\n"


def test_threads_that_ask_at_once_are_each_answered_once(worker):
    code = (
        "import threading\ngot = []\n"
        "ts = [threading.Thread(target=lambda: got.append(input('t? '))) for _ in range(5)]\n"
        "[t.start() for t in ts]\n[t.join() for t in ts]\nsorted(got)"
    )
    reply, prompts = ask(worker, code, *(f"{n}\n" for n in range(5)))
    assert prompts == ["t? "] * 5
    assert reply.out == "['0', '1', '2', '3', '4']\n"


def test_fileinput_and_readinto_are_served(worker):
    reply, _ = ask(
        worker, "import fileinput\nwith fileinput.input(files=['-']) as f: print(next(f), end='')", "line\n"
    )
    assert reply.out == "line\n"
    reply, _ = ask(
        worker, "import sys\nb = bytearray(3)\nsys.stdin.buffer.readinto1(b), bytes(b)", "abcdef\n"
    )
    assert reply.out == "(3, b'abc')\n"


def test_a_post_mortem_sees_the_frame_that_failed(worker):
    worker.run("def broken(value):\n    return 1 / value\n")
    worker.run("broken(0)")
    worker.send("import pdb\npdb.pm()")
    worker.message("readline_start")
    worker.answer("p value\n")
    worker.message("readline_start")
    worker.answer("q\n")
    assert "\n0\n" in worker.finish().out


def test_help_comes_inline_without_a_pager(worker):
    reply = worker.run("help(len)")
    assert "Return the number of items" in reply.out
    assert reply.of("readline_start") == []
    reply, prompts = ask(worker, "help()", "keywords\n", "q\n")
    assert prompts == ["help> ", "help> "]
    assert "nonlocal" in reply.out
