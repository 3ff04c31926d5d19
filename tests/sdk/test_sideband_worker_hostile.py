"""Whatever user code does to the interpreter it shares with the worker, its error is shown and the next cell runs."""

import subprocess

import pytest
from plughost_sdk.sideband_worker.request import Request
from plughost_sdk.sideband_worker.stdin import Answers

from tests.sdk.sideband_wire import PYTHON, Worker


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    yield worker
    worker.close()


# What is done, and the code whose error is to be shown all the same.
FIRST_ERRORS = {
    "no module can be found": ("import sys\nsys.path[:] = []", "1/0", "ZeroDivisionError"),
    "sys.path is nonsense": ("import sys\nsys.path = 5", "1/0", "ZeroDivisionError"),
    "nothing finds modules": ("import sys\nsys.meta_path.clear()", "1/0", "ZeroDivisionError"),
    "no module is loaded": ("import sys\nsys.modules.clear()", "1/0", "ZeroDivisionError"),
    "sys.modules is something else": ("import sys\nsys.modules = None", "1/0", "ZeroDivisionError"),
    "no file can be opened": (
        "from resource import *\nsetrlimit(RLIMIT_NOFILE, (0, getrlimit(RLIMIT_NOFILE)[1]))",
        "open('x')",
        "OSError",
    ),
    "hardly a call fits the stack": ("import sys\nsys.setrecursionlimit(30)", "1/0", "ZeroDivisionError"),
    "traceback is broken": (
        "import traceback\ntraceback.format_exception = None",
        "1/0",
        "ZeroDivisionError",
    ),
    "no hook for exceptions": (
        "import sys\ndel sys.excepthook, sys.__excepthook__",
        "1/0",
        "ZeroDivisionError",
    ),
    "an error that hides its class": (
        "class Odd(Exception):\n    @property\n    def __class__(self): 1/0",
        "raise Odd",
        "Odd",
    ),
    "an error that hides its traceback": (
        "class Odd(Exception):\n    @property\n    def __traceback__(self): 1/0",
        "raise Odd",
        "Odd",
    ),
    "an error whose class has no name": (
        "class Meta(type): __name__ = property(lambda self: 1/0)\nclass Odd(Exception, metaclass=Meta): pass",
        "raise Odd",
        "Odd",
    ),
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", FIRST_ERRORS)
def test_the_first_error_is_shown_and_the_session_goes_on(worker, name):
    harm, code, shown = FIRST_ERRORS[name]
    worker.run(harm)
    reply = worker.run(code)
    assert shown in reply.err
    assert reply.end["error"] is True
    reply = worker.run("6 * 7")
    assert (reply.out, reply.err) == ("42\n", "")
    assert "error" not in reply.end


@pytest.mark.parametrize(
    "name", ["no module can be found", "no module is loaded", "no file can be opened", "traceback is broken"]
)
def test_the_line_of_the_first_error_is_shown(worker, name):
    worker.run(FIRST_ERRORS[name][0])
    reply = worker.run("def f():\n    return 1/0  # here\nf()")
    assert "# here" in reply.err
    assert "in f\n" in reply.err
    assert reply.err.endswith("ZeroDivisionError: division by zero\n")
    assert "sideband_worker" not in reply.err


def test_a_host_ends_a_session_where_nothing_can_be_imported(worker):
    worker.run("import sys\nsys.meta_path.clear()\nsys.modules.clear()")
    worker.tell(type="session_end")
    assert worker.drain() == 0
    assert worker.messages[-1]["reason"] == "asked"


EXITS = {
    "a code that fails": ("class Bye(SystemExit):\n    @property\n    def code(self): 1/0\nraise Bye", 1),
    "a number of its own kind": (
        "class N(int):\n    def __bool__(self): 1/0\n    def __and__(self, other): 1/0\nraise SystemExit(N(5))",
        5,
    ),
    "a code that hides its class": (
        "class Odd:\n    @property\n    def __class__(self): 1/0\nraise SystemExit(Odd())",
        1,
    ),
}


@pytest.mark.parametrize("name", EXITS)
def test_an_exit_is_one_whatever_its_code_does(worker, name):
    code, status = EXITS[name]
    worker.send(code)
    assert worker.finish().end["type"] == "request_end"
    assert worker.drain() == status
    assert worker.messages[-1] == {"type": "session_end", "reason": "exit", "status": status}


SHADOWS = ("ast", "ctypes", "linecache", "re", "select", "token", "traceback", "types")


@pytest.fixture
def shadowed(leak_check, tmp_path):
    """A worker where files are named like modules of Python's own."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(f"print('ran {name}')\nmine = True\n")
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    yield worker
    worker.close()


def test_a_file_named_like_a_module_is_not_run_unasked(shadowed):
    reply = shadowed.run("def f():\n    return 1/0  # here\nf()")
    assert reply.out == ""
    assert "# here" in reply.err
    assert "ZeroDivisionError" in reply.err
    assert shadowed.run("import this_is_nowhere").out == ""
    assert shadowed.run("import colorsys  # a module more").out == ""
    assert shadowed.run("    x = 1\n    x").out == "1\n"


def test_user_code_finds_the_file_as_in_any_python(shadowed):
    plain = [PYTHON, "-c", "import sys; print(*sys.modules)"]
    always = subprocess.run(plain, capture_output=True, text=True, timeout=250).stdout.split()
    for name in sorted(
        set(SHADOWS) - set(always)
    ):  # what any Python has loaded here when it starts is not found again
        reply = shadowed.run(f"import {name}\n{name}.mine")
        assert (reply.out, reply.err) == (f"ran {name}\nTrue\n", "")
    reply = shadowed.run("(None).x  # here")
    assert "# here" in reply.err
    assert "AttributeError" in reply.err


def test_a_module_that_nothing_hides_is_the_one_that_shows_errors(worker):
    assert worker.run("import linecache\nlinecache.getline('<cell 1>', 1)").out == "'import linecache\\n'\n"


def test_what_user_code_puts_in_place_of_functions_of_os_and_sys_is_not_used_by_the_worker(worker):
    names = ["read", "write", "close", "dup2", "get_blocking", "set_blocking", "_exit", "getpid", "fstat"]
    worker.run(f"import os\nfor name in {names}: setattr(os, name, None)")
    worker.run(
        "import sys\nsys.settrace = sys.getrecursionlimit = sys.setrecursionlimit = sys.__displayhook__ = None"
    )
    worker.run("import signal, _signal, time, _thread\n_thread.start_new_thread = time.sleep = None")
    worker.run("signal.getsignal = _signal.getsignal = _signal.signal = _signal.pthread_kill = None")
    assert worker.run("'fine'").out == "'fine'\n"
    worker.send("print('here')\nwhile True: pass")
    worker.printed("here")
    worker.interrupt(signalled=False)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")
    worker.send("sys.exit(3)")
    assert worker.drain() == 3


def test_a_worker_that_can_hear_nothing_any_more_ends(worker):
    worker.run(
        "import gc\ncontrol = next(o for o in gc.get_objects() if type(o).__name__ == 'Control')\n"
        "control._requests = None"
    )
    worker.send("'never run'")
    assert worker.drain() == 70
    assert worker.messages == [{"type": "session_end", "reason": "worker_error", "status": 70}]


NO_THREADS = (
    "import sys\ndef none(*a): raise RuntimeError('no thread')\n"
    "for name in ('interrupt', 'departure'): sys.modules[f'sideband_worker.{name}'].start_new_thread = none\n"
)


def test_where_no_thread_can_start_an_interrupt_comes_all_the_same(worker):
    worker.run(NO_THREADS)
    for _ in range(2):
        worker.send("print('here')\nwhile True: pass")
        worker.printed("here")
        worker.interrupt(signalled=False)
        assert worker.finish().err.endswith("KeyboardInterrupt\n")


@pytest.mark.parametrize("busy", ["", "print('here')\nwhile True: pass"], ids=["idle", "busy"])
def test_where_no_thread_can_start_a_session_ends_all_the_same(worker, busy):
    worker.run(NO_THREADS + "import threading")
    if busy:
        worker.send(busy)
        worker.printed("here")
    worker.tell(type="session_end")
    assert worker.drain() == 0
    assert worker.messages[-1] == {"type": "session_end", "reason": "asked", "status": 0}


def test_where_no_thread_can_start_an_exit_is_one(worker):
    worker.run(NO_THREADS + "import atexit, threading\natexit.register(print, 'last')")
    worker.send("sys.exit(4)")
    assert worker.finish().out == "last\n"
    assert worker.drain() == 4


AWAITS = {
    "a task that is made before": (
        "import asyncio\nasync def f(): return 'made'\ntask = asyncio.create_task(f())\nawait task",
        "'made'\n",
    ),
    "the loop after an await": (
        "import asyncio\nawait asyncio.sleep(0)\nasyncio.get_running_loop().is_running()",
        "True\n",
    ),
    "the loop before an await": (
        "import asyncio\nprint(asyncio.get_running_loop().is_running())\nawait asyncio.sleep(0, 1)",
        "True\n1\n",
    ),
}


@pytest.mark.parametrize("name", AWAITS)
def test_a_cell_that_awaits_anywhere_runs_on_the_loop_as_a_whole(worker, name):
    code, shown = AWAITS[name]
    reply = worker.run(code)
    assert (reply.out, reply.err) == (shown, "")


def test_a_cell_that_awaits_nowhere_runs_on_no_loop(worker):
    worker.run("import asyncio\nawait asyncio.sleep(0)")
    assert "no running event loop" in worker.run("asyncio.get_running_loop()").err


@pytest.mark.parametrize("before", [True, False])
def test_a_cell_that_awaits_is_interrupted_in_either_part(worker, before):
    parts = ["print('here')\nwhile True: pass", "await asyncio.sleep(0)"]
    worker.send("import asyncio\n" + "\n".join(parts if before else reversed(parts)))
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    reply = worker.finish()
    assert "KeyboardInterrupt" in reply.err
    assert "sideband_worker" not in reply.err
    assert worker.run("await asyncio.sleep(0, 5)").out == "5\n"


def test_an_interrupted_question_is_shown_as_that_and_no_more(worker):
    worker.send("input('? ')")
    worker.message("readline_start")
    worker.interrupt(request_id=worker.number)
    err = worker.finish().err
    assert err.endswith("KeyboardInterrupt\n")
    assert "During handling" not in err
    assert "Empty" not in err


@pytest.mark.parametrize("name", ["stdout", "stderr", "stdin", "displayhook", "excepthook"])
def test_what_user_code_deletes_from_sys_is_there_again_for_the_next_cell(worker, name):
    worker.run(f"import sys\ndel sys.{name}")
    reply = worker.run("print('fine')\n5")
    assert (reply.out, reply.err) == ("fine\n5\n", "")
    assert "error" not in reply.end
    assert worker.run("1/0").err.endswith("ZeroDivisionError: division by zero\n")
    worker.send("input()")
    worker.message("readline_start")
    worker.answer("read\n")
    assert worker.finish().out == "'read'\n"


class Counted(bytes):
    """Bytes that know the longest piece that was ever copied out of them."""

    longest = 0

    def __getitem__(self, key):
        piece = super().__getitem__(key)
        Counted.longest = max(Counted.longest, len(piece))
        return piece


class Host:
    """As much of the link and of the interrupts as a reader asks for."""

    open = True

    def __init__(self, request):
        self.request = request

    def send(self, *messages):
        """Nobody listens."""


def test_a_long_answer_is_not_copied_with_every_piece_that_is_read():
    request = Request(1, None, "")
    request.lines.put(Counted(b"x" * 999 + b"\n"))
    answers = Answers(Host(request), Host(request), lambda: None)
    read, piece = bytearray(), bytearray(10)
    for _ in range(100):
        assert answers.readinto(piece) == 10
        read += piece
    assert bytes(read) == b"x" * 999 + b"\n"
    assert Counted.longest <= 10
