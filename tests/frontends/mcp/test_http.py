"""The server over HTTP: both eras by the official client, and everybody else kept out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from plughost.errors import LocalProtocolError
from plughost.manifest import sideband_binding
from tests.frontends.mcp.agent import ENDLESS, MODES, PATIENCE_S, Agent, appears, makes

pytestmark = [pytest.mark.thin(4, "mcp over http")]
TOKEN = "a-token-for-tests"
DISCOVER = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}'


@asynccontextmanager
async def served(where: Path, token: str | None = TOKEN) -> AsyncIterator[str]:
    """Serve sessions on a free port, and yield the address."""
    from plughost.frontends.mcp.http import Address, listen, serving
    from plughost.frontends.mcp.serving import Offer, gateway

    offer = Offer(sideband_binding.bind(sys.executable, cwd=where), None)
    with listen(Address("127.0.0.1", 0), token) as listening:
        at = replace(Address("127.0.0.1", 0), port=listening.getsockname()[1])
        async with gateway(offer, print) as tools, serving(tools.server(), listening, at, token):
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
