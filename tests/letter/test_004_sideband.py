"""The document of `sideband`, clause by clause: raw workers under plughost, and plughost's workers under raw hosts."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plughost import blocking

PATIENCE_S = 60.0
FDS = ("MCP_CONSOLE_IPC_READ_FD", "MCP_CONSOLE_IPC_WRITE_FD")
PIPES = ("MCP_CONSOLE_IPC_PIPE_TO_WORKER", "MCP_CONSOLE_IPC_PIPE_FROM_WORKER")

# A worker from the document alone. It writes what it hears to a file; each line of a request is a word and its rest.
WORKER = """
import base64, json, os, queue, signal, sys, threading, time
LOG, ECHOES = sys.argv[1], "echoes" in sys.argv
READ, WRITE = (int(os.environ[f"MCP_CONSOLE_IPC_{way}_FD"]) for way in ("READ", "WRITE"))
heard = queue.Queue()
def tell(type, **members):
    os.write(WRITE, json.dumps({"type": type, **members}, ensure_ascii=False).encode() + b"\\n")
def log(kind, what):
    with open(LOG, "a", encoding="utf-8") as file:
        file.write(json.dumps([kind, what]) + "\\n")
def listen():
    for line in os.fdopen(READ, encoding="utf-8"):
        log("told", line)
        message = json.loads(line)
        if message["type"] == "stdin_write":
            heard.put(message["text"])
        elif message["type"] == "session_end":
            os._exit(0)
def take():
    text = heard.get().encode()
    data = b""
    while len(data) < len(text):
        data += os.read(0, len(text) - len(data))
    log("read", data.decode())
    return data.decode()
def run(line):
    word, _, rest = line.partition(" ")
    if word == "say":
        os.write(1, rest.encode() + b"\\n")
    elif word == "err":
        os.write(2, rest.encode() + b"\\n")
    elif word == "ask":
        tell("readline_start", prompt=rest)
        answer = take()
        tell("readline_result", prompt=rest, line=answer)
        os.write(1, b"got " + answer.encode())
    elif word == "plot":
        data = base64.b64encode(rest.encode()).decode()
        tell("plot_image", id="p", mime_type="image/png", data=data, is_new=rest == "new")
    elif word == "hold":
        os.write(1, b"holding\\n")
        open(rest).read()
    elif word == "hang":
        os.write(1, b"hanging\\n")
        try:
            while True: signal.pause()
        except KeyboardInterrupt:
            os.write(1, b"stopped\\n")
    elif word == "kinds":
        kinds = [os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in (READ, WRITE, 0, 1, 2)]
        os.write(1, " ".join(kinds).encode() + b"\\n")
    elif word == "bye":
        os.write(1, b"bye\\n")
        tell("session_end")
        os._exit(0)
tell("backend_info", language="words", supports_images=True)
threading.Thread(target=listen, daemon=True).start()
while True:
    if ECHOES:
        os.write(1, b"> ")
        tell("readline_start", prompt="> ")
    for line in take().splitlines():
        if ECHOES:
            os.write(1, line.encode() + b"\\n")
            tell("readline_result", prompt="> ", line=line + "\\n")
        run(line)
    tell("request_end")
    if line == "late":
        time.sleep(0.005)
        os.write(1, b"late\\n")
