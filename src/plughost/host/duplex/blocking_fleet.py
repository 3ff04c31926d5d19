"""A fleet of `duplex` plugins for code without a loop: `plughost.blocking.Host.fleet` and its plugins.

From any thread. Whoever waits works; see `crowd` for who does when nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import getpid
from typing import Any, NoReturn, Self

from ...contracts.base import Rung
from ...contracts.duplex import host as contract
from ...contracts.duplex.host import Ask
from ...contracts.duplex.introduction import Introduction
from ...contracts.duplex.keys import KeyEvent
from ...contracts.duplex.messages import CliDispatchResult, RenderResult
from ...errors import HostClosed, LocalProtocolError
from ..crowd import Crowd
from ..deferral import Deferral
from ..engine import Engine
from .deliveries import Snapshot
from .fleet import Fleet
from .handle import FleetHandle, PluginHandle
from .member import Member
from .options import FleetPlan
from .status import Status
from .ticket import NO_RESULT, Ticket


class BlockingFleet(FleetHandle["BlockingDuplexPlugin"]):
    """Plugins that live as long as they are needed, by way of `Host.fleet`.

    `fleet["name"]` is one of them. Leaving its `with`, `close`, or closing the host ends every process.
    """

    def __init__(
        self,
        plan: FleetPlan,
        engine: Engine,
        forget: Callable[[BlockingFleet], None],
        host: object = None,
    ) -> None:
        self._host = host  # it ends its processes when nobody holds it any more: whoever holds us does
        self._engine = engine
        self._crowd = Crowd(engine.clock, lambda: engine.closed and not engine.links)
        self._forget = forget
        with self._crowd.guard:
            self._fleet = Fleet(plan, engine, self._crowd)
            self._crowd.tick = self._fleet.tick
            self.plugins: dict[str, BlockingDuplexPlugin] = {
                name: BlockingDuplexPlugin(self, member) for name, member in self._fleet.members.items()
            }
            self._fleet.begin()
        self._crowd.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cli(
        self, namespace: str, argv: Sequence[str] = (), *, timeout: float | None = None
    ) -> CliDispatchResult:
        """Run a command of the plugin that has *namespace*. Raises like `BlockingDuplexPlugin.cli`."""
        owner = self._fleet.owner_of("namespace", namespace)
        return self.plugins[owner.name].cli(namespace, argv, timeout=timeout)

    def invoke(self, action: str, payload: bytes = b"", *, timeout: float | None = None) -> bytes:
        """Invoke *action* of the plugin that provides it. Raises like `BlockingDuplexPlugin.invoke`."""
        owner = self._fleet.owner_of("action", action)
        return self.plugins[owner.name].invoke(action, payload, timeout=timeout)

    def publish(self, topic: str, payload: bytes) -> int:
        """Publish as the host, to every plugin that subscribes to *topic*. Returns the version.

        Raises LocalProtocolError if it cannot be kept, and HostClosed.
        """
        self._check_ours()
        self._crowd.want()
        with Deferral(self._crowd.look), self._crowd.guard:
            self._crowd.turn.has_come()
            return self._fleet.publish(topic, payload)

    def subscribe(self, topic: str | None, hearer: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Call *hearer* with every publish of *topic*, or of all if it is None. Returns how to end that.

        It is called on the thread that happens to work, and must not wait for a plugin. Who publishes in it, or in a
        signal's handler, has that heard at once: then a higher version may come before a lower one.
        """
        self._check_ours()
        self._crowd.want()
        with self._crowd.guard:
            self._crowd.turn.has_come()
            return self._fleet.hear(topic, hearer)

    def close(self) -> None:
        """End every process. Idempotent, from any thread; bounded by the bindings' limits."""
        if self._engine.forked:
            return
        if self._crowd.is_working_here():  # by a callback, or a handler: the work that it interrupted goes on
            self._fleet.close()
            self.abort()
            return
        with Deferral(self._crowd.look) as deferral:
            self._crowd.want()
            with self._crowd.guard:
                self._crowd.turn.has_come()
                self._fleet.close()
                self._crowd.wait(self._fleet, deferral)
                if not self._fleet.is_over:  # Ctrl-C: whoever pressed it does not want to wait
                    self.abort()
                    self._crowd.wait(self._fleet)
            self._crowd.end()
            self._forget(self)

    def abort(self) -> None:
        """End every process at once: the thread that works on them notices, and does the rest."""
        self._crowd.want()
        with self._crowd.guard:
            self._crowd.turn.has_come()
            for member in self._fleet.members.values():
                if member.link is not None:
                    member.link.end(Rung.KILL)

    def ask(
        self, member: Member, ask: Ask | None, begin: Callable[[Member, Ticket], None] | None = None
    ) -> Any:
        """Ask *member*, or *begin* something else, and wait until it is over.

        Raises PluginFailure, RemoteError, LocalProtocolError and HostClosed.
        """
        crowd, ticket = self._crowd, Ticket(ask, by_result=True)
        if self._engine.owner != getpid() or crowd.is_working_here():
            self._refuse_to_wait()
        # Ctrl-C must not come between a write and its being noted: it waits until nothing is half done.
        if crowd.leader is not None:  # which `want` asks too: a call that nobody hinders is spared that one
            crowd.want()
        with Deferral(crowd.look) as deferral, crowd.guard:
            crowd.turn.has_come()
            if begin is not None:
                begin(member, ticket)
            elif not member.shortcut.say(ticket):
                self._fleet.ask_in_turn(member, ticket)
            try:
                crowd.wait(ticket, deferral)
                if deferral.is_pending:
                    crowd.wait_deferring(ticket, deferral)
            except BaseException:
                member.forget(ticket)
                raise
            result = ticket.result
            return self._fleet.conclude(member, ticket) if result is NO_RESULT else result

    def _check_ours(self) -> None:
        if self._engine.forked:  # before the guard is taken: perhaps a thread held it that is not here
            raise HostClosed("this is a forked copy of the host: the plugins are its original's")

    def _refuse_to_wait(self) -> NoReturn:
        self._check_ours()
        raise LocalProtocolError("a callback of the host may not wait for a plugin: do it on another thread")

    def reload(self, member: Member, ticket: Ticket) -> None:
        self._fleet.reload(member, ticket)

    def key(self, member: Member, screen_id: str, key: KeyEvent) -> bool:
        self._check_ours()
        self._crowd.want()
        with Deferral(self._crowd.look), self._crowd.guard:
            self._crowd.turn.has_come()
            return self._fleet.key(member, screen_id, key)

    def status(self, member: Member) -> Status:
        self._check_ours()
        self._crowd.want()
        with self._crowd.guard:
            self._crowd.turn.has_come()
            return member.status


