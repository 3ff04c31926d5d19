"""What an agent sends to a session -> verbs of one console, and their replies. Loses none, and guesses nothing.

Theory of operation. Input means what the agent was last told: an answer where it was told that the request waits for
one, code otherwise. What it could not know leads to a refusal that says how things are, never to a guess. Replies are
kept until they are handed over: a call that is cancelled leaves them to the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ...contracts.sideband.host import LOST
from ...contracts.sideband.items import Omitted
from ...errors import LocalProtocolError, PlughostError
from ...host.sideband.asyncio_console import AsyncConsole
from ...host.sideband.reply import Interruption, Reply, ReplyState, omit

INTERRUPT = "\x03"
RESTART = "\x04"
# For a worker to say what became of an interrupt, and then for the request to be over; what takes longer can be polled.
SETTLE_S = 2.0
REPLIES_KEPT = 16  # that did not reach the agent


class Refusal(Enum):
    """Why input was not used."""

    BUSY = "a request runs"
    WAITING = "a request waits for input, which was not known"
    TWICE = "another call waits for this session"


@dataclass(frozen=True, slots=True)
class Turn:
    """What became of one call. Without *replies* another call has them, or no worker was started yet."""

    replies: tuple[Reply, ...] = ()
    interruption: Interruption | None = None
    refusal: Refusal | None = None
    replaced: bool = False  # another worker than the one of the last turn, and no remark has said so yet
    error: bool = False  # the code that it is about has failed; not where that was the wish
    restarted: bool | None = None  # whether another call's worker was, where that was the wish


class Session:
    """One console, from the first input on. *opening* starts it, and raises PlughostError if that fails."""

    def __init__(self, opening: Callable[[], Awaitable[AsyncConsole]]) -> None:
        self._opening = opening
        self._console: AsyncConsole | None = None
        self._kept: list[Reply] = []
        self._told = ReplyState.READY
        self._generation = 0  # that the agent knows of
        self._loss_told = False  # it was told that this one is gone
        self.calls = 0  # that have not come to their end; whoever makes them counts
        self._waiting: asyncio.Task[Any] | None = None  # for a reply: one at a time
        self._at_rest = asyncio.Event()  # no cancelled call is being put to an end
        self._at_rest.set()

    @property
    def is_unused(self) -> bool:
        """Whether nothing was run, and nothing is about to be."""
        return self._console is None and self.calls == 0

    async def turn(self, text: str, timeout_s: float, gone: asyncio.Event | None = None) -> Turn:
        """Do what *text* says, and wait for its end at most *timeout_s*, or until *gone*; without any, for what runs.

        Cancelling interrupts what runs. Raises PluginFailure and LocalProtocolError.
        """
        sign, rest = _split(text)
        await self._at_rest.wait()
        if self._waiting is not None:
            return await self._turn_beside(sign, rest)
        if self._console is None and not rest and sign != RESTART:
            return Turn(interruption=Interruption.IDLE if sign else None)
        self._waiting = asyncio.current_task()
        try:
            return await self._turn(sign, rest, timeout_s, gone or asyncio.Event())
        except BaseException as error:
            self._told = ReplyState.RUNNING  # for all that anybody knows: the next turn looks first
            if isinstance(error, asyncio.CancelledError):
                await self._settle()
            raise
        finally:
            self._waiting = None
            self._at_rest.set()

    def abandon(self, task: asyncio.Task[Any]) -> None:
        """*task* is about to be cancelled: who comes now waits until what it ran has come to its end."""
        if task is self._waiting:
            self._at_rest.clear()

    def take_back(self, turn: Turn) -> None:
        """*turn* did not reach the agent: the next one begins with it."""
        self._kept[:0] = turn.replies
        self._forget_oldest()
        self._told = ReplyState.RUNNING
        self._loss_told = False
        if turn.replaced:
            self._generation -= 1  # it is to be told again

    def _forget_oldest(self) -> None:
        """Of an agent that never stays: what came first is only counted."""
        if len(self._kept) <= REPLIES_KEPT:
            return
        *first, last = self._kept[: 1 - REPLIES_KEPT]
        items = tuple(item for reply in first for item in reply.items)
        failure = last.failure or next((each.failure for each in first[::-1] if each.failure), None)
        merged = (omit(items), *last.items) if items else last.items
        self._kept[: 1 - REPLIES_KEPT] = [replace(last, items=merged, failure=failure)]

    async def _turn(self, sign: str, rest: str, timeout_s: float, gone: asyncio.Event) -> Turn:
        is_new = self._console is None
        console = await self._open()
        interruption = None
        if sign == RESTART:
            self._kept.append(await (console.poll() if is_new else console.restart()))
        elif sign == INTERRUPT:
            interruption = await console.interrupt(SETTLE_S)
            self._kept.append(await console.poll(SETTLE_S))
        elif not rest:
            self._kept.append(await self._poll(console, timeout_s, gone))
        elif self._told is not ReplyState.READY:
            self._kept.append(await console.poll())
        refusal = None
        if rest:
            state = self._kept[-1].state if self._kept else ReplyState.READY
            refusal = self._refusal(state, sign)
            if refusal is None:
                verb = console.answer if state is ReplyState.WAITING else console.run
                self._kept.append(await verb(rest, 0.0))  # then it can be left to itself, which this cannot
                if self._kept[-1].state is ReplyState.RUNNING and timeout_s > 0:
                    self._add(await self._poll(console, timeout_s, gone))
        return self._handed_over(interruption, refusal, wanted=bool(sign and not rest))

    async def _turn_beside(self, sign: str, rest: str) -> Turn:
        """Another call waits for a reply: what runs can be stopped, and nothing else."""
        console, interruption, restarted = self._console, None, None
        if sign == RESTART:
            restarted = console is not None
        if sign == RESTART and console is not None:
            reply = await console.restart()
            if reply.items:  # as a rule the other call shows them
                self._kept.append(reply)
        elif sign == INTERRUPT and console is not None:
            interruption = await console.interrupt(SETTLE_S)
        refusal = Refusal.TWICE if rest or not sign else None
        return Turn(interruption=interruption, refusal=refusal, restarted=restarted)

    def _add(self, reply: Reply) -> None:
        """*reply* goes on where the last one was, a moment ago."""
        last = self._kept[-1]
        if any(isinstance(item, Omitted) for item in last.items):  # each has a file of its own
            self._kept.append(reply)
            return
        self._kept[-1] = replace(
            reply, items=(*last.items, *reply.items), failure=reply.failure or last.failure
        )

    async def _poll(self, console: AsyncConsole, timeout_s: float, gone: asyncio.Event) -> Reply:
        polling = asyncio.ensure_future(console.poll(timeout_s))
        leaving = asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait({polling, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if await _ended(polling):
                return polling.result()
            return await console.poll()
        except asyncio.CancelledError:  # a console goes on; for an agent, to cancel is to stop it
            with suppress(PlughostError):
                if await _ended(polling):
                    self._kept.append(polling.result())
                await console.interrupt(SETTLE_S)
            raise
        finally:
            leaving.cancel()

    async def _settle(self) -> None:
        """Let an interrupted request come to its end: the next call is not to find it running."""
        if self._console is not None:
            with suppress(PlughostError):  # the host is closed
                self._kept.append(await self._console.poll(SETTLE_S))
        self._forget_oldest()

    async def _open(self) -> AsyncConsole:
        if self._console is None:
            self._console = await self._opening()
        return self._console

    def _refusal(self, state: ReplyState, sign: str) -> Refusal | None:
        if state is ReplyState.RUNNING:
            return Refusal.BUSY
        if state is ReplyState.WAITING and (sign or self._told is not ReplyState.WAITING):
            return Refusal.WAITING
        return None

    def _handed_over(
        self, interruption: Interruption | None, refusal: Refusal | None, *, wanted: bool
    ) -> Turn:
        replies, self._kept = tuple(self._kept), []
        last = replies[-1]
        told = any(LOST in notice for reply in replies for notice in reply.notices)
        replaced = 0 < self._generation < last.generation and not told and not self._loss_told
        self._told, self._generation = last.state, last.generation
        self._loss_told = last.state is ReplyState.ENDED and (told or self._loss_told)
        return Turn(replies, interruption, refusal, replaced, last.error and not wanted)


async def _ended(task: asyncio.Task[Reply]) -> bool:
    """End *task*, and tell whether it had a result by then. Raises what it raised."""
    task.cancel()
    await asyncio.wait({task})
    return not task.cancelled()


def _split(text: str) -> tuple[str, str]:
    """Return the sign that *text* begins with, and the rest; the end of the sign's own line belongs to it."""
    if not text.startswith((INTERRUPT, RESTART)):
        return "", text
    rest = text[1:]
    for end in ("\r\n", "\n", "\r"):
        if rest.startswith(end):
            return text[0], rest.removeprefix(end)
    return text[0], rest


def check_name(name: str, known: int, most: int) -> None:
    """Raise LocalProtocolError if no session can be called *name*, or *known* are *most* already."""
    if not 1 <= len(name) <= 64 or not all(c.isascii() and (c.isalnum() or c in "_.-") for c in name):
        raise LocalProtocolError("a session's name is 1 to 64 letters, digits, `_`, `.` and `-`")
    if known >= most:
        raise LocalProtocolError(f"there are {most} sessions already. Use one of them; U+0004 restarts it")