"""


def raw_console(host: blocking.Host, home: Path, *words: str, binding: str = "") -> Any:
    program = home / "worker.py"
    program.write_text(WORKER, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(program), str(home / "log"), *words]
    if binding:
        head = f'[plugin]\nname = "words"\ncontract = "sideband"\ncommand = {json.dumps(command)}\n'
        (home / "plugin.toml").write_text(head + binding, encoding="utf-8")
        return host.console(str(home))
    return host.console(command)


def logged(home: Path) -> list[tuple[str, Any]]:
    found = [json.loads(line) for line in (home / "log").read_text(encoding="utf-8").splitlines()]
    return [(kind, json.loads(what) if kind == "told" else what) for kind, what in found]


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """One session of a raw worker under plughost: what each request gave, and what the worker heard."""
    home = tmp_path_factory.mktemp("raw")
    gate = home / "gate"
    os.mkfifo(gate)
    with blocking.Host() as host:
        console = raw_console(host, home)
        seen = SimpleNamespace(home=home)
        seen.said = console.run("say é→😀", PATIENCE_S)
        seen.kinds = console.run("kinds", PATIENCE_S)
        seen.both = console.run("say out\nerr err", PATIENCE_S)
        seen.asked = console.run("ask naïve? ", PATIENCE_S)
        seen.answered = console.answer("yes → é", PATIENCE_S)
        seen.empty = console.run("ask ", PATIENCE_S)
        console.answer("x", PATIENCE_S)
        seen.new, seen.update = console.run("plot new", PATIENCE_S), console.run("plot more", PATIENCE_S)
        seen.late = console.run("late", PATIENCE_S)
        shown = console.run("hang", 0).text
        while "hanging" not in shown:
            shown += console.poll(0.01).text
        seen.interrupt = console.interrupt(PATIENCE_S)
        seen.interrupted = console.poll(PATIENCE_S)
        seen.timed_out = console.run(f"hold {gate}", 0)
        with pytest.raises(Exception, match="running") as raised:
            console.run("say no", 0)
        seen.refused = str(raised.value)
        gate.write_text("go")
        seen.finished = console.poll(PATIENCE_S)
        seen.restarted = console.restart()
        seen.log = logged(home)
        seen.backend = console.backend
        seen.bye = console.run("bye", PATIENCE_S)
        yield seen


class RawHost:
    """A host from the document alone, for plughost's workers."""

    def __init__(self, command: list[str], home: Path) -> None:
        control, self.control = os.pipe()
        self.side, side = os.pipe()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, cwd=home,
            pass_fds=(control, side), start_new_session=True,
            env={**os.environ, FDS[0]: str(control), FDS[1]: str(side)},
        )  # fmt: skip
        os.close(control)
        os.close(side)
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin = self.process.stdin.fileno()
        self.names = {
            self.process.stdout.fileno(): "out",
            self.process.stderr.fileno(): "err",
            self.side: "side",
        }
        self.held = {"out": b"", "err": b"", "side": b""}
        self.messages: list[dict[str, Any]] = []

    def tell(self, **message: Any) -> None:
        os.write(self.control, json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def write(self, text: str) -> None:
        self.tell(type="stdin_write", text=text)
        os.write(self.stdin, text.encode())

    def until(self, done: Any) -> Any:
        end = time.monotonic() + PATIENCE_S
        while not (found := done()):
            assert self.names, (self.messages, self.held)
            assert time.monotonic() < end, (self.messages, self.held)
            for fd in select.select(list(self.names), [], [], 1.0)[0]:
                data = os.read(fd, 65_536)
                if not data:
                    del self.names[fd]
                elif self.names[fd] == "side":
                    *lines, self.held["side"] = (self.held["side"] + data).split(b"\n")
                    self.messages += [json.loads(line.decode("utf-8")) for line in lines]
                else:
                    self.held[self.names[fd]] += data
        return found

    def message(self, kind: str) -> dict[str, Any]:
        def find() -> dict[str, Any] | None:
            at = next((at for at, each in enumerate(self.messages) if each["type"] == kind), None)
            return None if at is None else self.messages.pop(at)

        found: dict[str, Any] = self.until(find)
        return found

    def shows(self, text: str, stream: str = "out") -> None:
        """Wait for *text*, and forget what was shown."""
        self.until(lambda: text.encode() in self.held[stream])
        self.held[stream] = b""

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        for fd in (self.control, self.side):
            os.close(fd)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def sdk(name: str) -> str:
    spec = importlib.util.find_spec("plughost_sdk")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / name)


PYTHON = [sys.executable, sdk("sideband_worker/__main__.py")]
R = ["Rscript", sdk("sideband_worker_r/sideband_worker.R")]


@pytest.fixture
def python(tmp_path: Path) -> Iterator[RawHost]:
    host = RawHost(PYTHON, tmp_path)
    yield host
    host.close()


def test_4_01_messages_are_lines_of_json_on_pipes_of_their_own(talk: SimpleNamespace) -> None:
    """The channel is a JSON-lines stream carried over an IPC pipe."""
    assert talk.kinds.text.split() == ["pipe"] * 5
    assert all(isinstance(what, dict) for kind, what in talk.log if kind == "told")


def test_4_02_the_worker_inherits_two_descriptors(talk: SimpleNamespace) -> None:
    """Unix: the worker inherits two file descriptors via environment variables."""
    assert talk.said.state == "ready"


def test_4_03_their_numbers_are_in_the_variables_that_the_document_names(tmp_path: Path) -> None:
    """MCP_CONSOLE_IPC_READ_FD and MCP_CONSOLE_IPC_WRITE_FD; without them plughost's worker says so and exits."""
    bare = {name: value for name, value in os.environ.items() if name not in FDS}
    ended = subprocess.run(
        PYTHON, env=bare, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
    )
    assert ended.returncode != 0
    assert FDS[0].encode() in ended.stderr


def test_4_04_pipes_of_windows_are_refused_with_a_sentence_elsewhere(tmp_path: Path) -> None:
    """Windows: two named pipes. Specified, and refused where they cannot be opened."""
    given = {
        **{name: value for name, value in os.environ.items() if name not in FDS},
        PIPES[0]: r"\\.\pipe\x",
    }
    ended = subprocess.run(
        PYTHON, env=given, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
    )
    assert ended.returncode != 0
    assert PIPES[0].encode() in ended.stderr


