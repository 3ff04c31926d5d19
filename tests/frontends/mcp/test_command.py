"""`plughost mcp` as its clients start it: the official one and one of our own in raw lines. It leaves nobody behind."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.mcp.agent import ENDLESS, MODES, PATIENCE_MS, PATIENCE_S, Agent, appears, makes, until
from tests.frontends.mcp.test_plugins import install
from tests.frontends.mcp.test_standard_error import filled

COMMAND = [sys.executable, "-m", "plughost", "mcp", "--worker", sys.executable]
EVERY = pytest.mark.thin(14, "servers of mcp in processes of their own")  # each costs a second of imports
pytestmark = [EVERY]


class Server:
    """The command, and a client that writes and reads lines."""

    def __init__(self, where: Path, *words: str, stderr: int | None = None, **variables: str) -> None:
        self.log = where / "stderr.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*COMMAND, *words],
                cwd=where,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log if stderr is None else stderr,
                env={**os.environ, **variables},
            )
        self._last_id = 0

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode())

    def ask(self, method: str, params: dict[str, Any]) -> int:
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.write(json.dumps(request).encode())
        return self._last_id

    def answer(self, request: int) -> dict[str, Any]:
        """Return the answer to *request*, past notifications. Every line is the protocol's."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == request:
                return message
        raise AssertionError(f"the server has ended: {self.log.read_text()}")

    def shake_hands(self) -> dict[str, Any]:
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        told = self.answer(self.ask("initialize", about))["result"]
        self.notify("notifications/initialized")
        return told

    def repl(self, text: str, **arguments: Any) -> int:
        return self.ask("tools/call", {"name": "repl", "arguments": {"input": text, **arguments}})

    def run(self, text: str, **arguments: Any) -> list[str]:
        result = self.answer(self.repl(text, timeout_ms=PATIENCE_MS, **arguments))["result"]
        return [each.get("text", each["type"]) for each in result["content"]]

    def run_when_idle(self, text: str) -> list[str]:
        """Run *text* as soon as what ran before is over, and return all that was shown until then too."""
        shown: list[str] = []
        while True:
            result = self.answer(self.repl(text, timeout_ms=PATIENCE_MS))["result"]
            shown += [each.get("text", each["type"]) for each in result["content"]]
            if result["_meta"]["plughost/state"] != "busy":
                return shown

    def worker(self) -> int:
        """Return a descriptor of the worker's process, which tells when it is gone."""
        return os.pidfd_open(int(self.run("import os; os.getpid()")[0]))

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)


@contextmanager
def ending(made: Server) -> Iterator[Server]:
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        assert made.process.stdin is not None
        assert made.process.stdout is not None
        with suppress(BrokenPipeError):
            made.process.stdin.close()
        made.process.stdout.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with ending(Server(tmp_path)) as made:
        yield made


def is_gone(pidfd: int) -> bool:
    """Wait for the end of a process, whoever's child it is by now."""
    with os.fdopen(pidfd):
        return bool(select.select([pidfd], [], [], PATIENCE_S)[0])


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_starts_it_and_uses_both_kinds_of_tools(tmp_path, mode):
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    install(tmp_path, "plugin", "same", "refuse")
    started = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=tmp_path)
    with (tmp_path / "stderr.txt").open("w") as log:
        async with Client(stdio_client(started, errlog=log), mode=mode) as client:  # type: ignore[arg-type]
            it = Agent(client, [])
            assert await it.tools() == ["plugin__refuse", "plugin__same", "repl"]
            assert (await it.call("plugin__same", {"name": "Ada"})).structured == {"name": "Ada"}
            assert (await it.call("plugin__refuse", {})).is_error
            pidfd = os.pidfd_open(int((await it.repl("import os; os.getpid()")).text))
            assert (await it.repl("1 / 0")).is_error
            assert (await it.repl("x = input('? ')")).state == "waiting"
            assert (await it.repl("2")).state == "idle"
            begun = tmp_path / "begun"
            running = asyncio.ensure_future(it.repl(f"{makes(begun)}{ENDLESS}"))
            await appears(begun)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await it.repl_when_idle("x")).text.endswith("'2'\n")
    assert is_gone(pidfd)
    assert (tmp_path / "stderr.txt").read_text() == ""


def test_a_client_of_raw_lines_is_served_and_garbage_is_skipped(server):
    server.write(b"garbage")
    assert server.shake_hands()["serverInfo"]["name"] == "plughost"
    for line in (b"", b"\xff\xfe", b"[]", b"{}", b"null", b'{"jsonrpc": "1.0", "id": 1}', b"[" * 100_000):
        server.write(line)
    assert server.run("x = 1\nx") == ["1\n", "[idle]"]
    assert server.answer(server.ask("tools/call", {"name": "repl", "arguments": [1]}))["error"]
    assert server.answer(server.ask("tools/call", {"name": "repl"}))["result"]["isError"]
    assert server.answer(server.ask("tools/call", {"name": "nope"}))["result"]["isError"]
    assert server.answer(server.ask("no/such/method", {}))["error"]["code"] == -32601
    assert server.run("import os; os.system('echo loud')\nx")[0].endswith("1\n")
    assert server.end() == 0


