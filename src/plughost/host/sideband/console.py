"""A console: code to replies, over one worker after the other. Says what to wait for; waits for nothing.

Theory of operation. Each verb is a generator that yields what has to be waited for, so that an event loop and a thread
drive the same code. One worker runs at a time. When it is gone, what it had shown and a remark on its end are kept for
the next reply, and the next run starts another: generations are numbered, requests go on counting. At most one caller
waits for a reply. It is made at the moment in which the worker comes to rest or is gone, not when the caller wakes up:
by then another might be running.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...contracts.sideband import host as contract
from ...contracts.sideband.items import Notice
from ...contracts.sideband.messages import BackendInfo
from ...contracts.sideband.session import SidebandSession
from ...errors import HostClosed, LocalProtocolError
from ..engine import Engine
from ..events import Event
from .farewell import farewell
from .options import ConsolePlan
from .remains import Remains
from .reply import Interruption, Reply, ReplyState
from .spool import Spool
from .steps import Flow, Ground, Wait
from .worker import Worker

INTERRUPT_S = 2.0  # for a worker to say what became of an interrupt; and with `force`, for the request to end


class _Waiter:
    """A caller who waits for *worker* to come to rest."""

    __slots__ = ("began", "reply", "worker")

    def __init__(self, worker: Worker, began: float) -> None:
        self.worker = worker
        self.began = began
        self.reply: Reply | None = None

    def is_over(self) -> bool:
        return self.reply is not None


class Console:
    """The part of a console that does not wait."""

    def __init__(self, plan: ConsolePlan, engine: Engine, ground: Ground) -> None:
        self.plan = plan
        self.worker: Worker | None = None
        self.generation = 0
        self.backend: BackendInfo | None = None  # of the latest worker that introduced itself
        self.closed = False
        self.exit_status: int | None = None  # of the latest worker that is gone
        self._engine = engine
        self._ground = ground
        self._spool = Spool(plan.limits.spool_bytes, plan.output_directory)
        self._last_id = 0
        self._waiter: _Waiter | None = None
        self._remains = Remains()

    # Verbs

    def start(self) -> Flow[None]:
        """Start a worker if there is none, and wait until it has introduced itself. Raises PluginFailure."""
        yield from self._be_ready()

    def run(self, text: str, timeout: float | None) -> Flow[Reply]:
        """Run *text* and wait for its end. Raises PluginFailure if no worker can be started."""
        contract.code(text)
        seconds = contract.seconds(timeout, self.plan.limits.timeout_s)
        self._check_alone()
        if self.worker is not None:
            self.worker.link.on_exit()  # one that has just died would take the blame for what it never saw
        worker = yield from self._be_ready()
        self._check_alone()  # others may have been faster
        worker.run(text, self._last_id + 1, self._engine.clock())
        self._last_id += 1
        self._remains.request = None
        return (yield from self._reply_to(worker, seconds, interrupts=True))

    def answer(self, text: str, timeout: float | None) -> Flow[Reply]:
        """Give the request the line that it waits for, and wait for its end."""
        contract.code(text)
        seconds = contract.seconds(timeout, self.plan.limits.timeout_s)
        self._check_alone()
        worker = self.worker
        if worker is None:
            raise LocalProtocolError("the answer was not sent: no request runs. Run one")
        worker.session.note_time(self._engine.clock())
        worker.session.answer(text)
        return (yield from self._reply_to(worker, seconds, interrupts=True))

    def poll(self, timeout: float | None) -> Flow[Reply]:
        """Return what is new, at once if nothing runs, at the latest when the request is over."""
        seconds = contract.seconds(timeout, 0.0)
        self._check_alone()
        worker = self.worker
        if worker is None:
            return self._reply(None, self._engine.clock())
        return (yield from self._reply_to(worker, seconds, interrupts=False))

    def interrupt(self, timeout: float | None, *, force: bool) -> Flow[Interruption]:
        """Stop what runs, and wait until the worker says what became of that."""
        seconds = contract.seconds(timeout, INTERRUPT_S)
        self._check_open()
        worker = self.worker
        if worker is None or not worker.is_usable:
            return Interruption.IDLE
        request_id = worker.session.request_id
        if request_id is None and not worker.knows_ids:
            return Interruption.IDLE  # the signal could only do harm
        until = self._engine.clock() + seconds
        signal = worker.interrupt()
        if signal.outcome is None:
            yield Wait(worker.link, lambda: signal.outcome is not None, seconds)
        if not force or request_id is None:
            return signal.outcome or Interruption.UNANSWERED

        def is_over() -> bool:
            return self.worker is not worker or worker.session.request_id != request_id

        if not is_over():
            yield Wait(worker.link, is_over, max(0.0, until - self._engine.clock()))
        if is_over():
            return signal.outcome or Interruption.UNANSWERED
        yield from self._replace(worker)
        return Interruption.REPLACED

    def restart(self) -> Flow[Reply]:
        """Let the worker go, start another, and return what the old one had still to show. Raises PluginFailure."""
        self._check_open()
        began = self._engine.clock()
        yield from self._replace(self.worker)
        worker = self.worker
        if (
            worker is not None and self._waiter is not None
        ):  # somebody was faster, and is told by its own reply
            return replace(self._reply(None, began), state=worker.state)
        return self._reply(worker, began)

    def close(self) -> Flow[None]:
        """Let the worker go, and forget everything."""
        self.closed = True
        if self.worker is not None:
            yield from self._let_go(self.worker)
        self._spool.close()

    def give_back(self, reply: Reply) -> None:
        """*reply* did not reach its caller: what it shows is shown with the next one."""
        self._remains.items = (*reply.items, *self._remains.items)
        self._remains.full_output = self._remains.full_output or reply.full_output
        self._remains.failure = self._remains.failure or reply.failure

    # What they are made of

    def _be_ready(self) -> Flow[Worker]:
        while True:
            self._check_open()
            worker = self.worker
            if worker is None:
                self._start()
            elif worker.is_usable:
                return worker
            else:
                yield Wait(worker.link, partial(self._is_past, worker))
                if self.worker is not worker and not worker.was_ready and not worker.asked_to_end:
                    self._check_open()
                    assert worker.failure is not None
                    if self._remains.failure is worker.failure:
                        self._remains.failure = None  # it is told now
                    raise worker.failure

    def _is_past(self, worker: Worker) -> bool:
        return self.worker is not worker or worker.is_usable

    def _replace(self, worker: Worker | None) -> Flow[None]:
        if worker is not None:
            yield from self._let_go(worker)
        yield from self._be_ready()

    def _let_go(self, worker: Worker) -> Flow[None]:
        worker.end()
        if self.worker is worker:
            yield Wait(worker.link, lambda: self.worker is not worker)

    def _reply_to(self, worker: Worker, seconds: float, *, interrupts: bool) -> Flow[Reply]:
        """Send what was said to *worker* and wait until it comes to rest. *interrupts*: so does giving up the wait."""
        waiter = self._waiter = _Waiter(worker, self._engine.clock())
        try:
            worker.link.pump()
            if not waiter.is_over():
                yield Wait(worker.link, waiter.is_over, seconds)
        except BaseException:
            self._waiter = None
            if waiter.reply is not None:
                self.give_back(waiter.reply)
            if interrupts and worker.is_usable and worker.session.request_id is not None:
                worker.interrupt()
            raise
        finally:
            self._waiter = None
        if waiter.reply is None:
            return self._reply(worker, waiter.began)
        if self.closed and waiter.reply.state is ReplyState.ENDED:
            raise HostClosed(f"{self.plan.name} was closed during the call")
        return waiter.reply

    def _check_open(self) -> None:
        if self.closed or self._engine.closed:
            raise HostClosed(f"{self.plan.name} is closed")

    def _check_alone(self) -> None:
        self._check_open()
        if self._waiter is not None:
            raise LocalProtocolError(
                "another call waits for this console's reply. Wait for its end, or interrupt the request"
            )

    # Workers

    def _start(self) -> None:
        worker = Worker(self.generation + 1, self._spool)

        def session(now: float) -> SidebandSession:
            return SidebandSession(self.plan.terms, now, spool=worker.spool)

        worker.join(self._engine.start(self.plan.binding, self._ground.watcher, session))
        worker.link.on_stderr = _is_shown
        self.generation += 1
        self.worker = worker
        self._ground.adopt(worker.link, partial(self._attend, worker))

    def _attend(self, worker: Worker) -> None:
        """Something has happened to *worker*: take it in, and reply to whoever waits for that."""
        if worker.session.news:  # seldom: most of what happens is that something was printed
            now = self._engine.clock()
            for what in worker.hear(now):
                self._engine.bus.publish(Event(self.plan.name, worker.link.process.pid, now, what))
            self.backend = worker.session.backend or self.backend
        if self.worker is not worker:
            return
        waiter = self._waiter
        if worker.link.finished:
            self._bury(worker)
        if waiter is not None and waiter.worker is worker and waiter.reply is None:
            if self.worker is None:
                waiter.reply = self._reply(None, waiter.began)
            elif worker.is_settled:
                waiter.reply = self._reply(worker, waiter.began)

    def _bury(self, worker: Worker) -> None:
        """*worker* is gone: keep what it had still to show, and say what became of it."""
        self.worker = None
        self._engine.finish(worker.link)
        session, request = worker.session, worker.request
        ended = None if worker.gone is None else worker.gone.status
        self.exit_status = None if ended is None else ended.code
        if session.fault is not None:
            worker.failure = self._engine.fail(
                contract.failure(self.plan.binding, session, session.fault, worker.evidence())
            )
        items, full_output = worker.take()
        if worker.was_ready and worker.gone is not None:
            if request is not None and worker.gone.said:  # its code ended the session, and not in order
                request.error = True
            said = farewell(worker.gone, worker.number, asked=worker.asked_to_end)
            items = (*items, Notice(said, None if request is None else request.id))
        self._remains.add(items, full_output, request, worker.failure)

    def _reply(self, worker: Worker | None, began: float) -> Reply:
        """Return all that was shown and how things are. What it tells is not told again."""
        now, remains, self._remains = self._engine.clock(), self._remains, Remains()
        items, full_output = ((), None) if worker is None else worker.take()
        request = remains.request if worker is None else worker.request
        reply = Reply(
            items=(*remains.items, *items),
            state=ReplyState.ENDED if worker is None else worker.state,
            prompt="" if worker is None else worker.session.reading.prompt,
            request_id=None if request is None else request.id,
            generation=self.generation,
            error=request is not None and request.error,
            elapsed_ms=round((now - began) * 1000, 3) if request is None else request.elapsed_ms(now),
            full_output=full_output or remains.full_output,
            failure=remains.failure,
        )
        if worker is not None and request is not None and request.ended is not None:
            worker.request = None
        return reply


def _is_shown(data: bytes) -> None:
    """What a worker writes to stderr is somebody's output, and no line for a log."""
    del data
