"""The server over HTTP: both eras by the official client, and everybody else kept out."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from plughost.errors import LocalProtocolError
from plughost.manifest import sideband_binding
from tests.frontends.mcp.agent import (
    ENDLESS,
    MODES,
    PATIENCE_MS,
    PATIENCE_S,
    Agent,
    Named,
    appears,
    makes,
    waits_for,
)

pytestmark = [pytest.mark.thin(4, "mcp over http")]
TOKEN = "a-token-for-tests"
DISCOVER = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}'

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}


@asynccontextmanager
async def served(where: Path, token: str | None = TOKEN, **bounds: float) -> AsyncIterator[str]:
    """Serve sessions on a free port, and yield the address."""
    from plughost.frontends.mcp.connections import Bounds
    from plughost.frontends.mcp.http import Address, listen, serving
    from plughost.frontends.mcp.serving import Offer, gateway

    offer = Offer(sideband_binding.bind(sys.executable, cwd=where), None)
    with listen(Address("127.0.0.1", 0), token) as listening:
        at = replace(Address("127.0.0.1", 0), port=listening.getsockname()[1])
        within = Bounds(**bounds)  # type: ignore[arg-type]
        async with gateway(offer, print) as tools, serving(tools.server(), listening, at, token, within):
            yield at.url


@asynccontextmanager
async def connected(url: str, token: str | None, mode: str = "auto") -> AsyncIterator[Agent]:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as web:
        async with Client(streamable_http_client(url, http_client=web), mode=mode) as client:  # type: ignore[arg-type]
            yield Agent(client, [])


async def ask(url: str, code: str, token: str | None) -> str:
    """Return what *code* shows."""
    async with connected(url, token) as it:
        return (await it.repl(code)).text


def picture(size: int) -> str:
    """Return code that shows a picture of *size* bytes."""
    return f"""\
class P:
    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'.ljust({size}, b'x')
P()"""


@asynccontextmanager
async def calling(url: str, code: str) -> AsyncIterator[None]:
    """Call `repl` as a client does that has shaken hands; leaving the block breaks the connection."""
    import httpx2

    def message(**values: object) -> bytes:
        return json.dumps({"jsonrpc": "2.0", **values}).encode()

    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    call = {"name": "repl", "arguments": {"input": code, "timeout_ms": PATIENCE_MS}}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as web:
        greeted = await web.post(url, content=message(id=1, method="initialize", params=HELLO))
        web.headers["mcp-session-id"] = greeted.headers["mcp-session-id"]
        await web.post(url, content=message(method="notifications/initialized"))
        async with web.stream("POST", url, content=message(id=2, method="tools/call", params=call)):
            yield


async def status(url: str, token: str | None = TOKEN, **headers: str) -> int:
    """Return what a request is answered with."""
    import httpx2

    if token is not None:
        headers |= {"Authorization": f"Bearer {token}"}
    headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False) as web:
        return (await web.post(url, content=DISCOVER, headers=headers)).status_code


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_is_served(tmp_path, mode):
    async with served(tmp_path) as url, connected(url, TOKEN, mode) as it:
        assert await it.tools() == ["repl"]
        await it.repl("x = 5")
        assert (await it.repl("x")).blocks == ["5\n", "[idle]"]
        assert (await it.call("repl", {})).is_error


async def test_sessions_outlive_connections(tmp_path):
    async with served(tmp_path) as url:
        await ask(url, "x = 5", TOKEN)
        assert await ask(url, "x", TOKEN) == "5\n"


async def test_without_the_token_nobody_is_served(tmp_path):
    async with served(tmp_path) as url:
        assert await status(url) not in (401, 403, 421)
        for token in (None, "wrong", TOKEN + "x", TOKEN[:-1]):
            assert await status(url, token) == 401
        assert await status(url, None, Authorization=TOKEN) == 401
        assert await status(url, None, Authorization=f"Basic {TOKEN}") == 401


async def test_a_page_in_a_browser_reaches_nothing(tmp_path):
    async with served(tmp_path, token=None) as url:
        assert await status(url, None) not in (401, 403, 421)
        assert await status(url, None, Origin="http://evil.example") == 403
        assert await status(url, None, Host="evil.example") == 421
        assert await status(url, None, Host="127.0.0.1.evil.example:80") == 421


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}.evil.test", "localhost:1", "evil.test:{port}", "localhost"]
)
async def test_the_header_host_is_compared_whole(tmp_path, host):
    async with served(tmp_path) as url:
        port = url.rpartition(":")[2].partition("/")[0]
        for name, status in ((f"127.0.0.1:{port}", b"200"), (host.format(port=port), b"421")):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
            writer.write(request(name, json.dumps(OPENING).encode()))
            line = await asyncio.wait_for(reader.readline(), PATIENCE_S)
            assert line.split()[1] == status
            writer.close()


def request(host: str, body: bytes) -> bytes:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nHost: "])
async def test_a_connection_that_sends_no_whole_request_head_is_closed(tmp_path, sent):
    async with served(tmp_path, head_s=0.2) as url:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(url.rpartition(":")[2].partition("/")[0])
        )
        writer.write(sent)
        assert await asyncio.wait_for(closed(reader), PATIENCE_S)
        writer.close()
        assert await ask(url, "1 + 1", TOKEN) == "2\n"


async def closed(reader: asyncio.StreamReader) -> bool:
    """Wait for the end of the connection."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


