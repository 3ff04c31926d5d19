"""A whole run over one provider that takes a while, and over twenty of them: by hand, and by either host.

Jobs are `WAY:COUNT`. A provider waits without using a processor: what is measured is whether the host lets them wait
together. Starting them does take a processor, whoever starts them; so the time is taken from the last handshake as
well. They are asked, let go and their files combined within it; nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

import plughost
from plughost import Binding, Event, blocking
from plughost.contracts.base import HandshakeDone
from plughost.host.hook.generation import Generation

from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from . import hook_replier
from .hook_by_hand import HELLO, ByHand

WAIT_S = 0.2  # of each provider, in Generate
COUNTS = (1, 20)

M = TypeVar("M", bound=Message)
Run = Callable[[list[Binding], wire.CigenSchema], Generation]


class Ear:
    """Listens to a host, and notes when a provider has shaken hands: the last one counts."""

    def __init__(self) -> None:
        self.watch = Stopwatch()

    def __call__(self, event: Event) -> None:
        if isinstance(event.what, HandshakeDone):
            self.watch.mark("shaken")


def measure(run: Run, ear: Ear, bindings: list[Binding]) -> Marks:
    """Run all of *bindings*, each of which brings one file."""
    schema = wire.CigenSchema(version="1")
    watch = ear.watch = Stopwatch()
    generation = run(bindings, schema)
    watch.mark("gone")
    return _checked(watch, len(generation.outputs), len(bindings))


def by_hand(bindings: list[Binding]) -> Marks:
    """The same by hand, as far as anyone would go: all are sent a request before the first is waited for."""
    request = wire.GenerateRequest(schema=wire.CigenSchema(version="1"))
    watch = Stopwatch()
    providers = [ByHand(each) for each in bindings]
    _ask_all(providers, HELLO, wire.PluginInfo)
    watch.mark("shaken")
    _ask_all(providers, wire.PlanRequest(schema=request.schema), wire.PlanResult)
    results = _ask_all(providers, request, wire.GenerateResult)
    for provider in providers:
        provider.let_go()
    for provider in providers:
        provider.close()
    watch.mark("gone")
    return _checked(watch, sum(len(result.fragments) for result in results), len(bindings))


def _ask_all(providers: list[ByHand], request: Message, kind: type[M]) -> list[M]:
    for provider in providers:
        provider.send(request)
    return [provider.receive(kind) for provider in providers]


def _checked(watch: Stopwatch, files: int, wanted: int) -> Marks:
    if files != wanted:
        raise ValueError(f"the work was not done: {files} files, not {wanted}")
    return watch.marks | {"worked": watch.marks["gone"] - watch.marks["shaken"]}


def bind(number: int) -> Binding:
    """Return a provider that waits, and then brings a file that no other brings."""
    fragment = wire.Fragment(path=f"{number}.txt", content="waited\n", strategy=wire.MERGE_STRATEGY_REPLACE)
    return hook_replier.bind(f"provider/waiter-{number}", fragment, wait_s=WAIT_S)


def _on_asyncio(
    runner: asyncio.Runner, host: plughost.Host, bindings: list[Binding], schema: wire.CigenSchema
) -> Generation:
    return runner.run(host.generate(bindings, schema))


def main() -> None:
    ear = Ear()
    with asyncio.Runner() as runner, blocking.Host(on_event=ear) as blocking_host:
        host = plughost.Host(on_event=ear)
        runs: dict[str, Run] = {
            "blocking": blocking_host.generate,
            "asyncio": partial(_on_asyncio, runner, host),
        }
        jobs = {}
        for count in COUNTS:
            bindings = [bind(number) for number in range(count)]
            jobs[f"hand:{count}"] = partial(by_hand, bindings)
            for name, run in runs.items():
                jobs[f"{name}:{count}"] = partial(measure, run, ear, bindings)
        serve(jobs)
        runner.run(host.aclose())


if __name__ == "__main__":
    main()
