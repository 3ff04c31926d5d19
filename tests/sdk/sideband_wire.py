"""A host of the `sideband` worker for tests, in raw bytes and json: real processes, real pipes, nothing of the SDK.

It reads stdout, stderr and the sideband as they come, in the test's own thread, and waits for facts only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import plughost_sdk

WORKER = Path(plughost_sdk.__file__).parent / "sideband_worker" / "__main__.py"
PYTHON = os.environ.get("PLUGHOST_TEST_WORKER_PYTHON", sys.executable)  # another one may be named
PATIENCE_S = 200.0  # for anything: below the limit of a test


class Reply:
    """What a request gave: text by stream, messages in order, and how it ended."""

    def __init__(self, out: bytes, err: bytes, messages: list[dict], end: dict) -> None:
        self.out, self.err, self.messages, self.end = out.decode(), err.decode(), messages, end
        self.raw = out

    def of(self, kind: str) -> list[dict]:
        return [message for message in self.messages if message["type"] == kind]


class Worker:
    """One worker and the other ends of its pipes."""

    def __init__(self, *, python=PYTHON, program=WORKER, cwd=None, env=None, flags=(), packets=False) -> None:
        control, self.control = os.pipe()
        # A pipe of packets gives to each read what one write has put into it.
        self.answers, answers = os.pipe2(os.O_DIRECT) if packets else os.pipe()
        environment = {"PATH": os.defpath, **(env or {})}
        environment |= {"MCP_CONSOLE_IPC_READ_FD": str(control), "MCP_CONSOLE_IPC_WRITE_FD": str(answers)}
        self.process = subprocess.Popen(
            [python, *flags, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=cwd,
            pass_fds=(control, answers),
            start_new_session=True,
            bufsize=0,
        )
        os.close(control)
        os.close(answers)
        self.fds = {
            self.process.stdout.fileno(): "out",
            self.process.stderr.fileno(): "err",
            self.answers: "side",
        }
        self.held = {"out": bytearray(), "err": bytearray(), "side": bytearray()}
        self.messages: list[dict] = []
        self.writes: list[list[str]] = []  # the types of the messages of each read of the sideband
        self.number = 0
        self.unfinished: set[int] = set()  # requests whose end was not seen

    # Reading

    def pump(self, done, what="something", room=()):
        """Read until *done()* is true, or *room* to write changes it; fail if the worker ends or goes silent before."""
        until = time.monotonic() + PATIENCE_S
        while not (found := done()):
            if not self.fds or time.monotonic() > until:
                raise AssertionError(f"no {what}: {self.messages[-3:]} {bytes(self.held['err'][-2000:])!r}")
            for fd in select.select(list(self.fds), room, [], 1.0)[0]:
                data = os.read(fd, 65_536)
                name = self.fds[fd]
                self.held[name] += data
                if not data:
                    del self.fds[fd]
                elif name == "side":
                    *lines, rest = self.held["side"].split(b"\n")
                    heard = [json.loads(line) for line in lines]
                    self.messages += heard
                    self.writes.append([each["type"] for each in heard])
                    self.held["side"] = bytearray(rest)
        return found

    def message(self, kind, **members):
        """Return the first message of that kind and those members, and take it off the list."""

        def find():
            for at, each in enumerate(self.messages):
                if each["type"] == kind and members.items() <= each.items():
                    del self.messages[at]
                    return each
            return None

        return self.pump(find, f"{kind} {members}")

    def printed(self, text, stream="out"):
        """Wait until *text* was printed. It stays to be read."""
        self.pump(lambda: text.encode() in self.held[stream], f"{text!r} on {stream}")

    # Writing

    def tell(self, **message):
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.control, view) :]

    def payload(self, data):
        """Write to stdin, reading meanwhile: both sides may have much to say."""
        view, fd = memoryview(data), self.process.stdin.fileno()
        os.set_blocking(fd, False)

        def write():
            nonlocal view
            try:
                while view:
                    view = view[os.write(fd, view[:65_536]) :]
            except BlockingIOError:
                pass
            return not view

        self.pump(write, "room in stdin", room=(fd,))

    def send(self, text, *, mark=True, **members):
        """Announce and write a request, with more *members* if any; return its number."""
        text = text if text.endswith("\n") else text + "\n"
        self.number += 1
        self.unfinished.add(self.number)
        marks = {"mark": f"{self.number:032x}"} if mark else {}
        self.tell(type="stdin_write", text=text, request_id=self.number, **marks, **members)
        self.payload(text.encode())
        return self.number

    def answer(self, text):
        self.tell(type="stdin_write", text=text, request_id=self.number)
        self.payload(text.encode())

    def interrupt(self, *, signalled=True, **members):
        self.tell(type="interrupt", **members)
        if signalled:
            os.kill(self.process.pid, signal.SIGINT)

    def finish(self, number=None):
        """Wait for the end of a request: its message and both marks. Return what came with it."""
        number = number or self.number
        mark = b"\x1e%032x\x1e" % number

        def complete():
            ended = any(m["type"] == "request_end" and m.get("request_id") == number for m in self.messages)
            return ended and mark in self.held["out"] and mark in self.held["err"]

        self.pump(complete, f"end of {number}")
        texts = []
        for name in ("out", "err"):
            text, _, rest = bytes(self.held[name]).partition(mark)
            texts.append(text)
            self.held[name] = bytearray(rest)
        self.unfinished.discard(number)
        at = next(i for i, m in enumerate(self.messages) if m["type"] == "request_end")
        end, messages, self.messages = self.messages[at], self.messages[:at], self.messages[at + 1 :]
        return Reply(*texts, messages, end)

    def run(self, text):
        self.send(text)
        return self.finish()

    # The end

    def drain(self):
        """Read to the end of everything, and return the exit status."""
        self.pump(lambda: not self.fds, "end")
        return self.process.wait(PATIENCE_S)

    def close(self):
        for fd in (self.control, self.answers):
            os.close(fd)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)


class Kept:
    """A worker for several tests that leave it as it was. One that fails within a request costs the next nothing."""

    def __init__(self, **options) -> None:
        self._options = options
        self._worker: Worker | None = None

    def get(self, prepare=""):
        """Return the worker, or a new one, which has run *prepare*, if there is none or the last one is not fit."""
        worker = self._worker
        if worker is None or worker.unfinished or worker.messages or worker.process.poll() is not None:
            self.close()
            worker = self._worker = Worker(**self._options)
            worker.hello = worker.message("backend_info")
            if prepare:
                worker.run(prepare)
        return worker

    def close(self):
        if self._worker is not None:
            self._worker.close()
