"""A hook plugin as an application holds it: one process, asked as often as it likes. Async and blocking.

Both are thin: which phase is due is known to the session, how to wait to the rounds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from ...contracts.hook import host as hook
from ...contracts.hook.messages import Phase
from ...contracts.hook.rounds import PHASE_NAMES
from ...contracts.hook.session import Ask
from ...errors import HostClosed, LocalProtocolError, PlughostError
from ...failures import PluginFailure
from .asyncio_rounds import AsyncioRounds
from .blocking_rounds import BlockingRounds
from .links import has_failed, left_by_itself
from .steps import HookLink

M = TypeVar("M", bound=Message)


class _Connected:
    """What both kinds of handle know about their process."""

    def __init__(
        self, rounds: AsyncioRounds | BlockingRounds, link: HookLink, forget: Callable[[], None]
    ) -> None:
        info, place = link.conversation.info, link.conversation.place
        assert info is not None
        assert place is not None
        self.info: wire.PluginInfo = info
        self.phases: tuple[Phase, ...] = place.phases
        self.warnings: tuple[str, ...] = ()  # about its end, once it is closed
        self._link = link
        self._forget = forget
        self._closed = False
        self._aborted = False
        self._failed = False  # and whoever asked was told
        self._asking = False
        self._why = "is closed"  # in a sentence that begins with its name
        self._is_forked = rounds.is_forked

    @property
    def name(self) -> str:
        """What the plugin calls itself."""
        return self.info.name

    @property
    def due(self) -> Phase:
        """The phase that must be asked for next."""
        place = self._link.conversation.place
        assert place is not None
        return place.due

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is worth saying about the conversation so far."""
        return hook.remarks(self._link.conversation)

    def timings_ms(self) -> dict[str, float]:
        """Return how long its start, its handshake, its last hook and its end took, as far as they are over."""
        return hook.timings(self._link.conversation)

    def _check_open(self) -> None:
        if self._is_forked():
            raise HostClosed(f"{self.name} belongs to the process that this one was forked from")
        if self._closed:
            raise HostClosed(f"{self.name} {self._why}")

    def _ready(self, phase: Phase | str, request: Message, timeout: float | None) -> Ask:
        """Return *request* ready to send. Raises LocalProtocolError."""
        self._check_open()
        if phase not in PHASE_NAMES:
            raise LocalProtocolError(f"there is no phase {phase!r}; there are {', '.join(PHASE_NAMES)}")
        return hook.ask(self._link.binding, Phase(phase), request, timeout)

    def _interrupted(self) -> None:
        """Whoever asked has given up in the middle: nobody can know what comes next, so the process was ended."""
        self._why = "was ended because a call was interrupted"
        self._gone()

    def _told(self, failure: PluginFailure) -> PluginFailure | HostClosed:
        """Return what to raise for *failure*, once: whoever closes a handle has not to hear of it again."""
        self._failed = True
        return HostClosed(f"{self.name} was closed during the call") if self._aborted else failure

    def _gone(self) -> None:
        self._closed = True
        self._forget()
        if self._link.finished and (not has_failed(self._link) or left_by_itself(self._link)):
            self.warnings = hook.warnings(self._link.evidence())


class AsyncProvider(_Connected):
    """A plugin of the `hook` contract, by way of `Host.connect`. One request at a time, each phase in its turn."""

    def __init__(self, rounds: AsyncioRounds, link: HookLink, forget: Callable[[], None]) -> None:
        super().__init__(rounds, link, forget)
        self._rounds = rounds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await (self.close() if error is None else self.abort())

    async def ask(self, phase: Phase | str, request: Message, *, timeout: float | None = None) -> Message:
        """Send *request* and return the result.

        *timeout* is in seconds; the binding's `timeout_s` otherwise. Raises PluginFailure, after which the process
        is gone; LocalProtocolError if it is not the phase's turn or the request cannot be sent; HostClosed.
        """
        ready = self._ready(phase, request, timeout)
        if self._asking:
            raise LocalProtocolError("one request at a time, and the last one is not answered yet")
        self._asking = True
        try:
            return (await self._rounds.ask([(self._link, ready)], timeout))[0]
        except PluginFailure as failure:
            raise self._told(failure) from failure.__cause__
        except asyncio.CancelledError:
            self._interrupted()
            raise
        finally:
            self._asking = False

    async def detect(self, request: wire.DetectRequest, *, timeout: float | None = None) -> wire.DetectResult:
        """Ask what the plugin sees in a repository. Raises like `ask`."""
        return _as(wire.DetectResult, await self.ask(Phase.DETECT, request, timeout=timeout))

    async def plan(self, request: wire.PlanRequest, *, timeout: float | None = None) -> wire.PlanResult:
        """Ask which resources the plugin would make. Raises like `ask`."""
        return _as(wire.PlanResult, await self.ask(Phase.PLAN, request, timeout=timeout))

    async def generate(
        self, request: wire.GenerateRequest, *, timeout: float | None = None
    ) -> wire.GenerateResult:
        """Ask for fragments of files. Raises like `ask`."""
        return _as(wire.GenerateResult, await self.ask(Phase.GENERATE, request, timeout=timeout))

    async def validate(
        self, request: wire.ValidateRequest, *, timeout: float | None = None
    ) -> wire.ValidateResult:
        """Ask what is wrong with rendered files. Raises like `ask`."""
        return _as(wire.ValidateResult, await self.ask(Phase.VALIDATE, request, timeout=timeout))

    async def preflight(
        self, request: wire.PreflightRequest, *, timeout: float | None = None
    ) -> wire.PreflightResult:
        """Ask whether a job should run. Raises like `ask`; the process must be connected for preflight alone."""
        return _as(wire.PreflightResult, await self.ask(Phase.PREFLIGHT, request, timeout=timeout))

    async def close(self) -> None:
        """Close its input, and wait until it is gone. Idempotent; bounded.

        Raises PluginFailure if it wrote what nobody asked for. How else it ended is in `warnings`.
        """
        if not self._closed and not self._is_forked():
            self._closed = True
            another = self._asking  # a task that will be told itself
            try:
                if not self._failed:
                    await self._rounds.retire([self._link])
            except HostClosed:
                pass  # then it is gone already
            except PluginFailure:
                if not another:
                    raise
            finally:
                self._gone()

    async def abort(self) -> None:
        """End the process at once; whoever waits for it gets HostClosed. Idempotent; bounded."""
        if self._is_forked():
            return
        self._closed = self._aborted = True
        await self._rounds.end()
        self._gone()


