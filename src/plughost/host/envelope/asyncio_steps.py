"""A pass on an asyncio loop: its workers are links of the loop, its work with files is done by a thread."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, assert_never

from ...contracts.base import Rung
from ...contracts.envelope import host as envelope
from ...contracts.envelope.session import EnvelopeSession
from ...failures import PluginFailure
from ..asyncio_driver import AsyncioDriver, to_the_end
from ..engine import Engine
from .options import Answers, AsyncAsk, PassOptions, Question
from .steps import TOO_LATE, UNASKED, Dismiss, Finish, Launch, Put, Step, Together, Work, WorkerLink, unheard


class AsyncioSteps:
    """Does the steps of one pass."""

    def __init__(
        self, engine: Engine, driver: AsyncioDriver, options: PassOptions, ask: AsyncAsk | None
    ) -> None:
        self._engine = engine
        self._driver = driver
        self._options = options
        self._ask = ask
        self._asking = asyncio.Lock()  # one question at a time, whichever plugin asks
        self._links: set[WorkerLink] = set()

    async def drive(self, flow: Generator[Step, Any, Any]) -> Any:
        """Run *flow* to its end, and return what it returns. Whatever happens, its workers are gone then."""
        try:
            return await self._drive(flow)
        finally:
            await self._end_all()
            flow.close()

    async def _drive(self, flow: Generator[Step, Any, Any]) -> Any:
        try:
            step = next(flow)
            while True:
                try:
                    result = await self._do(step)
                except PluginFailure as failure:  # an outcome like others
                    step = flow.throw(failure)
                except BaseException as error:
                    await (
                        self._end_all()
                    )  # the flow puts things right: nobody may be at work in the tree then
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as ended:
            return ended.value

    async def _do(self, step: Step) -> Any:
        match step:
            case Launch():
                return self._launch(step)
            case Finish(link, line):
                return await self._finish(link, line)
            case Dismiss(links):
                for link in links:
                    link.on_stderr = unheard
                    link.conversation.retire()
                    link.pump()
                for link in links:
                    await self._finish(link, None)
                return None
            case Work(what):
                return await self._work(what)
            case Put():
                return await self._put(step)
            case Together(flows):
                return await self._together(flows)
            case never:
                assert_never(never)

    def _launch(self, step: Launch) -> WorkerLink:
        session = partial(EnvelopeSession, step.mode, envelope.terms(step.binding))
        link = self._engine.start(step.binding, self._driver, session)
        self._links.add(link)
        link.on_stderr = step.on_stderr
        self._driver.adopt(link, partial(self._forget, link))
        if step.line is not None:
            self._tell(link, step.line)
        link.watch_memory = True  # only now: at this moment there is nothing to be seen of it
        return link

    def _forget(self, link: WorkerLink) -> None:
        self._links.discard(link)
        self._engine.finish(link)

    def _tell(self, link: WorkerLink, line: bytes) -> None:
        link.conversation.tell(line, self._engine.clock())
        link.pump()

    async def _finish(self, link: WorkerLink, line: bytes | None) -> None:
        if line is not None:
            self._tell(link, line)
        try:
            await self._driver.until(link, lambda: link.finished)
        except asyncio.CancelledError:
            link.end(Rung.KILL)
            await self._gone(link)
            raise

    async def _gone(self, link: WorkerLink) -> None:
        """Wait for a worker to be gone, however often we are cancelled: the ladder bounds it."""
        await to_the_end(self._driver.until(link, lambda: link.finished))

    async def _end_all(self) -> None:
        """Kill what is left. Whoever cancels us meanwhile need not: we are ending."""
        for link in tuple(self._links):
            link.end(Rung.KILL)
        for link in tuple(self._links):
            with suppress(asyncio.CancelledError):
                await self._gone(link)

    async def _work(self, what: Callable[[], Any]) -> Any:
        """Do it in a thread. It cannot be stopped in the middle: whoever cancels waits for its end."""
        # Not `asyncio.to_thread`: its coroutine is a task more, and the thread would begin a turn of the loop later.
        context = contextvars.copy_context()
        return await to_the_end(self._driver.loop.run_in_executor(None, context.run, what))

    async def _put(self, step: Put) -> Answers:
        async with self._asking:
            return UNASKED if step.turn.in_vain else step.note(await self._answers(step.question))

    async def _answers(self, question: Question) -> Answers:
        assert self._ask is not None, "a pass that is not interactive asks nothing"
        answers = self._ask(question)
        if not inspect.isawaitable(answers):
            return answers
        limit = asyncio.timeout(self._options.input_timeout_s)
        try:
            async with limit:
                return await answers
        except TimeoutError:
            if not limit.expired():  # it was raised by whoever was asked
                raise
            return TOO_LATE

    async def _together(self, flows: tuple[Generator[Step, Any, Any], ...]) -> list[Any]:
        tasks = [asyncio.ensure_future(self._drive(flow)) for flow in flows]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise


async def cancel(task: asyncio.Task[Any]) -> None:
    """Cancel *task*, and wait until it has put things right, however often we are cancelled ourselves."""
    task.cancel()
    with suppress(BaseException):  # whoever awaits the task is told
        await to_the_end(task)
