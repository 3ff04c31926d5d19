"""A fleet of `duplex` plugins on an asyncio loop: `Host.fleet` and its plugins. It waits; what for, others decide."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from os import getpid
from typing import Any, Self

from ...contracts.duplex import host as contract
from ...contracts.duplex.host import Ask
from ...contracts.duplex.introduction import Introduction
from ...contracts.duplex.keys import KeyEvent
from ...contracts.duplex.messages import CliDispatchResult, RenderResult
from ...errors import HostClosed, LocalProtocolError
from ...process.link import Link
from ...process.watcher import Watcher
from ..asyncio_driver import AsyncioDriver
from ..engine import Engine
from ..ground import nothing_is_due
from .deliveries import Snapshot
from .fleet import Fleet
from .handle import FleetHandle, PluginHandle
from .member import Member
from .options import FleetPlan
from .status import Status
from .ticket import NO_RESULT, Ticket
from .waiter import Heard, Waiter, Waiters


def _nothing() -> None:
    """Whoever waits for the end of a plugin hears of it otherwise."""


class _LoopGround:
    """The running loop, as a fleet sees it."""

    def __init__(self, driver: AsyncioDriver, clock: Callable[[], float]) -> None:
        self.tick: Callable[[float], None] = nothing_is_due
        self.waiters = Waiters(driver.loop)
        self._driver = driver
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._to_go_on: set[Link] = set()
        self._to_say: set[Link] = set()  # calls that are made at the same time are written at once

    # The watcher that links see

    @property
    def watcher(self) -> Watcher:
        return self

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._driver.watch(fd, Heard(self.waiters, on_ready))

    def watch_writable(self, fd: int, on_ready: Callable[[], None]) -> None:
        self._driver.watch_writable(fd, on_ready)

    def unwatch(self, fd: int) -> None:
        self._driver.unwatch(fd)

    def unwatch_writable(self, fd: int) -> None:
        self._driver.unwatch_writable(fd)

    # The ground that the fleet sees

    def adopt(self, link: Link, attend: Callable[[], None]) -> None:
        self._driver.adopt(link, _nothing, attend)

    def expect(self, link: Link) -> None:
        self._driver.expect(link)

    def say_soon(self, link: Link) -> None:
        if not self._to_say:
            self._driver.loop.call_soon(self._say_all)
        self._to_say.add(link)

    def _say_all(self) -> None:
        links, self._to_say = self._to_say, set()
        try:
            while links:
                link = links.pop()
                if not link.finished:
                    link.say()
                    self._driver.expect(link)
        finally:
            for link in links:  # a listener has ended the loop: the others go on if that goes on
                self.say_soon(link)

    def go_on_soon(self, link: Link) -> None:
        # A turn later than soon: what has come by the next turn of the loop is heard in that one, at its end.
        if not self._to_go_on:
            self._driver.loop.call_soon(self._driver.loop.call_soon, self._go_on)
        self._to_go_on.add(link)

    def _go_on(self) -> None:
        links, self._to_go_on = self._to_go_on, set()
        try:
            while links:
                links.pop().pump()  # also one that has ended: its last words may not have been heard to their end
        finally:
            for link in links:  # as above
                self.go_on_soon(link)

    def wake_at(self, at: float) -> None:
        if self._timer is None or at < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = self._driver.loop.call_later(max(0.0, at - self._clock()), self._ring)

    def post(self, work: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it everybody who waited
            self._driver.loop.call_soon_threadsafe(work)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self.tick(self._clock())


class AsyncFleet(FleetHandle["AsyncDuplexPlugin"]):
    """Plugins that live as long as they are needed, by way of `Host.fleet`.

    `fleet["name"]` is one of them. Leaving its `async with`, `close`, or closing the host ends every process.
    """

    def __init__(
        self,
        plan: FleetPlan,
        engine: Engine,
        driver: AsyncioDriver,
        forget: Callable[[AsyncFleet], None],
        host: object = None,
    ) -> None:
        self._host = host  # it ends its processes when nobody holds it any more: whoever holds us does
        self._ground = _LoopGround(driver, engine.clock)
        self._end = self._ground.waiters.end
        self._driver = driver
        self._loop = driver.loop
        self._engine = engine
        self._fleet = Fleet(plan, engine, self._ground)
        self._ground.tick = self._fleet.tick
        self._forget = forget
        self._closing: asyncio.Task[None] | None = None
        self.plugins: dict[str, AsyncDuplexPlugin] = {
            name: AsyncDuplexPlugin(self, member) for name, member in self._fleet.members.items()
        }
        self._fleet.begin()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def cli(
        self, namespace: str, argv: Sequence[str] = (), *, timeout: float | None = None
    ) -> CliDispatchResult:
        """Run a command of the plugin that has *namespace*. Raises like `AsyncDuplexPlugin.cli`."""
        owner = self._fleet.owner_of("namespace", namespace)
        return await self.plugins[owner.name].cli(namespace, argv, timeout=timeout)

    async def invoke(self, action: str, payload: bytes = b"", *, timeout: float | None = None) -> bytes:
        """Invoke *action* of the plugin that provides it. Raises like `AsyncDuplexPlugin.invoke`."""
        owner = self._fleet.owner_of("action", action)
        return await self.plugins[owner.name].invoke(action, payload, timeout=timeout)

    def publish(self, topic: str, payload: bytes) -> int:
        """Publish as the host, to every plugin that subscribes to *topic*. Returns the version.

        Raises LocalProtocolError if it cannot be kept, and HostClosed.
        """
        self._check_ours()
        return self._fleet.publish(topic, payload)

    def subscribe(self, topic: str | None, hearer: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Call *hearer* with every publish of *topic*, or of all if it is None. Returns how to end that.

        Who publishes in it, or in a signal's handler, has that heard at once: then a higher version may come before a
        lower one.
        """
        self._check_ours()
        return self._fleet.hear(topic, hearer)

    async def close(self) -> None:
        """End every process. Idempotent, from any task; bounded by the bindings' limits."""
        if self._engine.forked:
            return
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._fleet.close()
        for member in self._fleet.members.values():
            while (link := member.link) is not None:
                await self._driver.until(link, lambda link=link: link.finished)  # type: ignore[misc]
        self._ground.stop()
        self._forget(self)

    async def ask(self, member: Member, ask: Ask | None) -> Any:
        """Ask *member* and wait. Raises PluginFailure, RemoteError, LocalProtocolError and HostClosed."""
        ticket = self._ticket(ask)
        if not member.shortcut.say(ticket):
            self._fleet.ask_in_turn(member, ticket)
        try:
            await ticket.waiter
        except asyncio.CancelledError:
            member.forget(ticket)
            raise
        result = ticket.result
        return self._fleet.conclude(member, ticket) if result is NO_RESULT else result

    async def await_gone(self, member: Member, move: Callable[[Member, Ticket], None]) -> None:
        ticket = self._ticket(None)
        move(member, ticket)
        await ticket.waiter
        self._fleet.conclude(member, ticket)

    def reload(self, member: Member, ticket: Ticket) -> None:
        self._fleet.reload(member, ticket)

    def key(self, member: Member, screen_id: str, key: KeyEvent) -> bool:
        self._check_ours()
        return self._fleet.key(member, screen_id, key)

    def status(self, member: Member) -> Status:
        self._check_ours()
        return member.status

    def _check_ours(self) -> None:
        if self._engine.forked:
            raise HostClosed("this is a forked copy of the host: the plugins are its original's")

    def _ticket(self, ask: Ask | None) -> Ticket:
        loop = self._loop
        if self._engine.owner != getpid() or asyncio.get_running_loop() is not loop:
            self._check_ours()
            raise LocalProtocolError("this host belongs to another event loop")
        return Ticket(ask, self._end, by_result=True, waiter=Waiter(loop))


