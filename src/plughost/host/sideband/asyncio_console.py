"""A console on an asyncio loop: `Host.console`. It waits; what for, `console` decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self, TypeVar

from ...errors import HostClosed, LocalProtocolError
from ...process.link import Link
from ...process.watcher import Watcher
from ..asyncio_driver import AsyncioDriver
from ..engine import Engine
from .console import Console
from .handle import ConsoleHandle
from .options import ConsolePlan
from .reply import Interruption, Reply
from .steps import Flow, Wait

T = TypeVar("T")


class _LoopGround:
    """The running loop, as a console sees it."""

    def __init__(self, driver: AsyncioDriver) -> None:
        self._driver = driver

    @property
    def watcher(self) -> Watcher:
        return self._driver

    def adopt(self, link: Link, attend: Callable[[], None]) -> None:
        self._driver.adopt(link, lambda: None, attend)


class AsyncConsole(ConsoleHandle):
    """A session of somebody's work: code to replies. By way of `Host.console`.

    Leaving its `async with`, `close`, or closing the host ends the worker.
    """

    def __init__(
        self,
        plan: ConsolePlan,
        engine: Engine,
        driver: AsyncioDriver,
        forget: Callable[[AsyncConsole], object],
        host: object = None,
    ) -> None:
        self._host = host  # it ends its processes when nobody holds it any more: whoever holds us does
        self._engine = engine
        self._driver = driver
        self._console = Console(plan, engine, _LoopGround(driver))
        self._forget = forget
        self._closing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start a worker if there is none. Raises PluginFailure."""
        await self._drive(self._console.start())

    async def run(self, text: str, timeout: float | None = None) -> Reply:
        """Run *text*, and reply when it is over, waits for stdin, or *timeout* seconds have passed.

        It goes on after a timeout: `poll` returns what it shows and how it ends. Without *timeout* the limit
        `timeout_s` counts; the start of a worker does not. If the last worker ended, another is started first, and the
        reply begins with what became of it. Cancelling the call interrupts the request.
        Raises LocalProtocolError while another request runs, and PluginFailure if no worker can be started.
        """
        return await self._drive(self._console.run(text, timeout))

    async def answer(self, text: str, timeout: float | None = None) -> Reply:
        """Give the request the line that it waits for, and reply as `run` does. Raises LocalProtocolError."""
        return await self._drive(self._console.answer(text, timeout))

    async def poll(self, timeout: float | None = None) -> Reply:
        """Return what is new: at once, or with *timeout* when the request is over, waits for stdin, or that is past."""
        return await self._drive(self._console.poll(timeout))

    async def interrupt(self, timeout: float | None = None, *, force: bool = False) -> Interruption:
        """Stop what runs, and return what became of that; also while another task waits for a reply.

        With *force*, a worker whose request is not over in *timeout* seconds gives way to another.
        """
        return await self._drive(self._console.interrupt(timeout, force=force))

    async def restart(self) -> Reply:
        """End the worker, within 2 s, and start another. Replies with what there is to show. Raises PluginFailure."""
        return await self._drive(self._console.restart())

    async def close(self) -> None:
        """End the worker. Idempotent, from any task; within 2 s. A call that waits raises HostClosed."""
        if self._engine.forked:
            return
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._drive(self._console.close())
        self._forget(self)

    async def _drive(self, flow: Flow[T]) -> T:
        if self._engine.forked:
            raise HostClosed("this is a forked copy of the host: the workers are its original's")
        if asyncio.get_running_loop() is not self._driver.loop:
            raise LocalProtocolError("this host belongs to another event loop")
        try:
            wait = next(flow)
            while True:
                try:
                    await self._wait(wait)
                except BaseException as error:
                    wait = flow.throw(error)
                else:
                    wait = flow.send(None)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _wait(self, wait: Wait) -> None:
        if wait.seconds is None:
            await self._driver.until(wait.link, wait.reached)
            return
        late = False

        def ring() -> None:
            nonlocal late
            late = True
            if wait.link.on_change is not None:
                wait.link.on_change()  # whoever waits looks again

        # Cheaper than `asyncio.timeout`, which ends a wait by cancelling its task.
        alarm = self._driver.loop.call_later(wait.seconds, ring)
        try:
            await self._driver.until(wait.link, lambda: late or wait.reached())
        finally:
            alarm.cancel()
