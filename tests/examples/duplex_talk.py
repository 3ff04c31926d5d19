"""A host in miniature for a `duplex` example: speaks bytes to a real process, and keeps what it says unasked."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.sdk.duplex_wire import error, frame, request, result, unframe

WAIT_SECONDS = 50  # for a process to end; less than a test may take
Message = dict[str, Any]
Answer = Callable[[Message], Message | None]  # the answer to a plugin's request; None: later, by the test


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def unb64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


class Ended(NamedTuple):
    code: int
    said: list[Message]
    stderr: str


def talk(program: Path, *messages: Message | bytes) -> Ended:
    """Send all of it, close, and return what came back. Half a frame in the answer fails the test."""
    data = b"".join(each if isinstance(each, bytes) else frame(each) for each in messages)
    done = subprocess.run([program], input=data, capture_output=True, timeout=WAIT_SECONDS)
    return Ended(done.returncode, unframe(done.stdout), done.stderr.decode())


class Talk:
    """A conversation with *program*. Its requests are answered by *answers*, or as by a host that has nothing."""

    def __init__(self, program: Path, answers: dict[str, Answer] | None = None) -> None:
        self._answers = answers or {}
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed with the conversation
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, bufsize=0
        )
        self.asked: list[Message] = []  # requests of the plugin
        self.told: list[Message] = []  # notifications of it
        self._unread = b""
        self._last_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(WAIT_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self._stderr):
            assert stream is not None
            stream.close()

    def send(self, *messages: Message | bytes) -> None:
        assert self.process.stdin is not None
        for each in messages:
            view = memoryview(each if isinstance(each, bytes) else frame(each))
            while view:
                view = view[self.process.stdin.write(view) :]

    def receive(self) -> Message | None:
        """Return the next message, or None at the end."""
        assert self.process.stdout is not None
        while True:
            head, blank, rest = self._unread.partition(b"\r\n\r\n")
            if blank and len(rest) >= (size := int(head.removeprefix(b"Content-Length: "))):
                self._unread = rest[size:]
                message: Message = json.loads(rest[:size])
                assert message["jsonrpc"] == "2.0"
                return message
            data = self.process.stdout.read(1 << 20)
            if not data:
                assert self._unread == b""
                return None
            self._unread += data

    def until(self, id: Any) -> Message:
        """Serve the plugin until it has answered the request *id*, and return that answer."""
        while (message := self.receive()) is not None:
            if "method" not in message:
                assert message["id"] == id
                assert ("result" in message) != ("error" in message)
                return message
            self.hear(message)
        raise AssertionError(f"it ended before it answered {id}: {self.stderr()}")

    def call(self, method: str, params: Any) -> Message:
        self._last_id += 1
        self.send(request(self._last_id, method, params))
        return self.until(self._last_id)

    def result(self, method: str, params: Any) -> Any:
        answer = self.call(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def publishes(self, topic: str) -> list[Any]:
        """Return the data of what was published, whose envelope must be of one chunk."""
        found = []
        for each in self.told:
            if each["method"] == "host/snapshot/publish" and each["params"]["topic"] == topic:
                chunk = json.loads(unb64(each["params"]["payload"]))
                assert (chunk["version"], chunk["chunk_index"], chunk["is_final"]) == (1, 0, True)
                found.append(chunk["data"])
        return found

    def end(self) -> int:
        """Hang up, hear the rest, and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        while (message := self.receive()) is not None:
            self.hear(message)
        return self.process.wait(WAIT_SECONDS)

    def stderr(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode()

    def hear(self, message: Message) -> None:
        """Keep what the plugin says unasked, and answer it if it asks."""
        if "id" not in message:
            self.told.append(message)
            return
        self.asked.append(message)
        answer = self._answers.get(message["method"], _usual)(message)
        if answer is not None and not self.process.stdin.closed:
            self.send(answer)


def _usual(message: Message) -> Message:
    usual = {"host/snapshot/get": {"payload": None, "version": 0}, "host/snapshot/subscribe": {}}
    if message["method"] in usual:
        return result(message["id"], usual[message["method"]])
    return error(message["id"], -32601)
