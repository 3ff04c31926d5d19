"""One worker of a console: its process, its session, what it was given and what became of it. Never waits."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGINT
from typing import assert_never

from ...contracts.base import Evidence
from ...contracts.sideband.items import Item, Notice, Omitted
from ...contracts.sideband.news import (
    Completed,
    Gone,
    Ignored,
    InterruptTold,
    News,
    Ready,
    SignalWanted,
    Waiting,
)
from ...contracts.sideband.output import TOKEN_DIGITS
from ...contracts.sideband.session import SidebandSession
from ...contracts.sideband.states import BUSY, OPEN, State
from ...failures import PluginFailure
from ..engine import BoundLink
from ..events import Unheard, What
from .reply import Interruption, ReplyState
from .spool import Spool

INTERRUPTS = 64  # that a worker may owe an answer to; more are asked for by nobody who reads the answers

_MARK = re.compile(rf"\\x1e[0-9a-f]{{{TOKEN_DIGITS}}}\\x1e")  # as it is spelled in what can be printed
SETTLED = (State.IDLE, State.WAITING)

WorkerLink = BoundLink[SidebandSession]


@dataclass(slots=True)
class Request:
    """What a worker was given to run. *ended* is when it was over, on the host's clock."""

    id: int
    began: float
    ended: float | None = None
    error: bool = False

    def elapsed_ms(self, now: float) -> float:
        """Return how long it took, or has taken so far."""
        return round(((now if self.ended is None else self.ended) - self.began) * 1000, 3)


@dataclass(slots=True)
class Signal:
    """An interrupt that somebody waits for. *outcome* is None until the worker has said."""

    outcome: Interruption | None = None


class Worker:
    """A process of a console, from its start to its end: the *number*-th."""

    def __init__(self, number: int, spool: Spool) -> None:
        self.number = number
        self.link: WorkerLink  # both once it is started
        self.session: SidebandSession
        self.request: Request | None = None  # the latest, until a reply was given about its end
        self.gone: Gone | None = None
        self.failure: PluginFailure | None = None
        self.was_ready = False
        self.asked_to_end = False
        self._signals: deque[Signal] = deque(maxlen=INTERRUPTS)
        self._spool = spool

    def join(self, link: WorkerLink) -> None:
        """Be the one that *link* leads to."""
        self.link, self.session = link, link.conversation

    @property
    def is_settled(self) -> bool:
        """Whether it has nothing to do unless it is given something: it is ready for code, or waits for stdin."""
        return self.session.state in SETTLED

    @property
    def is_usable(self) -> bool:
        """Whether it has introduced itself, and has not begun to end."""
        return self.session.state in OPEN

    @property
    def state(self) -> ReplyState:
        """How it is, for whoever uses the console."""
        match self.session.state:
            case State.IDLE:
                return ReplyState.READY
            case State.WAITING:
                return ReplyState.WAITING
            case State.ENDED | State.FAILED:
                return ReplyState.ENDED
            case _:
                return ReplyState.RUNNING

    # What the console does

    def run(self, text: str, request_id: int, now: float) -> None:
        """Give it *text*. Raises LocalProtocolError, and nothing is sent, unless the session takes code."""
        self.session.note_time(now)
        self.session.run(text, request_id)
        self.request = Request(request_id, now)

    def interrupt(self) -> Signal:
        """Stop what runs. Raises LocalProtocolError if it cannot be: it begins, or ends."""
        runs = self.session.state in BUSY
        signal = Signal()
        self.session.interrupt()
        self._signals.append(signal)
        self.link.pump()
        if runs and self.knows_ids:
            # Its own signal would not reach the programs that its code has started and waits for.
            self.link.process.send_signal(SIGINT)
        return signal

    def end(self) -> None:
        """Tell it to go. Idempotent; the ladder bounds it."""
        self.asked_to_end = True
        self.session.end()
        self.link.pump()

    def take(self) -> tuple[tuple[Item, ...], Path | None]:
        """Return what it has shown since the last time, and the file with all of it, if that is more."""
        items = self.session.take()
        if not self.session.timeline.spooled:
            return items, None
        self._spool.flush()
        if self._spool.path is None:
            items = tuple(
                replace(item, spooled=False) if isinstance(item, Omitted) else item for item in items
            )
        problem, self._spool.problem = self._spool.problem, None
        if problem is not None:
            items = (*items, Notice(problem, None))
        return items, self._spool.path

    def spool(self, data: bytes) -> None:
        """Keep text of an output that is larger than a reply."""
        if self.session.timeline.spooled == len(data):
            self._spool.begin()
        self._spool.write(data)

    def evidence(self) -> Evidence:
        """Return what is known about its process, for the autopsy: without marks, which say nothing to anybody."""
        found = self.link.evidence()
        return replace(found, stderr_tail=_MARK.sub("", found.stderr_tail))

    # What happens to it

    def hear(self, now: float) -> list[What]:
        """Take in what the session has to say. Returns what everybody is to be told."""
        told: list[What] = []
        while (news := self.session.next_news()) is not None:
            self._hear(news, now, told)
        return told

    def _hear(self, news: News, now: float, told: list[What]) -> None:
        match news:
            case Ready():
                self.was_ready = True
            case Waiting():
                pass
            case Completed(request_id, _, finished, error):
                if self.request is not None and self.request.id == request_id:
                    self.request.ended = now
                    self.request.error = error or not finished or self.asked_to_end
            case InterruptTold(_, outcome):
                if self._signals:
                    self._signals.popleft().outcome = Interruption(outcome.value)
            case SignalWanted():
                self.link.process.send_signal(SIGINT)
            case Ignored(reason, detail, count):
                told.append(Unheard(reason.value, detail, count))
            case Gone():
                self.gone = news
                while self._signals:
                    self._signals.popleft().outcome = Interruption.ENDED
            case never:
                assert_never(never)

    @property
    def knows_ids(self) -> bool:
        backend = self.session.backend
        return backend is not None and backend.plughost.request_ids