def test_a_cancelled_call_of_raw_lines_is_not_answered_and_its_code_is_interrupted(server, tmp_path):
    server.shake_hands()
    begun = tmp_path / "begun"
    cancelled = server.repl(f"x = 3\n{makes(begun)}{ENDLESS}")
    asyncio.run(appears(begun))
    server.notify("notifications/cancelled", {"requestId": cancelled, "reason": "enough"})
    shown = "".join(server.run_when_idle("x"))
    assert "KeyboardInterrupt" in shown
    assert "3\n" in shown
    assert server.end() == 0


def test_a_line_that_is_too_long_is_dropped_and_the_next_is_served(server):
    server.shake_hands()
    assert server.process.stdin is not None
    for _ in range(65):
        server.process.stdin.write(b"x" * 1_048_576)
    server.write(b"")
    assert server.run("1") == ["1\n", "[idle]"]
    assert server.end() == 0
    assert len(server.log.read_text().splitlines()) == 1


WRONG = {
    "no JSON": (b"garbage", None, -32700),
    "too deep": (b"[" * 100_000, None, -32700),
    "a list": (b"[]", None, -32600),
    "another version": (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', 1, -32600),
    "wrong parameters": (b'{"jsonrpc": "2.0", "id": "q", "method": "ping", "params": 5}', "q", -32600),
    "half a character": (
        b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": "\\ud800"}}',
        7,
        -32600,
    ),
}


def test_what_is_no_message_is_answered_with_its_id_where_it_has_one(server):
    server.shake_hands()
    assert server.process.stdout is not None
    for line, request, code in WRONG.values():
        server.write(line)
        answer = json.loads(server.process.stdout.readline())
        assert (answer["id"], answer["error"]["code"]) == (request, code)
    server.write(b'{"jsonrpc": "1.0", "id": 1, "result": {}}')  # an answer has none
    ping = server.ask("ping", {})
    assert json.loads(server.process.stdout.readline())["id"] == ping
    assert server.run("1") == ["1\n", "[idle]"]
    assert server.end() == 0
    assert len(server.log.read_text().splitlines()) == len(WRONG) + 1


@pytest.mark.parametrize("reader", ["sleeps", "is gone"])
def test_a_standard_error_that_nobody_reads_ends_nothing_and_holds_up_nothing(tmp_path, reader):
    read, write = os.pipe()
    filled(write)
    if reader == "is gone":
        os.close(read)
    with ending(Server(tmp_path, stderr=write)) as server:
        os.close(write)
        server.shake_hands()
        for _ in range(3):
            server.write(b"garbage")
        assert server.run("1") == ["1\n", "[idle]"]
        assert server.end() == 0
    if reader == "sleeps":
        os.close(read)


@pytest.mark.parametrize(("closed", "status"), [("<&-", 0), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1)])
def test_a_standard_stream_that_is_closed_is_an_end_or_an_error(tmp_path, closed, status):
    ran = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == status
    assert b"Traceback" not in ran.stderr


@pytest.mark.parametrize("target", ["/dev/null", "/dev/full", "file"])
def test_a_standard_output_that_is_a_file_is_no_problem_at_the_end(tmp_path, target):
    with (tmp_path / target).open("wb") as output:
        ran = subprocess.run(
            COMMAND,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
        )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_token_that_the_user_gave_is_not_printed_and_an_address_in_use_is_status_3(tmp_path):
    token = "a-token-of-the-user"
    with ending(Server(tmp_path, "--http", "0", PLUGHOST_MCP_TOKEN=token)) as web:
        asyncio.run(until(lambda: web.log.read_text().endswith("\n")))
        line = web.log.read_text()
        assert token not in line
        port = line.split("/mcp")[0].rsplit(":", 1)[1]
        ran = subprocess.run(
            [*COMMAND, "--http", port], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, text=True
        )
        assert ran.returncode == 3
        assert "127.0.0.1" in ran.stderr
        assert port in ran.stderr
        web.process.send_signal(signal.SIGTERM)
        assert web.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("how", ["end", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_however_it_ends_no_worker_is_left(server, tmp_path, how):
    server.shake_hands()
    begun = tmp_path / "begun"
    workers = [server.worker()]
    server.repl(f"{makes(begun)}while True: pass", session="main")
    asyncio.run(appears(begun))
    if how == "end":
        assert server.end() == 0
    else:
        server.process.send_signal(getattr(signal, how))
        status = server.process.wait(PATIENCE_S)
        assert status == (-signal.SIGKILL if how == "SIGKILL" else 0)
    assert all(is_gone(each) for each in workers)


def test_it_ends_when_nobody_reads_any_more(server):
    server.shake_hands()
    worker = server.worker()
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.repl("1")
    assert server.process.wait(PATIENCE_S) == 0
    assert is_gone(worker)


def test_over_http_the_official_client_needs_the_token_that_is_printed(tmp_path):
    from tests.frontends.mcp.test_http import ask

    web = Server(tmp_path, "--http", "0")
    try:
        asyncio.run(until(lambda: web.log.read_text().endswith("\n")))
        line = web.log.read_text()
        url, token = line.split()[3], line.split()[-1]
        assert asyncio.run(ask(url, "1 + 1", token)) == "2\n"
        web.process.send_signal(signal.SIGTERM)
        assert web.process.wait(PATIENCE_S) == 0
    finally:
        web.process.kill()
        web.end()
        assert web.process.stdout is not None
        web.process.stdout.close()
