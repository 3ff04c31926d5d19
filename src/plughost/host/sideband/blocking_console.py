"""A console for code without a loop: `plughost.blocking.Host.console`. From any thread.

Whoever waits works; while nobody waits a thread of the console reads on, so that no worker is held up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

from ...contracts.base import Rung
from ...errors import HostClosed, LocalProtocolError
from ..crowd import Crowd
from ..deferral import Deferral
from ..engine import Engine
from .console import Console
from .handle import ConsoleHandle
from .options import ConsolePlan
from .reply import Interruption, Reply
from .steps import Flow, Wait

LOOK_S = 0.001  # a wait is not shorter: what has arrived already is looked at

T = TypeVar("T")


class _Goal:
    """That something is *reached*, or it is *until*."""

    __slots__ = ("_clock", "_reached", "until")

    def __init__(self, wait: Wait, clock: Callable[[], float]) -> None:
        self._reached = wait.reached
        self._clock = clock
        self.until = None if wait.seconds is None else clock() + max(wait.seconds, LOOK_S)

    @property
    def is_over(self) -> bool:
        return self._reached() or (self.until is not None and self._clock() >= self.until)


class BlockingConsole(ConsoleHandle):
    """A session of somebody's work: code to replies. By way of `Host.console`.

    Leaving its `with`, `close`, or closing the host ends the worker.
    """

    def __init__(
        self,
        plan: ConsolePlan,
        engine: Engine,
        forget: Callable[[BlockingConsole], object],
        host: object = None,
    ) -> None:
        self._host = host  # it ends its processes when nobody holds it any more: whoever holds us does
        self._engine = engine
        self._crowd = Crowd(engine.clock, lambda: engine.closed and not engine.links)
        self._alarms = _Alarms(self._crowd)
        self._console = Console(plan, engine, self._crowd)
        self._forget = forget
        self._crowd.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start a worker if there is none. Raises PluginFailure."""
        self._drive(self._console.start())

    def run(self, text: str, timeout: float | None = None) -> Reply:
        """Run *text*, and reply when it is over, waits for stdin, or *timeout* seconds have passed.

        It goes on after a timeout: `poll` returns what it shows and how it ends. Without *timeout* the limit
        `timeout_s` counts; the start of a worker does not. If the last worker ended, another is started first, and the
        reply begins with what became of it. A KeyboardInterrupt interrupts the request too.
        Raises LocalProtocolError while another request runs, and PluginFailure if no worker can be started.
        """
        return self._drive(self._console.run(text, timeout))

    def answer(self, text: str, timeout: float | None = None) -> Reply:
        """Give the request the line that it waits for, and reply as `run` does. Raises LocalProtocolError."""
        return self._drive(self._console.answer(text, timeout))

    def poll(self, timeout: float | None = None) -> Reply:
        """Return what is new: at once, or with *timeout* when the request is over, waits for stdin, or that is past."""
        return self._drive(self._console.poll(timeout))

    def interrupt(self, timeout: float | None = None, *, force: bool = False) -> Interruption:
        """Stop what runs, and return what became of that; also while another thread waits for a reply.

        With *force*, a worker whose request is not over in *timeout* seconds gives way to another.
        """
        return self._drive(self._console.interrupt(timeout, force=force))

    def restart(self) -> Reply:
        """End the worker, within 2 s, and start another. Replies with what there is to show. Raises PluginFailure."""
        return self._drive(self._console.restart())

    def close(self) -> None:
        """End the worker. Idempotent, from any thread; within 2 s. A call that waits raises HostClosed."""
        if self._engine.forked:
            return
        if self._crowd.is_working_here():  # a callback: the work that it interrupted goes on
            self.abort()
            return
        self._drive(self._console.close())
        self._crowd.end()
        self._forget(self)

    def let_go(self) -> None:
        """Begin to close: the worker is told to end, and nobody waits for it."""
        self._crowd.want()
        with self._crowd.guard:
            self._crowd.turn.has_come()
            self._console.closed = True
            if self._console.worker is not None:
                self._console.worker.end()

    def abort(self) -> None:
        """End the worker at once: the thread that works on it notices, and does the rest."""
        self._crowd.want()
        with self._crowd.guard:
            self._crowd.turn.has_come()
            self._console.closed = True
            if self._console.worker is not None:
                self._console.worker.link.end(Rung.KILL)

    def _drive(self, flow: Flow[T]) -> T:
        if self._engine.forked:
            raise HostClosed("this is a forked copy of the host: the workers are its original's")
        if self._crowd.is_working_here():
            raise LocalProtocolError(
                "a callback of the host may not wait for a worker: do it on another thread"
            )
        self._crowd.want()
        with Deferral(self._crowd.look) as deferral, self._crowd.guard:
            self._crowd.turn.has_come()
            try:
                wait = next(flow)
                while True:
                    try:
                        self._wait(wait, deferral)
                    except BaseException as error:
                        wait = flow.throw(error)
                    else:
                        wait = flow.send(None)
            except StopIteration as end:
                result: T = end.value
                try:
                    self._crowd.deliver(deferral)
                except BaseException:
                    if isinstance(result, Reply):
                        self._console.give_back(result)
                    raise
                return result

    def _wait(self, wait: Wait, deferral: Deferral) -> None:
        goal = _Goal(wait, self._engine.clock)
        if goal.until is not None:
            self._alarms.set(goal.until)
        try:
            self._crowd.wait_deferring(goal, deferral)
        finally:
            if goal.until is not None:
                self._alarms.drop(goal.until)


class _Alarms:
    """When those who wait want to be woken. A crowd knows only the earliest."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._set: list[float] = []
        crowd.tick = self._ring

    def set(self, at: float) -> None:
        self._set.append(at)
        self._crowd.wake_at(at)

    def drop(self, at: float) -> None:
        self._set.remove(at)

    def _ring(self, now: float) -> None:
        later = [at for at in self._set if at > now]
        if later:
            self._crowd.wake_at(min(later))
