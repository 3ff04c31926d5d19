"""Signal handlers of a plugin: wherever one comes, and whatever it does or raises, the conversation goes on."""

import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading

import pytest
from plughost_sdk import duplex, duplex_conversation, duplex_outbox
from plughost_sdk.duplex_conversation import EXIT_BROKEN, EXIT_OK

from tests.sdk.conftest import SDK
from tests.sdk.duplex_wire import (
    action,
    cli,
    connected,
    event,
    frame,
    init,
    render,
    result,
    serve,
    unframe,
)
from tests.sdk.tripwire import Tripwire

FOUND = {"payload": "aGk=", "version": 7}  # "hi"
INVALID = -32602
BIG = 3 * 4_096  # bytes: more than a pipe takes here at once
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which fcntl has no name for everywhere


class Late(Exception):
    """What a signal handler raises."""


def wire(*messages):
    return b"".join(each if isinstance(each, bytes) else frame(each) for each in messages)


class Recorder:
    """A plugin that notes what it handles, in order, and what its commands came to."""

    def __init__(self):
        self.plugin, self.order, self.answers = duplex.Plugin("probe", version="1.0.0"), [], []
        self.host = self.plugin.host
        self.plugin.on_ready(lambda: self.order.append("ready"))
        self.plugin.on_event(lambda topic, payload: self.order.append(topic))
        self.plugin.cli("usage")(self.command)
        self.plugin.action("act")(lambda payload: self.order.append("act " + payload.decode()))

    def command(self, argv):
        self.order.append(argv[0])
        if argv[0] == "ask":
            self.answers.append(self.host.snapshot.get("t"))
        elif argv[0] == "invoke":
            self.answers.append(self.host.action.invoke("elsewhere"))
        elif argv[0] == "thread":
            thread = threading.Thread(target=self.host.log.info, args=("from a thread",), daemon=True)
            thread.start()
            thread.join(timeout=250)
            assert not thread.is_alive()
        elif argv[0] == "big":
            self.host.snapshot.publish("big", bytes(BIG))

    def serve(self, host, outlet):
        """Run the plugin. Each read brings what *host* sends. Return status and what the plugin said."""
        has_ended, ready, real = False, os.pipe(), os.read
        os.write(
            ready[1], b"x"
        )  # there is something to be read, for as long as the host has more to say by itself
        with pytest.MonkeyPatch.context() as patch, outlet() as taken:

            def read(_fd, _size):
                nonlocal has_ended
                if has_ended:
                    pytest.fail("it reads after the end")
                if len(host.parts) == 1:
                    real(ready[0], 1)
                data = host.send(taken.said())
                has_ended = not data
                return data

            patch.setattr(os, "read", read)
            status = self.plugin.serve(ready[0], taken.fd)
            os.close(ready[1])
            return status, taken.end()


class File:
    """Takes what a plugin says, as a file: nothing waits, but it is written as if it might."""

    def __enter__(self):
        self._file = tempfile.TemporaryFile()
        self.fd = os.dup(self._file.fileno())
        return self

    def said(self):
        return unframe(self._all())

    end = said

    def _all(self):
        self._file.seek(0)
        return self._file.read()

    def __exit__(self, *_):
        self._file.close()


class Pipe:
    """Takes what a plugin says, as a small pipe, which another thread empties while the plugin waits for it."""

    def __enter__(self):
        self._end, self.fd = os.pipe()
        fcntl.fcntl(self.fd, SET_PIPE_SIZE, 4_096)
        os.set_blocking(self._end, False)
        self._data, self._lock, self._read = b"", threading.Lock(), os.read
        self._thread = threading.Thread(target=self._empty, daemon=True)
        self._thread.start()
        return self

    def _empty(self):
        outlet = select.poll()
        outlet.register(self._end, select.POLLIN)
        while outlet.poll() and self._take():
            pass

    def _take(self):
        """Take what is there. Return whether more may come."""
        with self._lock:
            try:
                while data := self._read(self._end, 65_536):
                    self._data += data
            except BlockingIOError:
                return True
        return False

    def said(self):
        """Return what was said and is whole."""
        self._take()
        data, end = self._data, len(self._data)
        while end >= 0:
            try:
                return unframe(data[:end])
            except (AssertionError, ValueError):
                end = data.rfind(b"Content-Length: ", 0, end)
        return []

    def end(self):
        self._thread.join(timeout=250)
        return unframe(self._data)

    def __exit__(self, *_):
        self._thread.join(timeout=250)
        os.close(self._end)


