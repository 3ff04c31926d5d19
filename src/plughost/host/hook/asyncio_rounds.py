"""Hook plugins on an asyncio loop: started, asked and let go together. Work with files is done by a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, assert_never

from google.protobuf.message import Message

from ...contracts.base import Rung
from ...contracts.hook import host as hook
from ...contracts.hook.session import Ask
from ...errors import HostClosed
from ...manifest.binding import Binding
from ..asyncio_driver import AsyncioDriver, to_the_end
from ..engine import Engine
from . import links as hook_links
from .steps import AskAll, Connect, Flow, HookLink, Retire, Work


class AsyncioRounds:
    """The processes of one run, or of one handle."""

    def __init__(self, engine: Engine, driver: AsyncioDriver) -> None:
        self._engine = engine
        self._driver = driver
        self._links: list[HookLink] = []

    def is_forked(self) -> bool:
        """Tell whether this is a forked copy: the processes are the parent's, which still talks with them."""
        return self._engine.forked

    async def drive(self, flow: Flow[Any]) -> Any:
        """Run *flow* to its end, and return what it returns. Whatever happens, its processes are gone then."""
        try:
            step = next(flow)
            while True:
                step = flow.send(await self._do(step))
        except StopIteration as ended:
            return ended.value
        finally:
            flow.close()
            await self.end()

    async def _do(self, step: Connect | AskAll | Retire | Work) -> Any:
        match step:
            case Connect(bindings):
                return await self.connect(bindings)
            case AskAll(asks, timeout_s):
                return await self.ask(asks, timeout_s)
            case Retire(links):
                return await self.retire(links)
            case Work(what):
                return await to_the_end(asyncio.to_thread(what))
            case never:
                assert_never(never)

    async def connect(self, bindings: Sequence[Binding]) -> list[HookLink]:
        """Start all of *bindings* and shake hands with them. Raises PluginFailure; none is left then."""
        try:
            for binding in bindings:
                link = hook_links.start(self._engine, binding, self._driver)
                self._links.append(link)
                self._driver.adopt(link, partial(self._engine.finish, link))
            links = list(self._links)
            await self._until(links, hook_links.is_idle)
        except BaseException:
            await self.end()
            raise
        return links

    async def ask(
        self, asks: Sequence[tuple[HookLink, Ask]], timeout_s: float | None = None
    ) -> list[Message]:
        """Ask each link, at the same time, and return the results. Raises PluginFailure; none is left then."""
        for link, each in asks:  # what may not be sent harms nobody
            hook.check_turn(link.conversation, each)
        try:
            for link, each in asks:
                hook_links.ask(self._engine, link, each, timeout_s)
            asked = [link for link, _ in asks]
            await self._until(asked, hook_links.is_idle)
        except BaseException:
            await self.end()
            raise
        results = [link.conversation.result for link in asked]
        return [result for result in results if result is not None]

    async def retire(self, links: Sequence[HookLink]) -> None:
        """Let *links* go, and wait until they are gone. Raises PluginFailure for one that spoke out of turn.

        What another task has asked is answered first: one that is let go in the middle would never be.
        """
        try:
            if not all(map(hook_links.is_idle, links)):
                await self._until(links, hook_links.is_idle)
            for link in links:
                link.hear()
                link.conversation.retire()
                link.pump()
            for link in links:
                await self._driver.until(link, partial(_is_finished, link))
            if (spoiled := hook_links.first_spoiled(links)) is not None:
                self._check_open()
                raise hook_links.failure(self._engine, spoiled)
        except BaseException:
            await self.end()
            raise
        self._links = [link for link in self._links if link not in links]

    async def end(self) -> None:
        """Make sure that every process is gone, however often we are cancelled: the ladder bounds it."""
        if self.is_forked():
            return
        for link in self._links:
            link.end(Rung.KILL)
        await to_the_end(self._gone())
        self._links = []

    async def _until(self, links: Sequence[HookLink], reached: Callable[[HookLink], bool]) -> None:
        """Wait until all of *links* have *reached*. One that fails ends it for all: its failure is raised."""
        if len(links) == 1:  # the usual case of a handle, without a task
            await self._driver.until(links[0], partial(_reached_or_failed, links[0], reached))
        else:
            await self._first_failure_or_all(links, reached)
        failed = hook_links.first_failed(links)
        if failed is not None:
            for link in self._links:
                if link is not failed:
                    link.end(Rung.TERMINATE)
            await self._gone()
            self._check_open()
            raise hook_links.failure(self._engine, failed)

    async def _first_failure_or_all(
        self, links: Sequence[HookLink], reached: Callable[[HookLink], bool]
    ) -> None:
        waiting = {
            asyncio.ensure_future(self._driver.until(link, partial(_reached_or_failed, link, reached)))
            for link in links
        }
        try:
            while waiting and hook_links.first_failed(links) is None:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _check_open(self) -> None:
        if self._engine.closed:
            raise HostClosed("the host was closed meanwhile")

    async def _gone(self) -> None:
        for link in tuple(self._links):
            await self._driver.until(link, partial(_is_finished, link))


def _is_finished(link: HookLink) -> bool:
    return link.finished


def _reached_or_failed(link: HookLink, reached: Callable[[HookLink], bool]) -> bool:
    return reached(link) or hook_links.has_failed(link)
