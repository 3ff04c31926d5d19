"""One plugin of a fleet, over all its processes: calls find one, wait for one, or learn why there is none.

Theory of operation. `Lifecycle` decides when a process is started and let go, the session of the process what is
said; a member joins the two and never waits. A call that finds no process waits here; the next process is given all
of them. A call whose process died is told so when the process is gone, because only then is it known how it died.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, assert_never

from ...capabilities.gates import Gates
from ...contracts.base import Fault
from ...contracts.duplex import host as contract
from ...contracts.duplex.introduction import Introduction
from ...contracts.duplex.lanes import Lane
from ...contracts.duplex.messages import HandleKeyParams
from ...contracts.duplex.news import Answered, Called, Dropped, Ignored, InitDone, News, Told, worth_telling
from ...contracts.duplex.session import DuplexSession
from ...contracts.duplex.states import State as Conversing
from ...errors import HostClosed, LocalProtocolError
from ...failures import FailureCode, PluginFailure
from ...manifest.duplex_binding import DuplexBinding
from ...messages.jsonrpc import ErrorResponse, Response
from ...supervision.lifecycle import Lifecycle
from ...supervision.states import Action, Actions, BeginShutdown, Refuse, RefuseReason, Spawn, State
from ..engine import BoundLink, Engine
from ..events import LaneDropped, Recovered, Unheard
from ..ground import Ground
from . import attention, misses, refusals, restarts, status
from .activity import Activity
from .early_keys import EarlyKeys
from .herald import Herald
from .pace import Pace
from .patience import Patience
from .shortcut import LOOK_S, Shortcut
from .status import Status
from .surroundings import Surroundings
from .ticket import Ticket

DuplexLink = BoundLink[DuplexSession]

RUNNING, CONVERSING = State.RUNNING, Conversing.RUNNING  # found in a fraction of the time, with every call


class Member:
    """A plugin. Everything here is for the one thread, or the one lock, under which the fleet works."""

    def __init__(
        self,
        binding: DuplexBinding,
        gates: Gates,
        engine: Engine,
        ground: Ground,
        fleet: Surroundings,
        config: Mapping[str, Any] | None,
    ) -> None:
        self.binding = binding
        self.gates = gates
        self.process = binding.process()
        self.lifecycle = Lifecycle(restarts.policy(binding), engine.clock())
        self.link: DuplexLink | None = None
        self.last_failure: PluginFailure | None = None
        self.patience = Patience()
        self.has_events = self.has_actions = False  # something may wait to be told to it, or to be asked
        self.starts = self.denied = self.feeding = 0  # the last is the fleet's
        self.ignored: Counter[str] = Counter()  # of processes that are gone, and by the services
        self.dropped: Counter[Lane] = Counter()  # of processes that are gone
        self._engine = engine
        self._ground = ground
        self._fleet = fleet
        self._config = config
        self.waiting: dict[Ticket, None] = {}  # for a process, or behind what it is told first
        self._calls: dict[int, Ticket] = {}  # by their ids in the process that was asked
        self.shortcut = Shortcut(self, self._calls, engine, ground)
        self._leaving: list[Ticket] = []  # want it gone
        self._doomed: list[tuple[Ticket, Fault, bool]] = []  # their process is on its way out
        self._keys = EarlyKeys(self)
        self.touched = engine.clock()  # when it was last used: the lifecycle is told when it asks
        self._activity = Activity()
        self.look_at = 0.0  # when to look at its input: at the latest, while calls are under way, or wait
        self._attending, self._pace = False, Pace(fleet.turns)
        self.herald = Herald(self, engine)

    @property
    def name(self) -> str:
        return self.binding.name

    @property
    def status(self) -> Status:
        """Return how it is, now."""
        return status.of(self, self._fleet.waiting(self), self._fleet.lost(self))

    @property
    def pending(self) -> int:
        """How many calls are not over."""
        waiting = sum(ticket.ask is not None for ticket in self.waiting)
        return waiting + len(self._calls) + sum(ticket.ask is not None for ticket, _, _ in self._doomed)

    @property
    def introduction(self) -> Introduction:
        """Who it says it is. Raises HostClosed if it has gone meanwhile."""
        if self.link is None or self.link.conversation.introduction is None:
            raise HostClosed(f"{self.name} is gone already")
        return self.link.conversation.introduction

    # What the host wants of it

    def rebind(self, binding: DuplexBinding, gates: Gates, config: Mapping[str, Any] | None) -> None:
        """Use *binding* for the next process: somebody has changed the plugin."""
        self.binding = binding
        self.gates = gates
        self.process = binding.process()
        self._config = config
        self.lifecycle.follow(restarts.policy(binding))

    def ask(self, ticket: Ticket) -> None:
        """Ask the plugin, or let the ticket wait for a process. It may be over before this returns."""
        if self.shortcut.say(ticket):
            return
        now, link = self._engine.clock(), self.link
        if link is not None and self.listens and self.lifecycle.state is RUNNING:
            if ticket.behind:
                self.waiting[ticket] = None
                ticket.wait_behind(now)
                self.look_soon(now)
                if ticket.given_up_at is not None:
                    self._ground.wake_at(ticket.given_up_at)
                return
            self._submit(link, ticket, now)
            if len(link.conversation.calls) > 1:
                self._ground.say_soon(link)
            else:
                link.say()
                self._ground.expect(link)
            return
        self.waiting[ticket] = None
        self._obey(self.lifecycle.wanted(now))

    def forget(self, ticket: Ticket) -> None:
        """Nobody waits for *ticket* any more."""
        ticket.is_over = True
        if ticket in self.waiting:
            del self.waiting[ticket]
            self._note_unwanted()
        if ticket.call_id is not None and self._calls.get(ticket.call_id) is ticket:
            del self._calls[ticket.call_id]
            if self.link is not None:
                self.link.conversation.forget(ticket.call_id)

    def key(self, params: HandleKeyParams) -> bool:
        """Tell the plugin of a key, before everything else that waits. Returns whether no key is lost."""
        now, link, most = self._engine.clock(), self.link, self.binding.limits.key_lane
        told = contract.told(self.binding, "plugin/handle_key", params)
        if link is not None and self.listens:
            self.touched, unread = now, link.conversation.lanes.waiting(Lane.KEY)
            will_be = link.conversation.tell(told, Lane.KEY) and unread < most
            link.pump()
            return will_be
        if self.lifecycle.closed or self.lifecycle.state is State.QUARANTINED:
            return False
        has_room = self._keys.put(told, most)
        self._obey(self.lifecycle.wanted(now))
        return has_room

    @property
    def listens(self) -> bool:
        """Whether there is a process that has answered init and was not told to end: the rest waits here for one."""
        return self.link is not None and self.link.conversation.state is CONVERSING

    @property
    def is_at_ease(self) -> bool:
        """Whether an answer is no more than an answer: nothing waits for it, and nothing is amiss."""
        return not (self.has_events or self._attending or self.patience.is_strained)

    def lose(self, lane: Lane) -> None:
        """Count a key or an event that no process will be told of."""
        self.dropped[lane] += 1
        if worth_telling(self.dropped[lane]):
            self.herald.tell(LaneDropped(lane.value, self.dropped[lane]))

    def speak(self, link: DuplexLink) -> None:
        """Let *link* write what its session has to say; what is heard just now may add to it first."""
        if not self._attending:
            link.pump()

    def look_soon(self, now: float) -> None:
        """Look whether it still has its input, in a while: else that is noticed only when something is written."""
        self.look_at = now + LOOK_S
        self._ground.wake_at(self.look_at)

    def touch(self) -> None:
        """It is in use."""
        self.touched = self._engine.clock()

    def want(self) -> None:
        """Something waits for the plugin: start it if it may be started."""
        self._obey(self.lifecycle.wanted(self._engine.clock()))

    def reload(self, ticket: Ticket) -> None:
        """Forget its failures, and start what ran anew. The ticket is over when the old process is gone."""
        was_quarantined = self.lifecycle.state is State.QUARANTINED
        self._leave(self.lifecycle.reload, ticket)
        if was_quarantined and self._fleet.awaits(self):  # what was published meanwhile
            self.want()

    def stop(self, ticket: Ticket) -> None:
        """Let its process go, and whoever waits for one; the ticket is over when it is gone."""
        waiting, self.waiting = self.waiting, {}
        self._keys.lose()
        self._leave(self.lifecycle.stop, ticket)
        for each in waiting:
            each.end(HostClosed(f"{self.name} was stopped"))

    def close(self) -> None:
        """Let its process go for good; whoever waits is refused."""
        self._obey(self.lifecycle.shutdown(self._engine.clock()))

    def tick(self, now: float) -> None:
        """It is *now*: do what is due."""
        if self.link is not None:
            self._activity.note(self, self.link, now)
        self._obey(self.lifecycle.tick(now))
        self._give_up_waiting(now)
        self.look_at = now + LOOK_S if self._calls or self.waiting else 0.0
        if self.link is not None and self.waiting and self.listens:  # behind what may be forgotten by now
            self._fleet.feed(self)
            self.speak(self.link)
        if self.link is not None and (self._calls or self.waiting):
            self.link.look_at_input()

    def next_deadline(self) -> float | None:
        look = self.look_at if self._calls or (self.waiting and self.link is not None) else None
        times = [self.lifecycle.next_deadline(), look]
        times += [ticket.given_up_at for ticket in tuple(self.waiting)]
        times += [ticket.until for ticket, _, _ in self._doomed]
        return min((at for at in times if at is not None), default=None)

    def _give_up_waiting(self, now: float) -> None:
        """Tell those whose time is up, whatever becomes of the plugin."""
        late = [each for each in tuple(self.waiting) if (at := each.given_up_at) is not None and at <= now]
        for ticket in late:
            del self.waiting[ticket]
            refusal = refusals.not_started(self.process, ticket.ask, self.lifecycle.state)
            ticket.end(self._engine.fail(refusal))
        if late:
            self._note_unwanted()
        for entry in tuple(self._doomed):
            ticket, fault, sent = entry
            if ticket.until is not None and ticket.until <= now and self.link is not None:
                self._doomed.remove(entry)
                ticket.end(self._failure(self.link, fault, sent=sent))

    def _note_unwanted(self) -> None:
        if not (self.waiting or self._keys or self._fleet.awaits(self)):
            self.lifecycle.unwanted()

    # Its processes

    def _leave(self, move: Callable[[float], Actions], ticket: Ticket) -> None:
        link = self.link
        if link is not None:
            self._leaving.append(ticket)
        self._obey(move(self._engine.clock()))
        if link is None:
            ticket.end(None)

    def _obey(self, actions: Actions) -> None:
        todo: deque[Action] = deque(actions)
        self.herald.note_state()
        while todo:
            match todo.popleft():
                case Spawn():
                    todo.extend(self._spawn())
                case BeginShutdown():
                    if self.link is not None:
                        self.link.conversation.shutdown(now=self._engine.clock())
                        self.link.pump()
                case Refuse(reason):
                    self._refuse(reason)
                case never:
                    assert_never(never)
            self.herald.note_state()
        due = self.next_deadline()
        if due is not None:
            self._ground.wake_at(due)

    def _spawn(self) -> Actions:
        self.starts += 1
        session = partial(DuplexSession, contract.terms(self.binding))
        try:
            link = self._engine.start(self.process, self._ground.watcher, session)
            link.conversation.begin(contract.init(self.binding, self._config, os.getpid()))
        except (PluginFailure, HostClosed) as failure:
            if isinstance(failure, PluginFailure):
                self.last_failure = failure
            waiting, self.waiting = self.waiting, {}
            actions = self.lifecycle.exec_failed(self._engine.clock())
            self.herald.note_state()
            self._keys.lose()
            for ticket in waiting:
                ticket.end(failure)
            awaits = self._fleet.awaits(self)
            return (*actions, *(self.lifecycle.wanted(self._engine.clock()) if awaits else ()))
        self.link, self.look_at = link, self._engine.clock() + LOOK_S
        actions = self.lifecycle.spawned(self._engine.clock())
        self._ground.adopt(link, attention.Attention(self, link))
        return actions

    def _begin(self, link: DuplexLink) -> None:
        """The plugin has answered init: what waited for that is for it now."""
        now = self._engine.clock()
        self.lifecycle.init_done(now)
        for ticket in tuple(self.waiting):
            ticket.wait_behind(now)
        link.shortcut, link.utter = self.shortcut.hear, self.shortcut.write_calls
        self._obey(())
        for key in self._keys.take():
            link.conversation.tell(key, Lane.KEY)
        for ticket in [each for each in self.waiting if not each.behind or not self.has_events]:
            self._admit(link, ticket)
        if self.has_events:
            self._fleet.feed(self)
        self._ground.expect(link)

    def admit(self, link: DuplexLink, coming: int | None) -> None:
        """Ask what waited for it that the version *coming* is told next, or None: all that was published is told."""
        while self.waiting and (coming is None or next(iter(self.waiting)).behind < coming):
            self._admit(link, next(iter(self.waiting)))

    def _admit(self, link: DuplexLink, ticket: Ticket) -> None:
        del self.waiting[ticket]
        self._submit(link, ticket, self._engine.clock())

    def _submit(self, link: DuplexLink, ticket: Ticket, now: float) -> None:
        self.touched = ticket.asked_at = now
        if ticket.ask is None:
            ticket.end(None)
            return
        left = ticket.ask.timeout_s if ticket.until is None else max(0.0, ticket.until - now)
        try:
            ticket.call_id = link.conversation.call(ticket.ask.method, ticket.ask.params, left, now=now)
        except LocalProtocolError as error:  # it does not fit a frame
            ticket.end(error)
        else:
            self._calls[ticket.call_id] = ticket
            if self.look_at < now:
                self.look_soon(now)

    def attend(self, link: DuplexLink) -> None:
        """Something has happened to *link*: hear what it has to say, and let it hear what waits."""
        if self._attending:  # from a write of ours: whoever attends goes on anyway
            return
        session = link.conversation
        if self._pace.gave_way_at:
            self._pace.go_on(self._engine.clock())
        if not (session.news or self.has_events or self.has_actions or link.finished or session.fault):
            return  # something was written, or half a frame has come
        self._attending, until = True, 0.0
        try:
            while True:
                while (news := session.next_news()) is not None:
                    self._hear(link, news)
                if self.has_events or self.has_actions:
                    self._fleet.feed(self)
                if not session.has_to_say:
                    if until:
                        self._pace.end(self._engine.clock())
                    break
                now = self._engine.clock()
                # Whoever asked us stands still for the answer: that is not put off.
                until = until or self._pace.begin(now, 0 if session.lanes.replies else link.just_written)
                if now < until:
                    link.pump()
                    now = self._engine.clock()
                if now >= until:  # it reads as fast as we write
                    self._pace.give_way(now)
                    self._ground.go_on_soon(link)
                    break
        except BaseException:  # an application's function wants to exit: the rest is still to be heard
            self._ground.go_on_soon(link)
            raise
        finally:
            self._attending, link.just_written = False, 0
        if link is not self.link:
            return
        if link.finished:
            self._bury(link)
        elif session.fault is not None and self.lifecycle.state is State.SPAWNING:
            self._doom_waiting(session.fault)
            self._obey(self.lifecycle.init_failed(self._engine.clock()))

    def _doom_waiting(self, fault: Fault) -> None:
        """Whoever waits for an init shares its fate; they are told when the process is gone."""
        self._keys.lose()
        self._doomed += [(ticket, fault, False) for ticket in self.waiting]
        self.waiting = {}

    def _hear(self, link: DuplexLink, news: News) -> None:
        if type(news) is Answered:
            self._hear_answer(link, news)
            return
        match news:
            case Called() | Told():
                if not isinstance(news, Told) or news.method != "host/log":
                    self.touch()
                self._fleet.serve(self, link, news)
            case InitDone():
                self._begin(link)
            case Ignored(reason, detail, count):
                self.herald.tell(Unheard(reason.value, detail, count))
            case Dropped(lane, count):
                self.herald.tell(LaneDropped(lane.value, count))
            case never:
                assert_never(never)

    def _hear_answer(self, link: DuplexLink, news: Answered) -> None:
        ticket = self._calls.pop(news.call_id, None)
        if ticket is None or ticket.ask is None:
            return
        if type(news.outcome) is Response:
            if self.patience.is_strained:
                self._note_answer()
            ticket.end(news.outcome.result)
            return
        match news.outcome:
            case ErrorResponse():
                self._note_answer()
                ticket.end(news.outcome)
            case Fault() as fault:
                if link.conversation.fault is not None or fault.code is FailureCode.CRASHED:
                    self._doomed.append((ticket, fault, news.sent))
                    if ticket.until is not None:
                        self._ground.wake_at(ticket.until)
                    return
                if fault.code is FailureCode.TIMEOUT:
                    fault = contract.timed_out(fault, ticket.ask)
                    misses.note(self, link, ticket, self._calls.values(), self._engine.clock())
                ticket.end(self._engine.fail(self._failure(link, fault, sent=news.sent)))
            case never:
                assert_never(never)

    def _note_answer(self) -> None:
        if self.patience.answered():
            self.herald.tell(Recovered())

    def _bury(self, link: DuplexLink) -> None:
        """The process is gone: whoever waited for it learns how it ended, and the lifecycle goes on."""
        session, self.link, self._activity = link.conversation, None, Activity()
        self.patience.answered()  # the next process has all of it
        self.dropped.update(session.dropped)
        self.ignored.update({reason.value: count for reason, count in session.ignored.items()})
        self._engine.finish(link)
        self._fleet.left(self)
        for ticket in self.waiting:
            ticket.read_by = None
        if session.fault is not None and self.lifecycle.state is State.SPAWNING:
            self._doom_waiting(session.fault)
        try:
            if session.fault is not None:
                self.last_failure = self._failure(link, session.fault, sent=False)
                self._engine.fail(self.last_failure)
        finally:  # whatever a listener does, the next process is not kept from starting, and whoever waits is told
            self._go_on_without(link)

    def _go_on_without(self, link: DuplexLink) -> None:
        fault, let_go = link.conversation.fault, link.conversation.state is Conversing.CLOSED
        doomed, self._doomed, gone, self._leaving = self._doomed, [], self._leaving, []
        assert link.exit_status is not None
        try:
            self._obey(self.lifecycle.exited(self._engine.clock(), link.exit_status, during_shutdown=let_go))
            if self.waiting or self._keys or (fault is not None and self._fleet.awaits(self)):
                self.want()
        finally:
            stopped = HostClosed(f"{self.name} was {'closed' if self.lifecycle.closed else 'stopped'}")
            for ticket, its, sent in doomed:
                ticket.end(stopped if let_go else self._failure(link, its, sent=sent))
            for ticket in gone:
                ticket.end(None)

    def malformed(self, ticket: Ticket, problem: Exception) -> PluginFailure:
        """Return the failure of an answer that is not what the method returns."""
        fault = refusals.malformed(ticket.ask, problem)
        if self.link is None:
            return self._engine.fail(refusals.of_one_gone(self.process, fault))
        return self._engine.fail(self._failure(self.link, fault, sent=True))

    def _failure(self, link: DuplexLink, fault: Fault, *, sent: bool) -> PluginFailure:
        return contract.failure(link.binding, link.conversation, fault, link.evidence(), sent=sent)

    def _refuse(self, reason: RefuseReason) -> None:
        waiting, self.waiting = self.waiting, {}
        self._keys.lose()
        for ticket in waiting:
            ticket.end(refusals.refused(self, reason))
