"""Workers that end: what is said, what is still shown, and that another takes their place."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import sys
import threading
from contextlib import suppress

import pytest
from msgspec import structs

import plughost
from plughost import blocking
from plughost.contracts.sideband.host import terms
from plughost.contracts.sideband.items import Image, Notice, Omitted, Stream, Text
from plughost.errors import HostClosed, LocalProtocolError
from plughost.failures import FailureCode, HandshakeFailed, LaunchFailed, PluginCrashed, PluginTimeout
from plughost.host.sideband.remains import Remains
from plughost.manifest.sideband_binding import bind
from plughost.manifest.sideband_limits import ENDING_S
from tests.host.sideband.lab import EVERY, FOREIGN, PATIENCE_S, QUICK, Lab

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(EVERY, "sideband-host")

ENDS = {
    "exit-status": ("import os; print('last words', flush=True); os._exit(3)", "exit status 3", True),
    "kill": (
        "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
        "SIGKILL",
        True,
    ),
    "segfault": (
        "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGSEGV)",
        "SIGSEGV",
        True,
    ),
    "sys-exit-0": ("import sys; print('last words'); sys.exit()", "exit status 0", False),
    "sys-exit-4": ("import sys; print('last words'); sys.exit(4)", "exit status 4", True),
    "quit": ("print('last words'); quit()", "exit status 0", False),
    "system-exit": ("print('last words'); raise SystemExit", "exit status 0", False),
}


@requirement("sideband:end:output", "sideband:end:lost")
@pytest.mark.parametrize(("code", "status", "error"), ENDS.values(), ids=ENDS)
def test_a_worker_that_ends_under_its_request_is_reported_and_replaced(
    both: Lab, code: str, status: str, error: bool
) -> None:
    desk = both.console()
    desk.run("x = 1")
    reply = desk.run(code)
    assert (reply.state, reply.text, reply.generation, reply.request_id) == ("ended", "last words\n", 1, 2)
    assert reply.error is error
    (notice,) = reply.notices
    assert status in notice
    assert "in-memory state lost" in notice
    after = desk.run("x")
    assert (after.state, after.generation, after.request_id, after.notices) == ("ready", 2, 3, ())
    assert "NameError" in after.text


def test_a_failure_is_told_once_and_its_code_says_what_it_was(both: Lab) -> None:
    desk = both.console()
    reply = desk.run("import os; os._exit(1)")
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.CRASHED
    assert reply.to_dict()["failure"]["code"] == "crashed"
    assert desk.poll().failure is None
    assert [event.name for event in both.events].count("failed") == 1


def test_a_worker_that_ends_while_nothing_runs_is_reported_with_the_next_reply(both: Lab) -> None:
    desk = both.console()
    go = both.pipe()
    desk.run(
        "import threading, os\n"
        f"act = lambda: (open({str(go)!r}).read(), print('late', flush=True), os._exit(5))\n"
        "threading.Thread(target=act, daemon=True).start()"
    )
    go.write_text("go")
    shown: list[object] = []
    while not (reply := desk.poll(0.01)).notices:
        shown += reply.items
    assert (reply.state, reply.error) == ("ended", False)
    assert "exit status 5" in reply.notices[0]
    assert "".join(item.text for item in (*shown, *reply.items) if isinstance(item, Text)) == "late\n"
    assert desk.poll().items == ()
    assert desk.run("1").generation == 2


def test_a_run_after_an_unseen_death_says_so_before_what_it_shows_itself(both: Lab) -> None:
    desk = both.console()
    desk.run("x = 1")
    pid = desk.console.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    reply = desk.run("print('anew')")
    assert [type(item) for item in reply.items] == [Notice, Text]
    assert (reply.text, reply.generation, reply.error, reply.state) == ("anew\n", 2, False, "ready")
    assert "SIGKILL" in reply.notices[0]


def test_a_death_after_a_timeout_delivers_what_was_not_read(both: Lab) -> None:
    desk = both.console()
    first = desk.begin("import os, sys\nprint('unread', flush=True)\nos._exit(9)")
    rest = desk.poll()
    assert first.text + rest.text == "unread\n"
    assert (rest.state if rest.notices else first.state) == "ended"
    assert first.request_id == rest.request_id == 1 or first.state == "ended"


@requirement("sideband:end:asked")
def test_a_restart_ends_the_worker_and_whatever_it_runs(both: Lab) -> None:
    desk = both.console()
    desk.begin_until("x = 1\nprint('here', flush=True)\nwhile True: pass", "here")
    reply = desk.restart()
    assert (reply.state, reply.generation) == ("ready", 2)
    assert "in-memory state lost" in reply.notices[-1]
    assert "NameError" in desk.run("x").text


def test_what_a_worker_prints_while_it_is_ended_is_shown_by_the_restart(both: Lab) -> None:
    desk = both.console()
    desk.run("import atexit; _ = atexit.register(print, 'closing')")
    reply = desk.restart()
    assert (reply.text, reply.state, reply.generation) == ("closing\n", "ready", 2)
    assert [type(item) for item in reply.items] == [Text, Notice]


def test_a_restart_while_a_question_is_open_forgets_it(both: Lab) -> None:
    desk = both.console()
    assert desk.run("input('? ')").state == "waiting for stdin"
    reply = desk.restart()
    assert (reply.state, reply.prompt, reply.generation) == ("ready", "", 2)
    with pytest.raises(LocalProtocolError):
        desk.answer("too late")
    assert desk.run("'anew'").text == "'anew'\n"


@requirement("sideband:end:holders")
def test_what_a_process_of_an_old_worker_prints_is_never_shown_by_the_new_one(both: Lab) -> None:
    desk = both.console(structs.replace(bind(sys.executable), survivors="allow"))
    go = both.pipe()
    ghost = int(
        desk.run(
            "import subprocess\n"
            f"command = ['sh', '-c', 'cat {go}; echo ghost; echo ghost >&2']\n"
            "child = subprocess.Popen(command, start_new_session=True)\n"
            "child.pid"
        ).text
    )
    held = os.pidfd_open(ghost)
    try:
        assert desk.restart().generation == 2
        go.write_text("")  # it is there, and goes on only now
        assert select.select([held], [], [], PATIENCE_S)[0]
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(held, signal.SIGKILL)
        os.close(held)
    assert desk.run("'mine'").text == "'mine'\n"
    assert desk.poll().items == ()


def test_what_the_old_worker_was_about_to_print_is_not_taken_for_the_new_ones(both: Lab) -> None:
    desk = both.console()
    for generation in range(2, 5):
        desk.begin_until("print('here', flush=True)\nwhile True: print('old', flush=True)", "here")
        assert desk.restart().generation == generation
        reply = desk.run("'new'")
        assert (reply.text, reply.generation) == ("'new'\n", generation)


def test_an_autopsy_shows_what_was_printed_and_no_marks(both: Lab) -> None:
    desk = both.console()
    desk.run("1")
    desk.run("2")
    failure = desk.run("import os, sys; print('alas', file=sys.stderr); os._exit(1)").failure
    assert failure is not None
    assert failure.autopsy.stderr_tail == "alas\n"


def test_a_restart_of_a_console_whose_worker_is_gone_starts_another(both: Lab) -> None:
    desk = both.console()
    desk.run("import os; os._exit(1)")
    reply = desk.restart()
    assert (reply.state, reply.generation, reply.items) == ("ready", 2, ())


def test_a_restart_delivers_what_was_not_read(both: Lab) -> None:
    desk = both.console()
    first = desk.begin("print('unread')")
    reply = desk.restart()
    assert first.text + reply.text in ("unread\n", "")  # it may have been asked to go before it began
    assert desk.poll().items == ()


def test_a_worker_that_ignores_everything_is_ended_all_the_same(both: Lab) -> None:
    desk = both.foreign("deaf", "ids", **QUICK)
    desk.begin_until("sleep", "sleeping")
    assert desk.interrupt(0.05) == "unanswered"
    assert desk.restart().generation == 2
    desk.begin_until("sleep", "sleeping")


def test_a_worker_in_native_code_gives_way_to_another_if_that_is_wanted(both: Lab) -> None:
    desk = both.console(**QUICK)
    # However early the interrupt comes, it is caught, and the next thing is native code.
    code = "while True:\n  try:\n    print('here', flush=True)\n    sum(range(10**13))\n  except BaseException: pass"
    desk.begin_until(code, "here")
    assert desk.interrupt(0.2, force=True) == "replaced"
    reply = desk.poll()
    assert (reply.state, reply.generation) == ("ready", 2)
    assert "in-memory state lost" in reply.notices[0]


def test_a_program_that_is_not_there_cannot_be_started(both: Lab) -> None:
    with pytest.raises(LaunchFailed):
        both.console(["/nowhere/worker"])


def test_a_worker_that_leaves_before_it_has_introduced_itself_crashed(both: Lab) -> None:
    with pytest.raises(PluginCrashed) as caught:
        both.foreign("leaves")
    assert caught.value.autopsy.exit is not None
    assert caught.value.autopsy.exit.code == 7
    assert "I would rather not" in caught.value.autopsy.stderr_tail


def test_a_worker_that_never_introduces_itself_is_given_up(both: Lab) -> None:
    with pytest.raises(PluginTimeout):
        both.foreign("mute", handshake_s=0.1, **QUICK)


def test_a_python_that_is_none_is_a_failed_start_and_a_console_can_be_made_afterwards(both: Lab) -> None:
    with pytest.raises((PluginCrashed, HandshakeFailed)):
        both.console(["/bin/sh", "-c", "exit 1"], name="it")
    assert both.console(name="it").run("1").text == "1\n"


def test_a_worker_that_closes_the_sideband_and_goes_on_is_ended(both: Lab) -> None:
    desk = both.foreign(**QUICK)
    reply = desk.run("close")
    assert (reply.state, reply.error) == ("ended", True)
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.CRASHED


def test_a_line_that_is_too_long_is_malformed_and_ends_the_worker(both: Lab) -> None:
    desk = both.foreign(frame_bytes=1_000, **QUICK)
    reply = desk.run("bytes b'x' * 1001")
    assert reply.state == "ended"
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.MALFORMED_RESPONSE
    assert reply.failure.autopsy.limit == "limits.frame_bytes"


def test_a_call_that_waits_while_its_console_is_closed_is_told_so(lab: Lab) -> None:
    desk = lab.console()
    caught: list[BaseException] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        try:
            desk.console.run("while True: pass", PATIENCE_S)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    desk.close()
    thread.join(PATIENCE_S)
    assert [type(error) for error in caught] == [HostClosed]


@requirement("sideband:end:ladder")
def test_the_ladder_of_a_worker_is_shorter_than_the_promise() -> None:
    binding = bind(sys.executable)
    limits = binding.limits
    assert terms(binding).end_s + limits.teardown_s + limits.terminate_s < ENDING_S


def test_a_worker_that_reads_nothing_can_be_restarted(both: Lab) -> None:
    desk = both.foreign("deaf", "ids", **QUICK)
    desk.begin_until("sleep", "sleeping")
    desk.restart()
    desk.begin("sleep " + "x" * 1_000_000)  # of which it reads what fits its buffer
    assert desk.restart().generation == 3


async def test_a_start_that_fails_is_told_to_all_who_wait_for_it(leak_check: None) -> None:
    async with plughost.Host() as host:
        console = await host.console([sys.executable, "-I", "-S", str(FOREIGN)])
        await console.run("exit 1")
        object.__setattr__(
            console._console.plan, "binding", bind([sys.executable, "-I", "-S", str(FOREIGN), "leaves"])
        )
        runs = [asyncio.ensure_future(console.run("say it")) for _ in range(2)]
        await asyncio.sleep(0)
        polled = asyncio.ensure_future(console.poll(PATIENCE_S))
        caught = await asyncio.gather(*runs, return_exceptions=True)
        assert [type(error) for error in caught] == [PluginCrashed, PluginCrashed]
        assert (await polled).state == "ended"


def test_what_nobody_has_asked_for_over_several_workers_is_counted() -> None:
    remains = Remains()
    left = (Text(Stream.STDOUT, "x" * 100, 1), Image("1", "image/png", b"1234", True, 1), Notice("gone", 1))
    for _ in range(5):
        remains.add(left, None, None, None)
    gap = remains.items[0]
    assert gap == Omitted(chars=400, entries=4, images=4, image_bytes=16, spooled=False)
    assert remains.items[1:] == left


@pytest.mark.filterwarnings("ignore:a plughost:ResourceWarning")
def test_a_host_that_is_forgotten_takes_its_workers_with_it(leak_check: None) -> None:
    before = set(threading.enumerate())
    host = blocking.Host()
    console = host.console(sys.executable)
    console.run("1")
    pidfd = os.pidfd_open(console.pid or 0)
    del host, console
    gc.collect()
    try:
        assert select.select([pidfd], [], [], PATIENCE_S)[0]
    finally:
        os.close(pidfd)
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