ANSWERS = object()


class Host:
    """Sends the *parts*, one at each read, with answers to whatever was asked in ANSWERS' place.

    When there is nothing left to send it waits for an answer to every request of its own.
    """

    def __init__(self, parts):
        self.parts, self._answered = [*parts], set()
        self._wanted = set(requests_of(parts))

    def send(self, said):
        part = self.parts.pop(0) if self.parts else [ANSWERS]
        data = wire(*(each for one in part for each in (self._answers(said) if one is ANSWERS else [one])))
        if data:
            return data
        if self.parts:
            return self.send(said)
        if not self._wanted <= {each["id"] for each in said if "method" not in each}:
            pytest.fail("the plugin would wait for ever")
        return b""

    def _answers(self, said):
        asked = {each["id"] for each in said if "method" in each and "id" in each}
        new = sorted(asked - self._answered)
        self._answered.update(new)
        return [result(each, FOUND) for each in new]


def requests_of(parts):
    return sorted(each["id"] for part in parts for each in part if isinstance(each, dict) and "id" in each)


HALF = len(frame(event("d"))) // 2
CALLS = [
    [init(10), event("a"), ANSWERS, cli(11, argv=["ask"]), event("b")],
    [frame(b"?"), cli(12, argv=["c"]), ANSWERS],
    [ANSWERS, frame(event("d"))[:HALF]],
    [frame(event("d"))[HALF:], ANSWERS, cli(13, argv=["e"])],
]
THREADS = [
    [init(10), cli(11, argv=["thread"]), event("a")],
    [cli(12, argv=["ask"]), event("b")],
    [ANSWERS, cli(13, argv=["thread"])],
]
ACTIONS = [
    [init(10), cli(11, argv=["invoke"]), event("a")],
    [action(21, payload="MQ=="), event("b"), action(22, payload="Mg==")],
    [ANSWERS, cli(12, argv=["c"])],
]
FULL = [
    [init(10), cli(11, argv=["big"]), event("a")],
    [event("b")],
    [cli(12, argv=["ask"]), event("c")],
]
STORIES = {"calls": CALLS, "threads": THREADS, "actions": ACTIONS, "full": FULL}


def every_step(story, outlet, handler):
    """Tell *story* again and again; *handler* comes at one step after another. Yield recorder, status and what it said.

    A story is told without it at first: what is then in order must be so ever after.
    """
    number, has_come = 0, True
    while has_come:
        number += 1
        recorder = Recorder()
        tripwire = Tripwire(number, lambda recorder=recorder: handler(recorder))
        status, said = tripwire.watch(recorder.serve, Host(STORIES[story]), outlet)
        has_come = tripwire.has_come
        assert status == EXIT_OK
        yield recorder, said
    assert number > 300


def check(story, recorder, said):
    """Every request was answered once, and everything handled once and in order."""
    answered = [each["id"] for each in said if "method" not in each]
    assert sorted(answered) == requests_of(STORIES[story])
    top = [each for each in recorder.order if not each.startswith("act ")]
    if any(each.get("id") == 10 and "error" in each for each in said):
        top.insert(0, "ready")  # which follows an init that went well
    nested = [each for each in recorder.order if each.startswith("act ")]
    assert (
        top
        == {
            "calls": ["ready", "a", "ask", "b", "c", "d", "e"],
            "threads": ["ready", "thread", "a", "ask", "b", "thread"],
            "actions": ["ready", "invoke", "a", "b", "c"],
            "full": ["ready", "big", "a", "b", "ask", "c"],
        }[story]
    )
    assert sorted(nested) == (["act 1", "act 2"] if story == "actions" else [])
    assert [each for each in answered if each < 20] == sorted(each for each in answered if each < 20)


@pytest.mark.thin(4)
@pytest.mark.parametrize("outlet", [File, Pipe])
@pytest.mark.parametrize("story", STORIES)
def test_a_signal_handler_may_raise_anywhere_and_each_request_is_answered_once(story, outlet, capfd):
    def handler(recorder):
        raise Late

    for recorder, said in every_step(story, outlet, handler):
        check(story, recorder, said)
        failed = [each for each in said if "error" in each]
        assert len(failed) <= 1


