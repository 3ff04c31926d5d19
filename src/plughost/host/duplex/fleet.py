"""The `duplex` plugins of a host as one: who is asked for what, who is told what, and when. Never waits.

A fleet belongs to a `Ground`, which watches its processes and tells it the time: an event loop, or whichever thread
waits for an answer. Plugins know each other only through here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...capabilities.gates import Refusal
from ...contracts.duplex import host as contract
from ...contracts.duplex.keys import KeyEvent
from ...contracts.duplex.lanes import Lane
from ...contracts.duplex.messages import HandleEventParams
from ...contracts.duplex.news import Called, Told
from ...contracts.duplex.parcel import Parcel, parcel
from ...errors import HostClosed, LocalProtocolError, ManifestError, RemoteProtocolError
from ...manifest import duplex_config, duplex_registry
from ...manifest.duplex_binding import DuplexBinding
from ...manifest.duplex_routes import Routes, route
from ...messages import jsonrpc
from ...messages.jsonrpc import ErrorResponse
from ...messages.quoting import listed, quote
from ...supervision.states import State
from ..engine import Engine
from ..events import Denied, Event, LaneDropped, Published
from ..ground import Ground
from .deliveries import Snapshot
from .errands import Errands
from .member import DuplexLink, Member
from .misses import RENDER
from .options import FleetPlan
from .pace import Turns
from .services import Services, Surface
from .snapshots import HOST, Snapshots
from .ticket import NO_RESULT, Ticket
from .timers import Timers

# How much is handed to a process before it has read it; the rest waits where newer ones replace it, and where all who
# wait for the same share it.
AHEAD = 8  # events
AHEAD_BYTES = 12_288  # one chunk as the SDK cuts them
ONCE, AGAIN = 1, 2  # a member is being fed, and more has come meanwhile

Hearer = Callable[[Snapshot], None]


class Fleet:
    """The plugins of a plan, on a ground."""

    def __init__(self, plan: FleetPlan, engine: Engine, ground: Ground) -> None:
        self.plan = plan
        self.snapshots = Snapshots()
        self.turns = Turns()
        self.members: dict[str, Member] = {}
        self.rejected = list(plan.rejected)
        self.closed = False
        self._engine = engine
        self._ground = ground
        self._errands = Errands(ground.post)
        self._keys = 0
        self._lost: dict[str, int] = {}  # deliveries of each plugin that everybody was told of
        self._hearers: list[tuple[str | None, Hearer]] = []
        self._encoded: tuple[int, Parcel | None] = (
            0,
            None,
        )  # the last publish, as the plugins are told of it
        self._timers = Timers()
        self._services = Services(
            Surface(
                snapshots=self.snapshots,
                errands=self._errands,
                owner=self.owner,
                ask=self.ask,
                go_on_soon=ground.go_on_soon,
                publish=self._publish,
                after=self._after,
                actions=plan.actions,
                log_level=plan.log_level,
            )
        )
        for binding in plan.bindings:
            self._add(binding)
        self.routes = self._route()

    def _add(self, binding: DuplexBinding) -> None:
        try:
            config = self._config(binding)
        except ManifestError as error:
            self.rejected.append(duplex_registry.Rejection(binding.name, binding.manifest.directory, error))
            return
        gates = self.plan.gates(binding)
        self.members[binding.name] = Member(binding, gates, self._engine, self._ground, self, config)
        self._declare(self.members[binding.name])

    def _config(self, binding: DuplexBinding) -> dict[str, Any] | None:
        config = duplex_config.resolve(binding.manifest, self.plan.config.get(binding.name))
        contract.check_config(binding, config)
        return config

    def _declare(self, member: Member) -> None:
        said = member.binding.manifest.subscribes
        allowed = [topic for topic in said.snapshots if member.gates.topic(topic) is None]
        if member.binding.unheard:
            told = f"capability denied: event_bus, so it is never told of {listed(member.binding.unheard)}"
            member.herald.tell(Denied("subscribes.snapshots", told, 1))
        self.snapshots.declare(
            member.name,
            allowed,
            latest_state=said.latest_state,
            may=lambda topic: member.gates.topic(topic) is None,
        )

    def _route(self) -> Routes:
        return route(member.binding.manifest for member in self.members.values())

    # What the application wants

    def begin(self) -> None:
        """Start what starts with the host."""
        self.tick(self._engine.clock())

    def member(self, name: str) -> Member:
        """Return the plugin *name*. Raises LocalProtocolError if there is none."""
        found = self.members.get(name)
        if found is None:
            raise LocalProtocolError(f"the fleet has no plugin {name!r}: it has {listed(list(self.members))}")
        return found

    def owner(self, action: str) -> Member | None:
        """Return whose *action* it is, or None if it is nobody's or several claim it."""
        name = self.routes.actions.get(action)
        return None if name is None else self.members[name]

    def owner_of(self, kind: str, word: str) -> Member:
        """Return who is asked for *word*: a namespace, an action or a screen. Raises LocalProtocolError if nobody."""
        table = {
            "namespace": self.routes.namespaces,
            "action": self.routes.actions,
            "screen": self.routes.screens,
        }
        name = table[kind].get(contract.text(word, f"the name of a {kind}"))
        if name is not None:
            return self.members[name]
        for conflict in self.routes.conflicts:
            if (conflict.kind, conflict.word) == (kind, word):
                raise LocalProtocolError(f"the {kind} {quote(word)} is claimed by {listed(conflict.plugins)}")
        raise LocalProtocolError(
            f"no plugin has the {kind} {quote(word)}; there are: {listed(list(table[kind])) or 'none'}"
        )

    def ask_in_turn(self, member: Member, ticket: Ticket) -> None:
        """Like `ask`, when *member* was told all that was published so far. A screen is drawn as it is before that."""
        if member.has_events and ticket.ask is not None and ticket.ask.method != RENDER:
            is_first = not (self.waiting(member) or member.waiting)
            ticket.behind = 0 if is_first else self.snapshots.version
        self.ask(member, ticket)

    def ask(self, member: Member, ticket: Ticket) -> None:
        """Ask *member*; the ticket is told when it is over, perhaps at once."""
        if self.closed:
            ticket.end(HostClosed(f"{member.name} is closed"))
            return
        ask = ticket.ask
        if ask is not None and ask.in_all and ask.timeout_s is not None:
            ticket.until = self._engine.clock() + ask.timeout_s
        member.ask(ticket)

    def conclude(self, member: Member, ticket: Ticket) -> Any:
        """Return what a ticket that is over brought.

        Raises PluginFailure, RemoteError, LocalProtocolError and HostClosed.
        """
        if ticket.result is not NO_RESULT:
            return ticket.result
        outcome, ask = ticket.outcome, ticket.ask
        if outcome is None or ask is None:
            if isinstance(outcome, Exception):
                raise outcome
            return None
        if isinstance(outcome, ErrorResponse):
            raise contract.remote_error(member.name, outcome)
        if isinstance(outcome, Exception):
            raise outcome
        try:
            return contract.answer(ask, outcome)
        except RemoteProtocolError as error:
            raise member.malformed(ticket, error) from error

    def key(self, member: Member, screen_id: str, key: KeyEvent) -> bool:
        """Tell *member* of a key; returns whether it will be told. Raises LocalProtocolError if that is no key."""
        params = contract.key(screen_id, key, self._keys)
        if self.closed:
            return False
        self._keys += 1
        return member.key(params)

    def publish(self, topic: str, payload: bytes) -> int:
        """Publish as the host. Returns the version. Raises LocalProtocolError if it cannot be kept, and HostClosed."""
        topic, payload = contract.text(topic, "a topic"), contract.octets(payload)
        if self.closed:
            raise HostClosed("the fleet is closed")
        came = self._spread(HOST, topic, payload)
        if isinstance(came, Refusal):
            raise LocalProtocolError(f"{quote(topic)} cannot be published: {came.message}")
        return came

    def hear(self, topic: str | None, hearer: Hearer) -> Callable[[], None]:
        """Call *hearer* with every publish of *topic*, or of all; returns how to end that. Raises as `publish` does."""
        if topic is not None:
            contract.text(topic, "a topic")
        if not callable(hearer):
            raise LocalProtocolError(f"who hears a topic is a function, not {type(hearer).__name__}")
        if self.closed:
            raise HostClosed("the fleet is closed")
        entry = (topic, hearer)
        self._hearers.append(entry)

        def end() -> None:
            if entry in self._hearers:
                self._hearers.remove(entry)

        return end

    def reload(self, member: Member, ticket: Ticket) -> None:
        """Read the plugin's manifest again, forget its failures, start what ran anew. Raises ManifestError."""
        directory = member.binding.manifest.directory
        if self.closed:
            ticket.end(HostClosed(f"{member.name} is closed"))
            return
        # One that was bound in code stays as it is: what was taken away there is written nowhere else.
        if member.name not in self.plan.bound:
            binding = duplex_registry.load(directory, self.plan.narrowings)
            config = self._config(binding)
            member.rebind(binding, self.plan.gates(binding), config)
            self._declare(member)
            self.routes = self._route()
        member.reload(ticket)

    def close(self) -> None:
        """Let every process go. They are gone when it `is_over`."""
        self.closed = True
        self._errands.close()
        self._timers.clear()
        for member in self.members.values():
            member.close()

    @property
    def is_over(self) -> bool:
        """Whether it is closed and no process is left."""
        return self.closed and all(member.link is None for member in self.members.values())

    # Time

    def tick(self, now: float) -> None:
        """It is *now*: do what is due, and say when to be told again."""
        self._timers.pass_to(now)
        for member in tuple(self.members.values()):
            due = member.next_deadline()
            if due is not None and due <= now:
                member.tick(now)
        due = self.next_deadline()
        if due is not None:
            self._ground.wake_at(due)

    def next_deadline(self) -> float | None:
        times = [at for member in self.members.values() if (at := member.next_deadline()) is not None]
        if (at := self._timers.next_deadline()) is not None:
            times.append(at)
        return min(times, default=None)

    def _after(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        at = self._engine.clock() + seconds
        self._ground.wake_at(at)
        return self._timers.add(at, work)

    # What members need

    def serve(self, member: Member, link: DuplexLink, news: Called | Told) -> None:
        self._services.serve(member, link, news)

    def feed(self, member: Member) -> None:
        """Hand *member* what other plugins ask of it, and what was published for it, as far as it reads.

        A signal's handler that publishes in the middle of this leaves it to us: what was taken already goes first.
        """
        if member.has_actions:
            self._services.go_on(member)
        if member.feeding:
            member.feeding = AGAIN
            return
        again = True
        while again:
            member.feeding = ONCE
            try:
                self._feed(member)
            finally:
                again, member.feeding = member.feeding == AGAIN, 0
            member.has_events |= again

    def _feed(self, member: Member) -> None:
        link = member.link
        if link is None or not member.listens:
            return  # what is taken now would be lost: it is for the next process
        session = link.conversation
        while not session.lanes.is_fed(AHEAD, AHEAD_BYTES):
            snapshot = self.snapshots.take(member.name)
            member.admit(link, None if snapshot is None else snapshot.version)
            if snapshot is None:
                member.has_events = False
                return
            try:
                session.tell(self._told(snapshot))
            except LocalProtocolError:  # more than this plugin is to be told at once
                member.lose(Lane.EVENT)
            if snapshot.topic not in member.binding.manifest.subscribes.latest_state:
                member.touch()

    def lost(self, member: Member) -> int:
        return self.snapshots.tally(member.name).dropped

    def waiting(self, member: Member) -> int:
        return self.snapshots.waiting(member.name)

    def left(self, member: Member) -> None:
        self.snapshots.left(member.name)
        self._errands.forget((member.name, member.starts))
        self._services.left(member)

    def awaits(self, member: Member) -> bool:
        if self.closed or not self.plan.spawn_for_events or member.lifecycle.state is State.QUARANTINED:
            return False
        return self.snapshots.waiting(member.name) > 0

    # Publishing

    def _publish(self, member: Member, topic: str, payload: bytes) -> Refusal | None:
        came = self._spread(member.name, topic, payload)
        return came if isinstance(came, Refusal) else None

    def _spread(self, publisher: str, topic: str, payload: bytes) -> int | Refusal:
        came = self.snapshots.publish(publisher, topic, payload)
        if isinstance(came, Refusal):
            return came
        if not self._engine.bus.quiet:
            what = Published(topic, came.version, len(payload), came.subscribers)
            self._engine.bus.publish(Event(publisher, None, self._engine.clock(), what))
        for name in came.subscribers:
            self._deliver(self.members[name])
        if self._hearers:
            self._tell_hearers(came.snapshot)
        return came.version

    def _deliver(self, member: Member) -> None:
        member.has_events = True
        self._tell_lost(member)
        if member.link is not None and member.listens:
            self.feed(member)
            if member.link.conversation.has_to_say:
                member.link.pump()
        elif self.awaits(member):
            member.want()

    def _tell_lost(self, member: Member) -> None:
        """Tell of what too much was waiting for, as rarely as of everything that is lost."""
        lost, told = self.lost(member), self._lost.get(member.name, 0)
        if lost.bit_length() > told.bit_length():  # a power of two was reached: perhaps by several at once
            self._lost[member.name] = lost
            member.herald.tell(LaneDropped(Lane.EVENT.value, lost))

    def _told(self, snapshot: Snapshot) -> Parcel:
        version, told = self._encoded
        if told is None or version != snapshot.version:
            params = HandleEventParams(snapshot.topic, snapshot.payload)
            told = parcel(jsonrpc.encode_notification("plugin/handle_event", params))
            self._encoded = (snapshot.version, told)
        return told

    def _tell_hearers(self, snapshot: Snapshot) -> None:
        for entry in tuple(self._hearers):
            topic, hearer = entry
            if topic is None or topic == snapshot.topic:
                try:
                    hearer(snapshot)
                except Exception as error:  # an application's function must not harm a plugin
                    if entry in self._hearers:
                        self._hearers.remove(entry)
                    sys.excepthook(type(error), error, error.__traceback__)
