"""However a session ends, it ends: with its status, after its exit handlers, and within a bound."""

import os
import signal
import subprocess

import pytest

from tests.sdk.sideband_wire import PYTHON, WORKER, Worker


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    worker.run("import atexit, os, sys, threading, time")
    yield worker
    worker.close()


EXITS = {
    "sys.exit()": 0,
    "sys.exit(0)": 0,
    "sys.exit(3)": 3,
    "sys.exit(True)": 1,
    "sys.exit(-1)": 255,
    "raise SystemExit": 0,
    "exit()": 0,
    "quit(4)": 4,
    "sys.exit('why')": 1,
    "import asyncio\nasync def f(): sys.exit(5)\nawait f()": 5,
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("code", EXITS)
def test_an_exit_of_the_users_ends_the_session_with_its_status(worker, code):
    number = worker.send(f"print('bye', end='')\n{code}\nprint('never')")
    assert worker.message("request_end") == {"type": "request_end", "request_id": number, "marked": True}
    assert worker.message("session_end") == {"type": "session_end", "reason": "exit", "status": EXITS[code]}
    assert worker.drain() == EXITS[code]
    assert bytes(worker.held["out"]) == b"bye\x1e%032x\x1e" % number
    assert bytes(worker.held["err"]).startswith(b"why\n" if "why" in code else b"\x1e")


def test_exit_handlers_and_threads_come_before_the_end_of_the_request(worker):
    worker.send(
        "atexit.register(print, 'handler')\nthreading.Timer(0.05, print, ['thread']).start()\nsys.exit()"
    )
    assert worker.finish().out == "thread\nhandler\n"
    assert worker.drain() == 0


def test_an_exit_with_a_message_is_one_even_where_there_is_no_stderr(worker):
    worker.send("sys.stderr = None\nsys.exit('lost')")
    assert worker.drain() == 1
    assert worker.messages[-1] == {"type": "session_end", "reason": "exit", "status": 1}


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="needs pipes of packets")
def test_the_end_of_the_request_and_of_the_session_are_one_write(leak_check, tmp_path):
    worker = Worker(cwd=tmp_path, packets=True)
    try:
        worker.send("import sys\nsys.exit(3)")
        assert worker.drain() == 3
        assert worker.writes == [["backend_info"], ["request_end", "session_end"]]
    finally:
        worker.close()


def test_executors_do_not_keep_an_exit_waiting(worker):
    worker.send(
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(int).result()\nsys.exit(2)"
    )
    assert worker.finish().end["type"] == "request_end"
    assert worker.drain() == 2


@pytest.mark.parametrize("in_haste", [True, False])
def test_exit_handlers_run_also_where_a_thread_never_ends_or_another_handler_fails(in_haste):
    # Without the bound of a session: how long that takes on a busy machine is nobody's guess.
    code = (
        f"import sys; sys.path.insert(0, {str(WORKER.parent.parent)!r})\n"
        "import atexit, os, threading, time\nfrom sideband_worker import departure\n"
        "departure.OWN_THREADS_S = departure.THREADS_S\n"
        "atexit.register(print, 'first', flush=True); atexit.register(lambda: 1/0)\n"
        "threading.Thread(target=time.sleep, args=[1000]).start()\n"
        f"departure.depart(in_haste={in_haste})\nos._exit(7)"
    )
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stdout) == (7, "first\n")
    assert "ZeroDivisionError" in done.stderr


HOLDING = {
    "nothing": "",
    "an exit handler that never ends": "atexit.register(time.sleep, 1000)",
    "a thread that never ends": "threading.Thread(target=time.sleep, args=[1000]).start()",
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("how", ["session_end", "the end of the sideband"])
@pytest.mark.parametrize("held", HOLDING)
def test_the_host_ends_an_idle_session(worker, held, how):
    worker.run(HOLDING[held])
    finish(worker, how)
    assert worker.drain() == 0
    assert [m["reason"] for m in worker.messages if m["type"] == "session_end"] == (
        ["asked"] if how == "session_end" else ["host_gone"]
    )


BUSY = {
    "a sleep": "print('here')\ntime.sleep(1000)",
    "a loop": "print('here')\nwhile True: pass",
    "a question": "print('here')\ninput()",
    "code that swallows everything": "while 1:\n    try:\n        print('here'); time.sleep(1000)\n    except: pass",
    "code that ignores the signal": "import signal\nsignal.signal(2, signal.SIG_IGN)\nprint('here')\ntime.sleep(1000)",
}


@pytest.mark.parametrize("busy", BUSY)
def test_the_host_ends_a_busy_session(worker, busy):
    worker.send(BUSY[busy])
    worker.printed("here")
    finish(worker, "session_end")
    assert worker.drain() == 0
    assert worker.messages[-1] == {"type": "session_end", "reason": "asked", "status": 0}


def finish(worker, how):
    if how == "session_end":
        worker.tell(type="session_end")
    else:
        os.dup2(worker.process.stdin.fileno(), worker.control)  # closes it, and leaves a number to close


@pytest.mark.parametrize(
    ("code", "status"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 11)", -11), ("os.abort()", -6)]
)
def test_a_crash_is_seen_as_an_end_of_everything(worker, code, status):
    worker.send(f"print('here')\n{code}")
    assert worker.drain() == status
    assert [m["type"] for m in worker.messages] == []


def test_sigterm_ends_it(worker):
    os.kill(worker.process.pid, signal.SIGTERM)
    assert worker.drain() == -signal.SIGTERM


def test_it_ends_with_its_host(worker):
    worker.send("print('here')\ninput()")
    worker.printed("here")
    worker.process.stdin.close()
    os.dup2(worker.process.stdout.fileno(), worker.control)
    assert worker.drain() == 0