class BlockingProvider(_Connected):
    """A plugin of the `hook` contract, by way of `Host.connect`. One request at a time, each phase in its turn."""

    def __init__(self, rounds: BlockingRounds, link: HookLink, forget: Callable[[], None]) -> None:
        super().__init__(rounds, link, forget)
        self._rounds = rounds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()

    def ask(self, phase: Phase | str, request: Message, *, timeout: float | None = None) -> Message:
        """Send *request* and return the result.

        *timeout* is in seconds; the binding's `timeout_s` otherwise. Raises PluginFailure, after which the process
        is gone; LocalProtocolError if it is not the phase's turn or the request cannot be sent; HostClosed.
        """
        ready = self._ready(phase, request, timeout)
        try:
            return self._rounds.ask([(self._link, ready)], timeout)[0]
        except PluginFailure as failure:
            raise self._told(failure) from failure.__cause__
        except PlughostError:
            raise
        except BaseException:  # Ctrl-C, or whatever a signal handler raises
            self._interrupted()
            raise

    def detect(self, request: wire.DetectRequest, *, timeout: float | None = None) -> wire.DetectResult:
        """Ask what the plugin sees in a repository. Raises like `ask`."""
        return _as(wire.DetectResult, self.ask(Phase.DETECT, request, timeout=timeout))

    def plan(self, request: wire.PlanRequest, *, timeout: float | None = None) -> wire.PlanResult:
        """Ask which resources the plugin would make. Raises like `ask`."""
        return _as(wire.PlanResult, self.ask(Phase.PLAN, request, timeout=timeout))

    def generate(self, request: wire.GenerateRequest, *, timeout: float | None = None) -> wire.GenerateResult:
        """Ask for fragments of files. Raises like `ask`."""
        return _as(wire.GenerateResult, self.ask(Phase.GENERATE, request, timeout=timeout))

    def validate(self, request: wire.ValidateRequest, *, timeout: float | None = None) -> wire.ValidateResult:
        """Ask what is wrong with rendered files. Raises like `ask`."""
        return _as(wire.ValidateResult, self.ask(Phase.VALIDATE, request, timeout=timeout))

    def preflight(
        self, request: wire.PreflightRequest, *, timeout: float | None = None
    ) -> wire.PreflightResult:
        """Ask whether a job should run. Raises like `ask`; the process must be connected for preflight alone."""
        return _as(wire.PreflightResult, self.ask(Phase.PREFLIGHT, request, timeout=timeout))

    def close(self) -> None:
        """Close its input, and wait until it is gone. Idempotent; bounded.

        Raises PluginFailure if it wrote what nobody asked for. How else it ended is in `warnings`.
        """
        if not self._closed and not self._is_forked():
            self._closed = True
            try:
                if not self._failed:
                    self._rounds.retire([self._link])
            except HostClosed:
                pass  # then it is gone already
            finally:
                self._gone()

    def abort(self) -> None:
        """End the process at once, from any thread; whoever waits for it gets HostClosed. Idempotent; bounded."""
        if self._is_forked():
            return
        self._closed = self._aborted = True
        limits = self._link.binding.limits
        self._rounds.abort(limits.reap_s + limits.terminate_s)
        self._gone()


def _as(kind: type[M], message: Message) -> M:
    assert isinstance(message, kind)
    return message
