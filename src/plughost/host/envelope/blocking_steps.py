"""A pass on the caller's own thread: starts its workers, waits for them by `poll`, and asks by calling back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from queue import SimpleQueue
from signal import SIGKILL
from typing import Any, assert_never

from ...contracts.base import Rung
from ...contracts.envelope import host as envelope
from ...contracts.envelope.session import EnvelopeSession
from ...errors import HostClosed
from ...failures import PluginFailure
from ..deferral import Deferral
from ..engine import Engine
from ..poll_driver import PollDriver
from .options import Answers, Ask, PassOptions, Question
from .steps import TOO_LATE, UNASKED, Dismiss, Finish, Launch, Put, Step, Together, Work, WorkerLink, unheard

TURN_S = 0.1  # how long one thread waits for another before it looks for signals, questions, and the end


class BlockingSteps:
    """Does the steps of one pass."""

    def __init__(self, engine: Engine, options: PassOptions, ask: Ask | None) -> None:
        self._engine = engine
        self._options = options
        self._ask = ask
        self._questions: SimpleQueue[tuple[Put, Future[Answers]]] = SimpleQueue()
        self._ending: BaseException | None = None
        self._drivers: dict[WorkerLink, PollDriver] = {}
        self._thread = threading.get_ident()
        self._over = threading.Event()
        self._deferral = Deferral()

    def abort(self, patience_s: float) -> None:
        """End the workers, from another thread, and wait until the pass has put things right; bounded."""
        for link in tuple(self._drivers):
            link.process.send_signal(SIGKILL)  # its thread notices the exit, and does the rest
        if threading.get_ident() != self._thread:
            self._over.wait(patience_s)

    def drive(self, flow: Generator[Step, Any, Any]) -> Any:
        """Run *flow* to its end, and return what it returns. Whatever happens, its workers are gone then."""
        with self._deferral:  # Ctrl-C waits until nothing is half done
            try:
                return self._drive(flow, self._end_all)
            finally:
                self._end_all()
                flow.close()
                self._over.set()

    def _drive(self, flow: Generator[Step, Any, Any], on_error: Callable[[], None] = lambda: None) -> Any:
        try:
            step = next(flow)
            while True:
                try:
                    result = self._do(step)
                except PluginFailure as failure:  # an outcome like others
                    step = flow.throw(failure)
                except BaseException as error:
                    on_error()  # the flow puts things right: nobody may be at work in the tree then
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as ended:
            return ended.value

    def _do(self, step: Step) -> Any:
        match step:
            case Launch():
                return self._launch(step)
            case Finish(link, line):
                return self._finish(link, line)
            case Dismiss(links):
                for link in links:
                    link.on_stderr = unheard
                    link.conversation.retire()
                    link.pump()
                    self._finish(link, None)
                return None
            case Work(what):
                return what() if (here := self._deferral_here) is None else here.at_checkpoints(what)
            case Put():
                return self._put(step)
            case Together(flows):
                return self._together(flows)
            case never:
                assert_never(never)

    @property
    def _deferral_here(self) -> Deferral | None:
        """Only the thread that runs the pass hears Ctrl-C."""
        return self._deferral if threading.get_ident() == self._thread else None

    def _launch(self, step: Launch) -> WorkerLink:
        driver = PollDriver(self._engine.clock)
        session = partial(EnvelopeSession, step.mode, envelope.terms(step.binding))
        link = self._engine.start(step.binding, driver, session)
        self._drivers[link] = driver
        link.on_stderr = step.on_stderr
        link.start()
        if step.line is not None:
            self._tell(link, step.line)
        link.watch_memory = True  # only now: at this moment there is nothing to be seen of it
        return link

    def _tell(self, link: WorkerLink, line: bytes) -> None:
        link.conversation.tell(line, self._engine.clock())
        link.pump()

    def _finish(self, link: WorkerLink, line: bytes | None) -> None:
        try:
            if line is not None:
                self._tell(link, line)
            if link in self._drivers:  # not if it was waited for before
                self._drivers[link].deferral = self._deferral_here
                self._drivers[link].run(link, lambda: link.finished)
        finally:
            self._end(link)
        self._engine.check_open()  # if not, it was not the worker who ended

    def _end_all(self) -> None:
        for link in tuple(self._drivers):
            self._end(link)

    def _end(self, link: WorkerLink) -> None:
        """Make sure that a worker is gone."""
        driver = self._drivers.get(link)
        if driver is not None:
            driver.deferral = None
            if not link.finished:
                link.end(Rung.KILL)
                driver.run(link, lambda: link.finished)
            self._drivers.pop(link, None)
            self._engine.finish(link)

    def _put(self, step: Put) -> Answers:
        if threading.get_ident() != self._thread:  # the thread that runs the pass asks: only it hears Ctrl-C
            waiting: Future[Answers] = Future()
            self._questions.put((step, waiting))
            while True:
                try:
                    return waiting.result(TURN_S)
                except FutureTimeout:
                    if self._ending is not None:
                        raise HostClosed("the pass is over") from None
        if step.turn.in_vain:
            return UNASKED
        return step.note(self._deferral.interruptible(self._answers, step.question))

    def _answers(self, question: Question) -> Answers:
        ask, limit = self._ask, self._options.input_timeout_s
        assert ask is not None, "a pass that is not interactive asks nothing"
        if limit is None:
            return ask(question)
        # It cannot be interrupted, only no longer waited for: a thread of its own, that nobody joins.
        asked: Future[Answers] = Future()
        threading.Thread(target=_answer, args=(asked, ask, question), daemon=True).start()
        try:
            return asked.result(limit)
        except FutureTimeout:
            if asked.done():  # it was raised by whoever was asked
                raise
            return TOO_LATE

    def _together(self, flows: tuple[Generator[Step, Any, Any], ...]) -> list[Any]:
        with ThreadPoolExecutor(len(flows)) as pool:
            futures = [pool.submit(self._drive, flow) for flow in flows]
            try:
                results = []
                for future in futures:
                    while True:  # in short turns: a signal is delivered between them only
                        try:
                            results.append(future.result(TURN_S))
                            break
                        except FutureTimeout:
                            if future.done():
                                raise
                            self._deferral.deliver()
                            self._answer_questions()
                return results
            except BaseException as error:
                self._ending = error  # whoever asks from now on is not answered
                self._answer_questions()
                for link in tuple(self._drivers):
                    link.process.send_signal(SIGKILL)  # its thread notices the exit, and does the rest
                raise

    def _answer_questions(self) -> None:
        """Put the questions of the other threads, which wait for it."""
        while not self._questions.empty():
            step, waiting = self._questions.get()
            if self._ending is not None:
                waiting.set_exception(HostClosed("the pass is over"))
                continue
            try:
                waiting.set_result(self._put(step))
            except BaseException as error:
                waiting.set_exception(HostClosed("the pass is over"))
                self._ending = error
                raise


def _answer(asked: Future[Answers], ask: Ask, question: Question) -> None:
    try:
        asked.set_result(ask(question))
    except BaseException as error:
        asked.set_exception(error)