@pytest.mark.thin(4)
@pytest.mark.parametrize("outlet", [File, Pipe])
@pytest.mark.parametrize("story", STORIES)
def test_an_exception_that_looks_like_the_loss_of_the_host_is_none_if_a_signal_handler_raised_it(
    story, outlet, capfd
):
    def handler(recorder):
        raise BrokenPipeError(32, "of something else")

    for recorder, said in every_step(story, outlet, handler):
        check(story, recorder, said)


@pytest.mark.thin(4)
@pytest.mark.parametrize("outlet", [File, Pipe])
@pytest.mark.parametrize("story", STORIES)
def test_a_signal_handler_may_publish_and_log_anywhere(story, outlet):
    def handler(recorder):
        recorder.host.snapshot.publish("signal", b"hi")
        recorder.host.log.info("signal")

    for recorder, said in every_step(story, outlet, handler):
        check(story, recorder, said)
        sent = [each["method"] for each in said if "signal" in each.get("params", {}).values()]
        assert sent in (["host/snapshot/publish", "host/log"], [])
    assert sent == []  # it has not come any more


@pytest.mark.thin(4)
@pytest.mark.parametrize("outlet", [File, Pipe])
@pytest.mark.parametrize("story", STORIES)
def test_a_signal_handler_may_log_anywhere_and_raise(story, outlet, capfd):
    def handler(recorder):
        recorder.host.log.info("signal")
        raise Late

    count = 0
    for recorder, said in every_step(story, outlet, handler):
        check(story, recorder, said)
        count += [each.get("method") for each in said].count("host/log")
    assert count


@pytest.mark.thin(4)
@pytest.mark.parametrize("call", ["get", "invoke"])
@pytest.mark.parametrize("story", STORIES)
def test_a_signal_handler_that_calls_the_host_gets_its_answer_or_is_refused(story, call):
    outcomes = set()

    def handler(recorder):
        try:
            (recorder.host.snapshot.get if call == "get" else recorder.host.action.invoke)("t")
            outcomes.add("done")
        except RuntimeError:
            outcomes.add("refused")
        except duplex.HostGone:
            outcomes.add("too late")

    for recorder, said in every_step(story, File, handler):
        check(story, recorder, said)
    assert {"done", "refused"} <= outcomes


def test_an_exception_while_another_is_shown_costs_the_words_of_the_answer_and_not_the_answer(monkeypatch):
    plugin, real, times = duplex.Plugin("probe", version="1.0.0"), duplex_conversation.show_traceback, []
    plugin.render(lambda viewport: 1 / 0)

    def show_traceback():
        times.append(1)
        if len(times) < 3:
            raise Late
        real()

    monkeypatch.setattr(duplex_conversation, "show_traceback", show_traceback)
    status, said = serve(plugin, render(1), cli(2))
    assert status == EXIT_OK
    assert [(each["id"], each.get("error", {}).get("code")) for each in said] == [(1, INVALID), (2, None)]


def test_an_exit_in_a_signal_handler_ends_the_process():
    recorder = Recorder()

    def handler():
        raise SystemExit(3)

    with pytest.raises(SystemExit) as ended:
        Tripwire(40, handler).watch(recorder.serve, Host(CALLS), File)
    assert ended.value.code == 3


# While the host does not read


def interrupted(monkeypatch, plugin, does):
    """Have *does* called in the middle of the first frame that is written, as a signal handler is."""
    real, times = os.write, []

    def write(fd, data):
        written = real(fd, data)
        if not times:
            times.append(1)
            does()
        return written

    monkeypatch.setattr(os, "write", write)


def test_a_frame_that_was_begun_is_finished_before_the_next(monkeypatch):
    plugin, size = duplex.Plugin("probe", version="1.0.0"), 1_000_000

    @plugin.cli("usage")
    def usage(argv):
        with pytest.raises(Late):
            plugin.host.snapshot.publish("first", bytes(size))
        plugin.host.snapshot.publish("second", b"")

    def late():
        raise Late

    real = duplex_outbox.Outbox.drain
    monkeypatch.setattr(
        duplex_outbox.Outbox,
        "drain",
        lambda *given: monkeypatch.setattr(duplex_outbox.Outbox, "drain", real) or late(),
    )
    with connected(plugin) as host:
        host.send(cli(1))
        assert [host.receive()["params"]["topic"] for _ in range(2)] == ["first", "second"]
        assert host.receive()["id"] == 1
        assert host.end() == EXIT_OK