def test_4_05_messages_are_utf8_one_on_a_line(talk: SimpleNamespace, python: RawHost) -> None:
    """Messages are serialized as UTF-8 JSON, one message per line."""
    assert talk.said.text == "é→😀\n"
    assert ("read", "say é→😀\n") in talk.log
    python.write("input('naïve → ')\n")
    assert python.message("readline_start")["prompt"] == "naïve → "
    python.write("é😀\n")
    assert python.message("readline_result")["line"] == "é😀\n"


def test_4_06_stdin_write_comes_before_the_payload_and_says_what_it_is(talk: SimpleNamespace) -> None:
    """stdin_write {text}, emitted before the server writes the input payload to stdin."""
    announced = [what["text"] for kind, what in talk.log if kind == "told" and what["type"] == "stdin_write"]
    read = [what for kind, what in talk.log if kind == "read"]
    assert announced[: len(read)] == read
    for kind, what in talk.log:
        if kind == "read":
            assert ("told", {"type": "stdin_write", "text": what}) in talk.log


@pytest.mark.parametrize("announced", [{"type": "stdin_write", "text": ""}, None], ids=["empty", "none"])
def test_4_07_the_payload_runs_whatever_the_text_says_of_it(
    python: RawHost, announced: dict[str, str] | None
) -> None:
    """The payload is written to stdin; the text is not said to be it."""
    if announced:
        python.tell(**announced)
    os.write(python.stdin, b"print(6 * 7)\n")
    python.message("request_end")
    python.shows("42\n")


def test_4_08_interrupt_is_sent_when_the_host_interrupts(talk: SimpleNamespace) -> None:
    """interrupt: sent when the server issues an interrupt."""
    assert ("told", {"type": "interrupt"}) in talk.log
    assert (talk.interrupt, talk.interrupted.state) == ("sent", "ready")
    assert "stopped\n" in talk.interrupted.text


@pytest.mark.needs("Rscript")
def test_4_09_in_r_an_interrupt_clears_queued_input(tmp_path: Path) -> None:
    """For R, worker-side handlers clear any pending queued input."""
    host = RawHost(R, tmp_path)
    try:
        host.message("backend_info")
        host.write("readline('a? '); Sys.sleep(1000)\n")
        host.message("readline_start")
        host.write("one\ntwo\nthree\n")
        host.message("readline_result")
        host.tell(type="interrupt")
        host.message("request_end")
        host.write("readline('b? ')\n")
        assert host.message("readline_start")["prompt"] == "b? "
        host.write("mine\n")
        assert host.message("readline_result")["line"] == "mine\n"
        host.message("request_end")
    finally:
        host.close()


def test_4_10_input_that_is_left_is_discarded_before_completion(python: RawHost) -> None:
    """Remaining buffered stdin bytes of the pending request are discarded before normal completion."""
    python.write("import time\ninput('a? ')\ntime.sleep(1000)\n")
    python.message("readline_start")
    python.write("one\ntwo\nthree\n")
    python.message("readline_result")
    python.tell(type="interrupt")
    python.message("request_end")
    python.write("input('b? ')\n")
    assert python.message("readline_start")["prompt"] == "b? "
    python.write("mine\n")
    assert python.message("readline_result")["line"] == "mine\n"


def test_4_11_session_end_is_sent_on_restart_and_shutdown(talk: SimpleNamespace, tmp_path: Path) -> None:
    """session_end: sent when the server is ending the current session."""
    assert ("told", {"type": "session_end"}) in talk.log
    assert talk.restarted.generation == 2
    with blocking.Host() as host:
        raw_console(host, tmp_path).run("say hi", PATIENCE_S)
        assert ("told", {"type": "session_end"}) not in logged(tmp_path)
    assert logged(tmp_path)[-1] == ("told", {"type": "session_end"})


def test_4_12_the_worker_exits_when_the_session_ends(python: RawHost) -> None:
    """The worker treats session_end as shutdown intent and stops consuming stdin."""
    python.message("backend_info")
    python.tell(type="session_end")
    os.write(python.stdin, b"print('never')\n")
    python.until(lambda: not python.names)
    assert python.process.wait(PATIENCE_S) == 0
    assert b"never" not in python.held["out"]


def test_4_13_backend_info_says_the_language_and_whether_there_are_images(
    talk: SimpleNamespace, python: RawHost
) -> None:
    """backend_info {language, supports_images}."""
    assert (talk.backend.language, talk.backend.supports_images) == ("words", True)
    told = python.message("backend_info")
    assert (told["language"], told["supports_images"]) == ("python", True)


def test_4_14_backend_info_comes_once_and_first(python: RawHost) -> None:
    """Sent once on startup after the sideband connection is established."""
    python.write("1\n")
    python.until(lambda: any(each["type"] == "request_end" for each in python.messages))
    kinds = [each["type"] for each in python.messages]
    assert kinds[0] == "backend_info"
    assert kinds.count("backend_info") == 1