async def test_connections_without_a_request_keep_nobody_out(tmp_path):
    async with served(tmp_path, unknown=3) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        assert await ask(url, "1 + 1", TOKEN) == "2\n"
        for reader, _ in silent[:15]:  # the oldest went first
            assert await asyncio.wait_for(closed(reader), PATIENCE_S)
        for _, writer in silent:
            writer.close()


async def test_a_body_that_does_not_come_is_not_waited_for_and_keeps_nobody_out(tmp_path):
    async with served(tmp_path, connections=4) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        stalled = [await asyncio.open_connection("127.0.0.1", port) for _ in range(10)]
        for _, writer in stalled:
            writer.write(request(f"127.0.0.1:{port}", b"x" * 100)[:-100])
        for _ in range(3):
            assert await ask(url, "1 + 1", TOKEN) == "2\n"
        for _, writer in stalled:
            writer.close()
    async with served(tmp_path, body_s=0.2) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(f"127.0.0.1:{port}", b"x" * 100)[:-100])
        assert await asyncio.wait_for(closed(reader), PATIENCE_S)
        writer.close()


async def test_the_session_of_a_client_that_has_left_is_ended(tmp_path):
    import httpx2

    async with served(tmp_path, idle_s=0.05) as url:
        async with httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False) as web:
            headers = {
                "Authorization": f"Bearer {TOKEN}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            }
            answer = await web.post(url, headers=headers, json=OPENING)
            known = {**headers, "Mcp-Session-Id": answer.headers["mcp-session-id"]}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            status = 200
            async with asyncio.timeout(PATIENCE_S):
                while status != 404:  # a new worker takes longer to start than a session may be idle
                    await ask(url, "\x04", TOKEN)
                    status = (await web.post(url, headers=known, json=ping)).status_code


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_is_never_larger_than_clients_take(tmp_path, mode):
    async with served(tmp_path) as url, connected(url, TOKEN, mode) as it:
        large = await it.repl(picture(1_000_000))
        assert all(isinstance(block, str) for block in large.blocks)
        assert len(Named(large.text).data()) == 1_000_000
        small = await it.repl(picture(100_000))
        assert [kind for kind, _ in (block for block in small.blocks if isinstance(block, tuple))] == [
            "image/png"
        ]
        assert (await it.repl("1")).text == "1\n"


async def test_a_connection_that_breaks_ends_the_wait_and_not_the_code_and_loses_nothing(tmp_path):
    begun, go = tmp_path / "begun", tmp_path / "go"
    code = f"print('first', flush=True)\n{makes(begun)}{waits_for(go)}print('second')\n42"
    async with served(tmp_path) as url:
        async with calling(url, code):
            await appears(begun)
        async with connected(url, TOKEN, "legacy") as it, asyncio.timeout(PATIENCE_S):
            while (answer := await it.repl("", timeout_ms=0)).is_error:  # noqa: ASYNC110  a moment, until it is heard of
                await asyncio.sleep(0.01)
            assert answer.state == "busy"
            go.touch()
            rest = await it.repl("")
            assert answer.text + rest.text == "first\nsecond\n42\n"
            assert rest.state == "idle"


@pytest.mark.parametrize("arrived", [True, False])
@pytest.mark.parametrize("first", ["promise", "close"])
async def test_an_answer_is_taken_back_if_and_only_if_it_does_not_arrive(arrived, first):
    from plughost.frontends.mcp.delivery import Delivery

    taken: list[int] = []
    it = Delivery()
    steps = [lambda: it.promise(lambda: taken.append(1)), lambda: it.close(arrived=arrived)]
    for step in steps if first == "promise" else reversed(steps):
        step()
    assert taken == ([] if arrived else [1])


async def test_who_is_kept_out_is_told_why_and_bearer_may_be_spelled_in_any_case(tmp_path):
    import httpx2

    async with served(tmp_path) as url, httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False) as web:
        told = {
            word: (await web.post(url, content=DISCOVER, headers={"Authorization": word})).text
            for word in ("Basic x", "Bearer", "Bearer wrong", f"bearer {TOKEN}", f"BEARER {TOKEN}")
        }
    assert "missing" in told["Basic x"]
    assert "wrong" in told["Bearer"]
    assert "wrong" in told["Bearer wrong"]
    assert not any("token" in told[f"{scheme} {TOKEN}"].lower() for scheme in ("bearer", "BEARER"))


@pytest.mark.parametrize("host", ["x" * 70 + ".invalid", "127.0.0.1"])
def test_an_address_that_cannot_be_had_is_an_error_that_names_it(host):
    from plughost.frontends.mcp.http import Address, listen

    with listen(Address("127.0.0.1", 0), TOKEN) as taken:
        with pytest.raises(LocalProtocolError, match=host[:60]):
            listen(Address(host, taken.getsockname()[1]), TOKEN)


async def test_cancelling_a_call_interrupts_the_code(tmp_path):
    begun = tmp_path / "begun"
    async with served(tmp_path) as url, connected(url, TOKEN) as it:
        running = asyncio.ensure_future(it.repl(f"x = 7\n{makes(begun)}{ENDLESS}"))
        await appears(begun)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        answer = await it.repl_when_idle("x")  # the server hears of it a moment later
        assert answer.text.endswith("7\n")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", "127.0.0.1.example.com"])
def test_off_this_machine_a_token_is_needed(host):
    from plughost.frontends.mcp.http import Address, listen

    with pytest.raises(LocalProtocolError):
        listen(Address(host, 0), None)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)],
)
def test_an_address_is_local_if_nobody_else_can_connect(host, local):
    from plughost.frontends.mcp.http import Address

    assert Address(host, 80).is_local is local
    assert Address(host, 80).security.enable_dns_rebinding_protection is local