def test_what_a_signal_handler_logs_in_the_middle_of_a_frame_follows_it(monkeypatch):
    plugin = duplex.Plugin("probe", version="1.0.0")
    interrupted(monkeypatch, plugin, lambda: plugin.host.log.info("hi"))
    status, said = serve(plugin, render(1), render(2))
    assert status == EXIT_OK
    assert [each.get("method", each.get("id")) for each in said] == [1, "host/log", 2]


def test_what_signal_handlers_log_in_the_middle_of_a_frame_is_bounded(monkeypatch):
    monkeypatch.setattr(duplex_outbox, "QUEUE_LIMIT", 10_000)
    plugin, refused = duplex.Plugin("probe", version="1.0.0"), []

    def log():
        try:
            while True:
                plugin.host.log.info("x" * 1_000)
        except RuntimeError as error:
            refused.append(error)

    interrupted(monkeypatch, plugin, log)
    status, said = serve(plugin, render(1), render(2))
    assert (status, len(refused)) == (EXIT_OK, 1)
    assert [each.get("method", each.get("id")) for each in said] == [1, *["host/log"] * 10, 2]


def test_a_signal_handler_that_comes_between_a_frame_and_its_end_cannot_wait_for_an_answer(monkeypatch):
    plugin, refused = duplex.Plugin("probe", version="1.0.0"), []

    def ask():
        try:
            plugin.host.snapshot.get("t")
        except RuntimeError as error:
            refused.append(error)

    interrupted(monkeypatch, plugin, ask)
    status, said = serve(plugin, render(1))
    assert (status, len(refused), [each["id"] for each in said]) == (EXIT_OK, 1, [1])


def test_a_signal_handler_that_runs_within_a_handler_may_call_the_host():
    recorder, told = Recorder(), []
    recorder.plugin.render(lambda viewport: signal.raise_signal(signal.SIGUSR1))
    before = signal.signal(signal.SIGUSR1, lambda *_: told.append(recorder.host.snapshot.get("t")))
    try:
        status, said = serve(
            recorder.plugin, event("a"), render(6), cli(7, argv=["b"]), result(1, FOUND), event("c")
        )
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (status, told) == (EXIT_OK, [(b"hi", 7)])
    assert recorder.order == ["a", "b", "c"]
    assert [each["id"] for each in said] == [1, 6, 7]


def test_a_read_that_fails_ends_the_process():
    theirs, ours = os.pipe()
    directory = os.open(os.curdir, os.O_RDONLY)
    assert duplex.Plugin("probe", version="1.0.0").serve(directory, ours) == EXIT_BROKEN
    os.close(theirs)


# Real ones

# Python's own import may take a TimeoutError for a file that cannot be read: what is needed is imported before.
ALARMED = """
import io, json, select, signal, sys, traceback
sys.path.insert(0, {sdk!r})
from plughost_sdk import duplex
plugin = duplex.Plugin("probe", version="1.0.0")

def alarm(*_):
    global may_raise
    if {logs}:
        plugin.host.log.info("alarm")
    if may_raise:
        may_raise = False
        raise TimeoutError("alarm")

@plugin.cli("usage")
def usage(argv):
    global may_raise
    may_raise = False
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    for _ in range(200):
        try:
            may_raise = True
            while True:
                plugin.host.snapshot.publish("t", bytes(20_000))
        except TimeoutError:
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)

plugin.run()
"""


@pytest.mark.parametrize("logs", [False, True])
def test_alarms_that_interrupt_a_flood_of_frames_tear_none(logs):
    source = ALARMED.format(sdk=SDK, logs=logs)
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        said, _ = child.communicate(wire(cli(1), render(2)), timeout=250)
    messages = unframe(said)
    assert [each["id"] for each in messages if "id" in each] == [1, 2]
    assert child.returncode == 0
