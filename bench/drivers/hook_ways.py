"""Three ways to ask a provider that stays: by hand, by the blocking host, by the asyncio host. Measures nothing.

Each is a function that makes so many rounds of the same requests, and returns the results of the last one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial

from google.protobuf.message import Message

import plughost
from plughost import Binding, blocking
from plughost.contracts.hook.messages import EXCHANGES, Phase

from .hook_by_hand import ByHand

Round = list[Message]
MakeRounds = Callable[[int], Round]


@dataclass(frozen=True, slots=True, eq=False)  # each is its own: requests do not hash
class Load:
    """What a round asks, and of whom. *check* raises ValueError for results that are not what it should bring."""

    binding: Binding
    asks: tuple[tuple[Phase, Message], ...]
    check: Callable[[Round], None]


Connect = Callable[[Load], MakeRounds]


@contextmanager
def ways() -> Iterator[dict[str, Connect]]:
    """Yield each way by name: given a load, it starts the provider at its first use, and keeps it."""
    with ExitStack() as stack, asyncio.Runner() as runner:
        host = plughost.Host()
        blocking_host = stack.enter_context(blocking.Host())
        try:
            yield {
                "hand": cache(partial(_by_hand, stack)),
                "blocking": cache(partial(_on_blocking, blocking_host)),
                "asyncio": cache(partial(_on_asyncio, runner, host)),
            }
        finally:
            runner.run(host.aclose())


def _by_hand(stack: ExitStack, load: Load) -> MakeRounds:
    provider = stack.enter_context(ByHand(load.binding))
    provider.shake_hands()
    asks = [(request, EXCHANGES[phase].result) for phase, request in load.asks]

    def make(count: int) -> Round:
        results: Round = []
        for _ in range(count):
            results = [provider.ask(request, kind) for request, kind in asks]
        return results

    return make


def _on_blocking(host: blocking.Host, load: Load) -> MakeRounds:
    provider = host.connect(load.binding)
    asks = [(getattr(provider, phase), request) for phase, request in load.asks]

    def make(count: int) -> Round:
        results: Round = []
        for _ in range(count):
            results = [ask(request) for ask, request in asks]
        return results

    return make


def _on_asyncio(runner: asyncio.Runner, host: plughost.Host, load: Load) -> MakeRounds:
    provider = runner.run(host.connect(load.binding))
    asks = [(getattr(provider, phase), request) for phase, request in load.asks]

    async def make(count: int, results: Round) -> None:
        for _ in range(count):
            results[:] = [await ask(request) for ask, request in asks]

    def run(count: int) -> Round:
        results: Round = []  # not what the task returns: the runner prints that when it is done, for nobody to read
        runner.run(make(count, results))
        return results

    return run
