"""A server of the SDK -> streamable HTTP on one address, behind a token. Refuses a network without one.

The SDK checks the headers Host and Origin where they can be known, so that no page in a browser can reach a server of
this machine by a name of its own. The token keeps out the other users of the machine.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from ...errors import LocalProtocolError
from ...messages.quoting import quote
from .connections import Bounds, Connections
from .delivery import Watched

PATH = "/mcp"
REQUEST_BYTES = 67_108_864  # of one message, as over standard input
GRACE_S = 1  # for answers that are being written when all is over
HTTP_PORT = 80  # which clients leave out of the header Host
WAITING = 128  # connections that may wait to be taken
BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. *port* 0 is any that is free."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        return f"http://{self.spelled}:{self.port}{PATH}"

    @property
    def spelled(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def security(self) -> TransportSecuritySettings:
        """Which requests are meant for us. Off this machine nobody knows by which name: the token decides alone."""
        if not self.is_local:
            return TransportSecuritySettings(enable_dns_rebinding_protection=False)
        names = {"127.0.0.1", "localhost", "[::1]", self.spelled}
        hosts = [f"{name}:{self.port}" for name in names]
        if self.port == HTTP_PORT:
            hosts += names
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[f"http://{host}" for host in hosts],
        )


def listen(address: Address, token: str | None) -> socket.socket:
    """Return a socket that listens there. Raises LocalProtocolError, also off this machine without a *token*."""
    if token is None and not address.is_local:
        raise LocalProtocolError(
            f"{address.host} can be reached from other machines: that needs a token. Leave --no-token out"
        )
    try:
        return _listening(address)
    except UnicodeError:
        problem = "no name of a machine"
    except OSError as error:
        problem = error.strerror or str(error)
    raise LocalProtocolError(f"cannot listen on {quote(address.spelled)}, port {address.port}: {problem}")


def _listening(address: Address) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(WAITING)
    except BaseException:
        listening.close()
        raise
    return listening


class _Quiet(uvicorn.Server):
    """It leaves the signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(
    server: Server[Any],
    listening: socket.socket,
    address: Address,
    token: str | None,
    bounds: Bounds = BOUNDS,
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve on *listening* until the block is left. The task that is yielded ends if that fails."""
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=address.security,
        max_request_body_size=REQUEST_BYTES,
        session_idle_timeout=bounds.idle_s,
        max_sessions=bounds.sessions,
    )
    app = Watched(app)
    if token is not None:
        app = _Guarded(app, token)
    config = uvicorn.Config(
        app,
        http=Connections(bounds).protocol,  # type: ignore[arg-type]  # it is only called
        ws="none",
        log_config=None,
        log_level="critical",  # below that it tells of each stream that is cut off in the end
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
    )
    web = _Quiet(config)
    task = asyncio.ensure_future(web.serve([listening]))
    try:
        yield task
    finally:
        web.should_exit = True
        await asyncio.wait({task})


class _Guarded:
    """An application that answers only to those who know the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = None if scope["type"] == "lifespan" else self._problem(scope)
        if problem is None:
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": problem})

    def _problem(self, scope: Scope) -> bytes | None:
        """Return what is wrong with who asks, in words for them."""
        given = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        if scheme.lower() != b"bearer":
            return b"The header Authorization: Bearer TOKEN is missing, or there are several.\n"
        if not hmac.compare_digest(token.strip(b" "), self._token):
            return b"The token in the header Authorization is wrong: it is not the one of this server.\n"
        return None