class BlockingDuplexPlugin(PluginHandle):
    """A plugin of a fleet. Its processes come and go; this stays."""

    def __init__(self, fleet: BlockingFleet, member: Member) -> None:
        super().__init__(member)
        self._fleet = fleet

    @property
    def status(self) -> Status:
        """How it is, now."""
        return self._fleet.status(self._member)

    def start(self) -> Introduction:
        """Start it if it does not run, and return who it says it is. Raises PluginFailure."""
        self._fleet.ask(self._member, None)
        return self._member.introduction

    def render(self, width: int, height: int, *, timeout: float | None = None) -> RenderResult:
        """Return its screen at this size. Raises PluginFailure and RemoteError."""
        result: RenderResult = self._fleet.ask(
            self._member, contract.render(self.binding, width, height, timeout)
        )
        return result

    def key(self, screen_id: str, key: KeyEvent) -> bool:
        """Tell it of a key, before everything else that waits. Returns whether it will be told.

        False too if it reads so little that an older key was lost for this one.
        """
        return self._fleet.key(self._member, screen_id, key)

    def cli(
        self, namespace: str, argv: Sequence[str] = (), *, timeout: float | None = None
    ) -> CliDispatchResult:
        """Run a command: what it wrote, byte for byte, and its exit code. Raises PluginFailure and RemoteError."""
        ask = contract.cli(self.binding, namespace, argv, timeout)
        result: CliDispatchResult = self._fleet.ask(self._member, ask)
        return result

    def invoke(self, action: str, payload: bytes = b"", *, timeout: float | None = None) -> bytes:
        """Invoke an action of it, and return what that returns. Raises PluginFailure and RemoteError."""
        result = self._fleet.ask(self._member, contract.invoke(action, payload, timeout))
        payload_of: bytes = result.payload
        return payload_of

    def call(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Call any method, and return its result. Raises PluginFailure and RemoteError."""
        return self._fleet.ask(self._member, contract.call(self.binding, method, params, timeout))

    def reload(self) -> None:
        """Read its manifest again, forget its failures, and start it anew if it ran. Raises ManifestError."""
        self._fleet.ask(self._member, None, self._fleet.reload)

    def stop(self) -> None:
        """Let its process go, and wait until it is gone. It is started again when it is next needed."""
        self._fleet.ask(self._member, None, Member.stop)