@pytest.mark.parametrize("read", ["input('p? ')", "__import__('sys').stdin.readline()"])
def test_4_15_readline_start_comes_before_each_read(python: RawHost, read: str) -> None:
    """readline_start {prompt}, emitted before each readline call."""
    python.write(read + "\n")
    assert python.message("readline_start")["prompt"] in ("p? ", "")
    python.write("x\n")
    python.message("request_end")


def test_4_16_the_prompt_may_be_empty(talk: SimpleNamespace, python: RawHost) -> None:
    """The prompt string is required; an empty string if there is none."""
    assert (talk.empty.state, talk.empty.prompt) == ("waiting for stdin", "")
    python.write("input()\n")
    assert python.message("readline_start")["prompt"] == ""


def test_4_17_readline_result_has_the_prompt_and_the_line(talk: SimpleNamespace, python: RawHost) -> None:
    """readline_result {prompt, line}, emitted after a line is read."""
    assert (talk.asked.state, talk.asked.prompt) == ("waiting for stdin", "naïve? ")
    assert talk.answered.text == "got yes → é\n"
    python.write("input('p? ')\n")
    python.message("readline_start")
    python.write("x\n")
    told = python.message("readline_result")
    assert (told["prompt"], told["line"]) == ("p? ", "x\n")


@pytest.mark.parametrize(
    ("binding", "texts"),
    [
        ("[sideband]\nechoes = true\n", ["2\n", "3\n"]),
        ("[limits]\nimages = 3\n", ["> say 2\n2\n> ", "say 3\n3\n> "]),
    ],
    ids=["echoes", "as it is"],
)
def test_4_18_an_echo_is_taken_out_if_the_worker_is_said_to_have_one(
    tmp_path: Path, binding: str, texts: list[str]
) -> None:
    """The server can reconstruct echoed bytes as prompt + line for conservative echo suppression."""
    with blocking.Host() as host:
        console = raw_console(host, tmp_path, "echoes", binding=binding)
        assert [console.run(f"say {number}", PATIENCE_S).text for number in (2, 3)] == texts


def test_4_19_output_streams_stay_unframed(python: RawHost) -> None:
    """Output streams remain unframed: a host that asks for nothing finds what was printed, and no more."""
    python.write("import sys\nprint('out')\nprint('err', file=sys.stderr)\n")
    python.message("request_end")
    python.tell(type="session_end")
    python.until(lambda: not python.names)
    assert (python.held["out"], python.held["err"]) == (b"out\n", b"err\n")


def test_4_20_request_end_completes_the_request(talk: SimpleNamespace, python: RawHost) -> None:
    """request_end marks the end of output for the request: the primary completion signal."""
    assert (talk.said.state, talk.said.error) == ("ready", False)
    python.write("1 / 0\n")
    assert python.message("request_end")["type"] == "request_end"


def test_4_21_a_picture_is_new_or_an_update(talk: SimpleNamespace, python: RawHost) -> None:
    """plot_image {id, mime_type, data, is_new}."""
    (new,), (update,) = talk.new.images, talk.update.images
    assert (new.id, new.mime_type, new.data, new.is_new) == ("p", "image/png", b"new", True)
    assert (update.id, update.data, update.is_new) == ("p", b"more", False)
    python.write("class P:\n    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\nP()\n")
    told = python.message("plot_image")
    assert (told["mime_type"], told["is_new"]) == ("image/png", True)
    assert told["data"].startswith("iVBOR")


def test_4_22_a_worker_may_end_the_session_itself(talk: SimpleNamespace, python: RawHost) -> None:
    """session_end: indicates the worker session is terminating."""
    assert talk.bye.state == "ended"
    python.write("raise SystemExit(3)\n")
    python.message("session_end")
    assert python.process.wait(PATIENCE_S) == 3


def test_4_23_stdout_and_stderr_are_captured_separately(talk: SimpleNamespace) -> None:
    """Output streams remain on the main pipes and are captured separately."""
    streams = {item.stream.value: item.text for item in talk.both.items}
    assert streams == {"stdout": "out\n", "stderr": "err\n"}


def test_4_24_output_right_behind_the_end_still_belongs_to_it(talk: SimpleNamespace) -> None:
    """A short settle window after request_end lets final bytes be read."""
    assert talk.late.text == "late\n"


def test_4_25_a_request_that_timed_out_stays_pending_and_a_poll_finishes_it(talk: SimpleNamespace) -> None:
    """On timeout a request may remain pending; later polls observe the delayed request_end."""
    assert talk.timed_out.state == "running"
    assert "running" in talk.refused
    assert (talk.finished.state, talk.finished.request_id) == ("ready", talk.timed_out.request_id)
