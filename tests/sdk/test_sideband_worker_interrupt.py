"""An interrupt reaches user code wherever it is, and nothing else: the session and its state always survive."""

import os
import random
import signal

import pytest
from plughost_sdk.sideband_worker.interrupt import Interrupts
from plughost_sdk.sideband_worker.request import Request

from tests.sdk.sideband_wire import Worker


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    worker.run("import time, sys, threading, subprocess\nkept = 7")
    yield worker
    worker.close()


def survives(worker):
    assert worker.run("kept").out == "7\n"
    return True


PLACES = {
    "a sleep": "time.sleep(1000)",
    "a loop": "while True: pass",
    "a loop in C that checks": "import re\nre.match('(a*)*b', 'a' * 64)",
    "a lock": "l = threading.Lock(); l.acquire(); l.acquire()",
    "an await": "import asyncio\nawait asyncio.sleep(1000)",
    "asyncio.run": "import asyncio\nasyncio.run(asyncio.sleep(1000))",
    "a subprocess": "subprocess.run(['sleep', '1000'])",
    "a repr": "class R:\n    def __repr__(self): time.sleep(1000)\nR()",
    "an exception handler": "try:\n    1/0\nexcept ZeroDivisionError:\n    time.sleep(1000)",
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("place", PLACES)
def test_it_ends_what_blocks_in(worker, place):
    number = worker.send(f"print('here')\n{PLACES[place]}")
    worker.printed("here")
    worker.interrupt(request_id=number)
    reply = worker.finish()
    assert "KeyboardInterrupt" in reply.err
    assert "sideband_worker" not in reply.err
    assert reply.end["error"] is True
    told = reply.of("interrupted") or [worker.message("interrupted")]
    assert told == [{"type": "interrupted", "outcome": "delivered", "request_id": number}]
    assert survives(worker)


@pytest.mark.parametrize(
    "reader", ["input('? ')", "input()", "input('>>> ')", "sys.stdin.read()", "sys.stdin.buffer.readline()"]
)
def test_it_ends_a_read_of_stdin_and_discards_what_was_typed_ahead(worker, reader):
    number = worker.send(reader)
    worker.message("readline_start")
    worker.interrupt(request_id=number)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")
    worker.messages.clear()
    worker.send(
        "try:\n    input('a')\n    time.sleep(1000)\nexcept KeyboardInterrupt:\n    print(input('b'))"
    )
    worker.message("readline_start", prompt="a")
    worker.answer("one\ntwo\n")
    worker.message("readline_result")
    worker.interrupt(request_id=worker.number)
    worker.message("readline_start", prompt="b")
    worker.answer("three\n")
    assert worker.finish().out == "three\n"


def test_in_pdb_it_stops_the_program_and_the_debugger_goes_on(worker):
    # Past the buffer of stdout: pdb prints at once, and may do so while a print is still at work.
    worker.send(
        "import os\ngo = True\nbreakpoint()\nos.write(1, b'here')\nwhile go: time.sleep(0.01)\nprint('done')"
    )
    worker.message("readline_start", prompt="(Pdb) ")
    worker.answer("c\n")
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    worker.message("readline_start", prompt="(Pdb) ")
    worker.answer("go = False\n")
    worker.message("readline_start", prompt="(Pdb) ")
    worker.answer("c\n")
    assert worker.finish().out.endswith("done\n")
    assert survives(worker)


def test_the_finally_clauses_of_a_coroutine_run(worker):
    worker.send(
        "import asyncio\ntry:\n    print('here')\n    await asyncio.sleep(1000)\nfinally:\n    print('cleaned')"
    )
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    assert worker.finish().out == "here\ncleaned\n"


def test_when_idle_it_is_idle_and_prints_nothing(worker):
    for _ in range(3):
        worker.interrupt()
        assert worker.message("interrupted") == {"type": "interrupted", "outcome": "idle"}
    worker.interrupt(request_id=worker.number)
    assert worker.message("interrupted")["outcome"] == "idle"
    reply = worker.run("kept")
    assert (reply.out, reply.err, reply.messages) == ("7\n", "", [])


def test_a_bare_signal_is_enough_and_when_idle_nothing(worker):
    os.kill(worker.process.pid, signal.SIGINT)
    assert survives(worker)
    worker.send("print('here')\ntime.sleep(1000)")
    worker.printed("here")
    os.kill(worker.process.pid, signal.SIGINT)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")
    assert survives(worker)


def test_a_bare_message_is_enough(worker):
    worker.send("print('here')\ntime.sleep(1000)")
    worker.printed("here")
    worker.interrupt(signalled=False, request_id=worker.number)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")


def test_message_and_signal_together_are_one_interrupt(worker):
    worker.send(
        "n = 0\nfor pause in (1000, 0.4):\n    try:\n        print('in'); time.sleep(pause)\n"
        "    except KeyboardInterrupt:\n        n += 1\nn"
    )
    worker.printed("in")
    worker.interrupt(request_id=worker.number)
    assert worker.finish().out == "in\nin\n1\n"


def test_code_that_swallows_it_goes_on_and_can_be_interrupted_again(worker):
    worker.send(
        "for n in (1, 2):\n    try:\n        print('try', n); time.sleep(1000)\n"
        "    except KeyboardInterrupt:\n        print('no')\n"
    )
    for n in (1, 2):
        worker.printed(f"try {n}")
        worker.interrupt(request_id=worker.number)
        assert worker.message("interrupted")["outcome"] == "delivered"
    assert worker.finish().out == "try 1\nno\ntry 2\nno\n"


def test_in_the_workers_own_code_it_waits_until_user_code_goes_on(worker):
    # The worker looks on when getpass is imported: a finder of the user's own then runs within a function of ours.
    worker.send(
        "import os, signal\nclass Finder:\n    def find_spec(self, name, *_):\n        if name == 'getpass':\n"
        "            try:\n                os.kill(os.getpid(), signal.SIGINT)\n"
        "                for _ in range(1000): pass\n                print('calm')\n"
        "            except KeyboardInterrupt:\n                print('torn')\n"
        "sys.meta_path.insert(1, Finder())\nsys.modules.pop('getpass', None)\nimport getpass\ntime.sleep(1000)"
    )
    reply = worker.finish()
    assert reply.out == "calm\n"
    assert reply.err.endswith("KeyboardInterrupt\n")
    assert survives(worker)


def test_it_ends_an_error_that_is_being_shown_and_the_rest_is_still_said(worker):
    worker.run("class E(Exception):\n    def __str__(self):\n        print('here'); time.sleep(1000)\n")
    worker.send("raise E")
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    reply = worker.finish()
    assert reply.end["error"] is True
    assert "raise E" in reply.err or "E (not shown" in reply.err
    assert survives(worker)


def test_it_ends_a_stream_of_the_users_own_that_does_not_flush(worker):
    worker.run(
        "class S:\n    def write(self, text): return len(text)\n"
        "    def flush(self):\n        sys.__stdout__.write('here\\n'); time.sleep(1000)\n"
    )
    worker.send("sys.stdout = S()")
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    assert "KeyboardInterrupt" in worker.finish().err
    worker.send("sys.stdout = sys.__stdout__")
    worker.finish()
    assert survives(worker)


def test_a_painter_that_does_not_end_can_be_interrupted(worker):
    worker.run("class P:\n    def _repr_png_(self):\n        print('here'); time.sleep(1000)\n")
    worker.send("P()")
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")
    assert survives(worker)


def test_a_module_that_the_worker_looks_on_at_can_be_interrupted_and_imported_again(worker, tmp_path):
    (tmp_path / "getpass.py").write_text(
        "import os, time\nprint('here')\nif not os.path.exists('go'): time.sleep(1000)"
    )
    worker.send("sys.modules.pop('getpass', None)\nimport getpass")
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")
    (tmp_path / "go").touch()
    assert worker.run("import getpass\ngetpass.__name__").out == "here\n'getpass'\n"


def test_exit_handlers_can_be_interrupted(worker):
    # One handler: it may still be printing when the interrupt comes, which would end no other.
    worker.send(
        "import atexit\n@atexit.register\ndef last():\n    print('here')\n    time.sleep(1000)\nsys.exit(4)"
    )
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    assert worker.finish().end["type"] == "request_end"
    assert worker.drain() == 4


def test_one_that_comes_too_late_for_its_request_never_reaches_the_next(worker):
    for _ in range(30):
        number = worker.send("1")
        worker.interrupt(signalled=False, request_id=number)
        worker.finish()
        reply = worker.run("for _ in range(300): pass\n'whole'")
        assert (reply.out, reply.err) == ("'whole'\n", "")


def test_a_signal_that_comes_long_after_its_message_is_the_same_interrupt(worker):
    worker.send(
        "n = 0\ntry:\n    print('in'); time.sleep(1000)\nexcept KeyboardInterrupt:\n    n += 1\n"
        "try:\n    input('now? ')\nexcept KeyboardInterrupt:\n    n += 1\nn"
    )
    worker.printed("in")
    worker.interrupt(signalled=False, request_id=worker.number)
    worker.message("readline_start", prompt="now? ")  # so it was felt, by the message alone
    os.kill(worker.process.pid, signal.SIGINT)
    worker.answer("\n")
    assert worker.finish().out == "in\n1\n"


def test_a_sleep_or_a_lock_of_the_users_making_does_not_disarm_it(worker):
    worker.run("import signal, _thread\ntime.sleep = threading.Lock = _thread.start_new_thread = None")
    worker.send("print('here')\nwhile True: pass")
    worker.printed("here")
    worker.interrupt(signalled=False, request_id=worker.number)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")


def test_for_another_request_it_is_idle(worker):
    worker.send("print('here')\ninput()")
    worker.message("readline_start")
    worker.interrupt(signalled=False, request_id=99)
    assert worker.message("interrupted") == {"type": "interrupted", "outcome": "idle", "request_id": 99}
    worker.answer("x\n")
    assert worker.finish().out == "here\n'x'\n"


def test_a_handler_of_the_users_own_has_its_cell_and_no_more(worker):
    worker.send(
        "import signal\nheard = []\n"
        "signal.signal(signal.SIGINT, lambda *_: heard.append('mine'))\nprint('here')\n"
        "while not heard: time.sleep(0.01)\nprint(*heard)"
    )
    worker.printed("here")
    worker.interrupt(request_id=worker.number)
    assert worker.finish().out == "here\nmine\n"
    worker.run("signal.signal(signal.SIGINT, signal.SIG_DFL)")
    worker.interrupt()
    assert survives(worker)


def test_right_behind_its_request_it_ends_it_before_or_in_it(worker):
    for _ in range(15):
        number = worker.send("time.sleep(1000)")
        worker.interrupt(request_id=number)
        reply = worker.finish()
        assert reply.end["error"] is True
        told = reply.of("interrupted") or [worker.message("interrupted", request_id=number)]
        assert told[0]["outcome"] == "delivered"
    assert survives(worker)


def test_what_the_worker_imports_for_itself_is_not_torn(worker):
    # It imports what runs a top-level await when there is one; the interrupt comes in the middle of that.
    worker.run(
        "import os, signal\nsent = []\nclass Finder:\n    def find_spec(self, name, *_):\n"
        "        if name == 'asyncio' and not sent:\n            sent.append(name)\n"
        "            os.kill(os.getpid(), signal.SIGINT)\nsys.meta_path.insert(0, Finder())\n"
        "async def f(): return 5"
    )
    assert worker.run("'asyncio' in sys.modules").out == "False\n"
    reply = worker.run("await f()")  # which may be over before it feels the interrupt
    assert reply.out == "5\n" or "KeyboardInterrupt" in reply.err
    assert worker.run("sent, 'asyncio' in sys.modules").out == "(['asyncio'], True)\n"
    assert worker.run("await f()").out == "5\n"
    assert survives(worker)


def storm(worker, rounds, more=""):
    """Signals at random instants, of requests and between them; each request still ends once, with its own output."""
    chance = random.Random(7)
    for at in range(rounds):
        number = worker.send(f"for i in range({chance.randrange(400)}): pass\nprint('ran {at}')\n{more}")
        if chance.random() < 0.8:
            for _ in range(chance.randrange(300)):
                pass
            worker.interrupt(request_id=number)
        reply = worker.finish()
        assert reply.out == f"ran {at}\n" or "KeyboardInterrupt" in reply.err
        assert f"ran {at}\n".startswith(
            reply.out
        )  # a print may be torn, as in any Python, but is nobody else's
        assert "sideband_worker" not in reply.err
        assert "Warning" not in reply.err
        assert reply.end["request_id"] == number
    assert survives(worker)


def test_at_random_instants_it_loses_nothing_and_mixes_nothing(worker):
    storm(worker, 150)


def test_at_random_instants_of_a_cell_that_awaits_it_loses_nothing_either(worker):
    worker.run("import asyncio")
    storm(worker, 100, "await asyncio.sleep(0)\nawait asyncio.sleep(0)")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_at_thousands_of_random_instants_it_loses_nothing_and_mixes_nothing(worker):
    storm(worker, 5_000)


OWN = "import signal\ncalls = []\nsignal.signal(signal.SIGINT, lambda *_: calls.append(1))\n"


def test_a_handler_of_the_users_own_that_was_faster_than_the_message_has_had_it(worker):
    number = worker.send(OWN + "print('here', flush=True)\nwhile not calls: time.sleep(0.01)")
    worker.printed("here")
    os.kill(worker.process.pid, signal.SIGINT)
    worker.finish()
    worker.interrupt(signalled=False, request_id=number)
    assert worker.message("interrupted")["outcome"] == "delivered"


def test_a_signal_that_found_the_users_handler_gone_was_idle():
    kept = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts()
    try:
        request = interrupts.request = Request(1, None, "")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interrupts.finish(request)
        interrupts.install()
        with pytest.raises(KeyboardInterrupt):  # this is user code, to it
            signal.raise_signal(signal.SIGINT)
        assert not interrupts.announce(request, signalled=True)
    finally:
        signal.signal(signal.SIGINT, kept)


def test_an_interrupt_without_a_number_finds_nothing_once_a_request_is_over(worker):
    worker.run(OWN)
    worker.interrupt(signalled=False)
    assert worker.message("interrupted") == {"type": "interrupted", "outcome": "idle"}


def test_only_the_first_interrupt_of_a_request_that_is_over_is_waited_with(worker):
    number = worker.send(OWN)
    worker.finish()
    for _ in range(100):
        worker.interrupt(signalled=False, request_id=number)
    outcomes = [worker.message("interrupted")["outcome"] for _ in range(100)]
    assert outcomes[1:] == ["idle"] * 99
    assert survives(worker)