class AsyncDuplexPlugin(PluginHandle):
    """A plugin of a fleet. Its processes come and go; this stays."""

    def __init__(self, fleet: AsyncFleet, member: Member) -> None:
        super().__init__(member)
        self._fleet = fleet

    @property
    def status(self) -> Status:
        """How it is, now."""
        return self._fleet.status(self._member)

    async def start(self) -> Introduction:
        """Start it if it does not run, and return who it says it is. Raises PluginFailure."""
        await self._fleet.ask(self._member, None)
        return self._member.introduction

    async def render(self, width: int, height: int, *, timeout: float | None = None) -> RenderResult:
        """Return its screen at this size. Raises PluginFailure and RemoteError."""
        ask = contract.render(self.binding, width, height, timeout)
        result: RenderResult = await self._fleet.ask(self._member, ask)
        return result

    def key(self, screen_id: str, key: KeyEvent) -> bool:
        """Tell it of a key, before everything else that waits. Returns whether it will be told.

        False too if it reads so little that an older key was lost for this one.
        """
        return self._fleet.key(self._member, screen_id, key)

    async def cli(
        self, namespace: str, argv: Sequence[str] = (), *, timeout: float | None = None
    ) -> CliDispatchResult:
        """Run a command: what it wrote, byte for byte, and its exit code. Raises PluginFailure and RemoteError."""
        ask = contract.cli(self.binding, namespace, argv, timeout)
        result: CliDispatchResult = await self._fleet.ask(self._member, ask)
        return result

    async def invoke(self, action: str, payload: bytes = b"", *, timeout: float | None = None) -> bytes:
        """Invoke an action of it, and return what that returns. Raises PluginFailure and RemoteError."""
        result = await self._fleet.ask(self._member, contract.invoke(action, payload, timeout))
        payload_of: bytes = result.payload
        return payload_of

    async def call(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Call any method, and return its result. Raises PluginFailure and RemoteError."""
        return await self._fleet.ask(self._member, contract.call(self.binding, method, params, timeout))

    async def reload(self) -> None:
        """Read its manifest again, forget its failures, and start it anew if it ran. Raises ManifestError."""
        await self._fleet.await_gone(self._member, self._fleet.reload)

    async def stop(self) -> None:
        """Let its process go, and wait until it is gone. It is started again when it is next needed."""
        await self._fleet.await_gone(self._member, Member.stop)
