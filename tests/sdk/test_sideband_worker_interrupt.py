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


HANDLER = (
    "import asyncio, ctypes, select, signal\nclass Stop(BaseException): pass\ndef stop(*_): raise Stop\n"
    "libc, held = ctypes.CDLL(None), threading.Lock()\nheld.acquire()\n"
    "async def nap():\n    print('here', flush=True)\n    await asyncio.sleep(1000)\n"
    "async def told():\n    done = asyncio.Event()\n"
    "    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, done.set)\n"
    "    print('here', flush=True)\n    await done.wait()\n    raise Stop\n"
)
ARMED = "signal.signal(signal.SIGINT, stop)\nprint('here', flush=True)\n"
BLOCKED = {
    "a sleep": ARMED + "time.sleep(1000)",
    "a select": ARMED + "select.select([], [], [], 1000)",
    "a lock": ARMED + "held.acquire()",
    "a subprocess": ARMED + "subprocess.run(['sleep', '1000'])",
    "an await": ARMED + "await asyncio.sleep(1000)",
    "asyncio.run": "signal.signal(signal.SIGINT, stop)\nasyncio.run(nap())",
    "a handler of the event loop": "asyncio.run(told())",
    "a sleep in C": ARMED + "libc.sleep(1000)",
    "a poll in C": ARMED + "libc.poll(None, 0, 1000000)",
}


def interrupt_often(worker, code, rounds, **options):
    worker.run(HANDLER)
    for _ in range(rounds):
        number = worker.send(code)
        worker.printed("here")
        worker.interrupt(request_id=number, **options)
        reply = worker.finish()
        assert reply.err.endswith("Stop\n")
        assert "sideband_worker" not in reply.err
        told = reply.of("interrupted") or [worker.message("interrupted")]
        assert told[0]["outcome"] == "delivered"
    assert survives(worker)


@pytest.mark.thin(3)
@pytest.mark.parametrize("place", BLOCKED)
def test_a_handler_of_the_users_own_is_never_left_behind_in(worker, place):
    interrupt_often(worker, BLOCKED[place], 25)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("place", BLOCKED)
def test_a_handler_of_the_users_own_is_not_left_behind_once_in_a_thousand_in(worker, place):
    interrupt_often(worker, BLOCKED[place], 1_000)


DROPPED = {
    "in a finalizer": "class Last:\n    def __del__(self): pause()\nLast()\n",
    "in the callback of a weak reference": (
        "import weakref\nclass Last: pass\nlast = Last()\nseen = weakref.ref(last, lambda _: pause())\ndel last\n"
    ),
}


@pytest.mark.parametrize("place", DROPPED)
@pytest.mark.parametrize("handler", ["KeyboardInterrupt", "Stop"])
def test_an_interrupt_that_python_drops_is_raised_once_more(worker, place, handler):
    worker.run(HANDLER + "def pause():\n    print('here', flush=True)\n    time.sleep(1000)\n")
    armed = "signal.signal(signal.SIGINT, stop)\n" if handler == "Stop" else ""
    for _ in range(3):
        number = worker.send(armed + DROPPED[place] + "time.sleep(1000)")
        worker.printed("here")
        worker.interrupt(request_id=number)
        reply = worker.finish()
        assert reply.err.endswith(f"{handler}\n")
        assert "ignored" not in reply.err
        assert "sideband_worker" not in reply.err
        told = reply.of("interrupted") or [worker.message("interrupted")]
        assert told[0]["outcome"] == "delivered"
    assert survives(worker)


def test_a_handler_whose_exception_python_drops_is_called_once(worker):
    worker.run(HANDLER + "calls = []\ndef count(*_):\n    calls.append(1)\n    raise Stop\n")
    number = worker.send(
        "class Last:\n    def __del__(self):\n        print('here', flush=True)\n        time.sleep(1000)\n"
        "signal.signal(signal.SIGINT, count)\nLast()\ntime.sleep(1000)"
    )
    worker.printed("here")
    worker.interrupt(request_id=number)
    assert worker.finish().err.endswith("Stop\n")
    assert worker.run("len(calls)").out == "1\n"


