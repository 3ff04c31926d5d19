"""One HTTP request -> whether its answer can still arrive, as the call that it brought sees it. Ends nothing itself.

Theory of operation. Clients that have shaken hands cancel a call with a message; where only their connection breaks,
the SDK goes on and drops the answer. So the call is told: it waits no longer, and takes back what it would have said.
Other clients cancel by closing the connection, and the SDK does that for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

KEY = "plughost.delivery"  # in the scope of a request
_SESSION = b"mcp-session-id"  # what clients send who have shaken hands


class Delivery:
    """The way of one answer. *gone* is set when nobody waits for it any more."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self._arrived: bool | None = None  # not known yet
        self._take_back: Callable[[], None] | None = None

    def promise(self, take_back: Callable[[], None]) -> None:
        """The answer is about to be given: *take_back* is called if it does not arrive, at once if that is known."""
        if self._arrived is None:
            self._take_back = take_back
        elif not self._arrived:
            take_back()

    def close(self, *, arrived: bool) -> None:
        """The request is over."""
        self._arrived = arrived
        take_back, self._take_back = self._take_back, None
        if take_back is not None and not arrived:
            take_back()


class Watched:
    """An application whose requests have a delivery."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        delivery = Delivery()
        cancels_by_message = any(name == _SESSION for name, _ in scope["headers"])
        broken = whole = False

        async def heard() -> Message:
            nonlocal broken
            message = await receive()
            if message["type"] == "http.disconnect" and not whole:
                broken = True
                if cancels_by_message:
                    delivery.gone.set()
            return message

        async def said(message: Message) -> None:
            nonlocal whole
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                whole = True

        try:
            await self._app({**scope, KEY: delivery}, heard, said)
        finally:
            delivery.close(arrived=whole and not broken)
