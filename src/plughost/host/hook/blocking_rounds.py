"""Hook plugins on the caller's own thread: started, asked and let go together, by one `poll` over all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from signal import SIGKILL
from typing import Any, assert_never

from google.protobuf.message import Message

from ...contracts.base import Rung
from ...contracts.hook import host as hook
from ...contracts.hook.session import Ask
from ...errors import HostClosed
from ...manifest.binding import Binding
from ..deferral import Deferral
from ..engine import Engine
from ..poll_driver import PollDriver
from . import links as hook_links
from .steps import AskAll, Connect, Flow, HookLink, Retire, Work


class BlockingRounds:
    """The processes of one run, or of one handle."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._driver = PollDriver(engine.clock)
        self._links: list[HookLink] = []
        self._busy = threading.Lock()  # held while a thread works on the links
        self._thread = 0  # the last one that did

    def is_forked(self) -> bool:
        """Tell whether this is a forked copy: the processes are the parent's, which still talks with them."""
        return self._engine.forked

    def drive(self, flow: Flow[Any]) -> Any:
        """Run *flow* to its end, and return what it returns. Whatever happens, its processes are gone then."""
        with self._deferring():
            try:
                step = next(flow)
                while True:
                    step = flow.send(self._do(step))
            except StopIteration as ended:
                return ended.value
            finally:
                flow.close()
                self.end()

    def _do(self, step: Connect | AskAll | Retire | Work) -> Any:
        match step:
            case Connect(bindings):
                return self.connect(bindings)
            case AskAll(asks, timeout_s):
                return self.ask(asks, timeout_s)
            case Retire(links):
                return self.retire(links)
            case Work(what):
                deferral = self._driver.deferral
                return what() if deferral is None else deferral.at_checkpoints(what)
            case never:
                assert_never(never)

    def connect(self, bindings: Sequence[Binding]) -> list[HookLink]:
        """Start all of *bindings* and shake hands with them. Raises PluginFailure; none is left then."""
        with self._deferring(), self._busy:
            self._thread = threading.get_ident()
            try:
                for binding in bindings:
                    link = hook_links.start(self._engine, binding, self._driver)
                    self._links.append(link)
                    link.start()
                links = list(self._links)
                self._until(links, hook_links.is_idle)
            except BaseException:
                self._end()
                raise
            return links

    def ask(self, asks: Sequence[tuple[HookLink, Ask]], timeout_s: float | None = None) -> list[Message]:
        """Ask each link, at the same time, and return the results. Raises PluginFailure; none is left then."""
        with self._deferring(), self._busy:
            self._thread = threading.get_ident()
            for link, each in asks:  # what may not be sent harms nobody
                hook.check_turn(link.conversation, each)
            try:
                for link, each in asks:
                    hook_links.ask(self._engine, link, each, timeout_s)
                asked = [link for link, _ in asks]
                self._until(asked, hook_links.is_idle)
            except BaseException:
                self._end()
                raise
            results = [link.conversation.result for link in asked]
            return [result for result in results if result is not None]

    def retire(self, links: Sequence[HookLink]) -> None:
        """Let *links* go, and wait until they are gone. Raises PluginFailure for one that spoke out of turn."""
        with self._deferring(), self._busy:
            self._thread = threading.get_ident()
            try:
                for link in links:
                    link.hear()
                    link.conversation.retire()
                    link.pump()
                while not all(link.finished for link in links):
                    self._step()
                if (spoiled := hook_links.first_spoiled(links)) is not None:
                    self._check_open()
                    raise hook_links.failure(self._engine, spoiled)
            except BaseException:
                self._end()
                raise
            self._forget(links)

    def abort(self, patience_s: float) -> None:
        """End the processes, from any thread: the thread that works on them notices, and does the rest. Bounded."""
        if self.is_forked():
            return
        for link in tuple(self._links):
            if not link.finished:
                link.process.send_signal(SIGKILL)
        if self._busy.locked() and self._thread == threading.get_ident():
            return  # a signal handler that has interrupted that very work: it goes on when we return
        with Deferral():
            if self._busy.acquire(timeout=patience_s):
                try:
                    self._end()
                finally:
                    self._busy.release()

    def end(self) -> None:
        """Make sure that every process is gone."""
        if self.is_forked():
            return
        with self._deferring(), self._busy:
            self._end()

    @contextmanager
    def _deferring(self) -> Iterator[None]:
        """Have Ctrl-C wait until nothing is half done: no process may be started of which nobody knows."""
        if self._driver.deferral is not None:
            yield
            return
        with Deferral() as deferral:
            self._driver.deferral = deferral
            try:
                yield
            finally:
                self._driver.deferral = None

    def _until(self, links: Sequence[HookLink], reached: Callable[[HookLink], bool]) -> None:
        """Work on *links* until all have *reached*. One that fails ends it for all: its failure is raised."""
        while (failed := hook_links.first_failed(links)) is None and not all(map(reached, links)):
            self._step()
        if failed is not None:
            for link in self._links:
                if link is not failed:
                    link.end(Rung.TERMINATE)
            while not all(link.finished for link in self._links):
                self._step()
            self._check_open()
            raise hook_links.failure(self._engine, failed)

    def _step(self) -> None:
        if self._engine.closed:  # by another thread, perhaps before a process was there to be ended
            self._end_links()
        if len(self._links) == 1:  # the usual case of a handle, in half the time
            self._driver.step(self._links[0])
        else:
            self._driver.step_together(self._links)

    def _check_open(self) -> None:
        if self._engine.closed:
            raise HostClosed("the host was closed meanwhile")

    def _end_links(self) -> None:
        for link in self._links:
            link.end(Rung.KILL)

    def _end(self) -> None:
        deferral, self._driver.deferral = self._driver.deferral, None
        self._end_links()
        while not all(link.finished for link in self._links):
            self._step()
            for link in self._links:
                link.on_exit()  # an interrupt may have come before anybody watched for it
        self._forget(tuple(self._links))
        self._driver.deferral = deferral

    def _forget(self, links: Sequence[HookLink]) -> None:
        for link in links:
            self._engine.finish(link)
        self._links = [link for link in self._links if link not in links]