def test_an_interrupt_in_a_callback_of_asyncio_is_held_back_as_asyncio_would_only_log_it(worker):
    worker.run(HANDLER)
    reply = worker.run(
        "async def main():\n"
        "    asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)\n"
        "    await asyncio.sleep(1000)\n"
        "signal.signal(signal.SIGINT, stop)\nasyncio.run(main())"
    )
    assert reply.err.endswith("Stop\n")
    assert "Exception in callback" not in reply.err


def test_a_callback_of_asyncio_that_blocks_is_interrupted_all_the_same(worker):
    """It says so and sleeps without a line of Python in between, where the handler could run before the sleep."""
    worker.run(HANDLER + "import functools, operator, os\n")
    number = worker.send(
        "async def main():\n"
        "    done = asyncio.Event()\n"
        "    steps = functools.partial(os.write, 1, b'here\\n'), functools.partial(time.sleep, 1000)\n"
        "    asyncio.get_running_loop().call_soon(list, map(operator.call, steps))\n"
        "    asyncio.get_running_loop().call_soon(done.set)\n"
        "    await done.wait()\n"
        "signal.signal(signal.SIGINT, stop)\nasyncio.run(main())\nprint('over')"
    )
    worker.printed("here")
    worker.interrupt(request_id=number)
    reply = worker.finish()
    assert reply.err.endswith("Stop\n")


def test_an_exception_of_a_finalizer_is_reported_as_ever(worker):
    reply = worker.run("class Last:\n    def __del__(self): 1 / 0\nLast()\nprint('on')")
    assert "Exception ignored in" in reply.err
    assert "ZeroDivisionError" in reply.err
    assert reply.out == "on\n"


@pytest.mark.parametrize("place", ["a sleep", "a handler of the event loop"])
def test_a_bare_message_is_enough_for_a_handler_of_the_users_own(worker, place):
    interrupt_often(worker, BLOCKED[place], 2, signalled=False)


def test_a_handler_of_the_users_own_is_called_once_for_each_interrupt_also_within_itself(worker):
    worker.run(
        HANDLER + "import os\ndef slow():\n    calls.append(1)\n    os.write(1, b'in %d\\n' % len(calls))\n"
    )
    worker.run("def first():\n    slow()\n    time.sleep(1000)\ndef second():\n    slow()\n    raise Stop")
    number = worker.send(
        "calls = []\nsignal.signal(signal.SIGINT, lambda *_: (second if calls else first)())\n"
        "os.write(1, b'here\\n')\ntime.sleep(1000)"
    )
    for at, word in enumerate(("here", "in 1")):
        worker.printed(word)
        worker.interrupt(request_id=number)
        assert worker.message("interrupted")["outcome"] == "delivered", at
    reply = worker.finish()
    assert reply.out == "here\nin 1\nin 2\n"
    assert reply.err.endswith("Stop\n")


def test_a_signal_that_code_has_sent_itself_is_not_taken_for_the_hosts(worker):
    # The host's own signal is left out, so that the worker has to see to it that the message is felt.
    worker.run(HANDLER)
    number = worker.send(
        "try: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: time.sleep(1.5)\n"
        "print('here', flush=True)\ntime.sleep(1000)"
    )
    worker.printed("here")
    worker.interrupt(signalled=False, request_id=number)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")


def test_user_code_finds_the_handlers_that_it_has_set(worker):
    reply = worker.run(
        HANDLER + "before = signal.signal(signal.SIGINT, stop)\n"
        "print(signal.getsignal(signal.SIGINT) is stop, signal.signal(signal.SIGINT, signal.SIG_IGN) is stop)\n"
        "signal.raise_signal(signal.SIGINT)\nprint(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n"
        "print(signal.signal(signal.SIGINT, before) is signal.SIG_IGN, signal.getsignal(signal.SIGINT) == before)\n"
        "print(signal.signal(signal.SIGUSR1, stop) is signal.SIG_DFL, signal.getsignal(signal.SIGUSR1) is stop)\n"
        "try: signal.signal(signal.SIGINT, 'x')\nexcept TypeError: print('refused')"
    )
    assert reply.out == "True True\nTrue\nTrue True\nTrue True\nrefused\n"
    number = worker.send("print('here')\ntime.sleep(1000)")
    worker.printed("here")
    worker.interrupt(request_id=number)
    assert worker.finish().err.endswith("KeyboardInterrupt\n")
