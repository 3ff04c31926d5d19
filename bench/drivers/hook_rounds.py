"""Rounds of small requests to a provider that stays, host and provider on one core: what a message costs.

Jobs are `WAY:LOAD`. On one core nobody waits for another core to wake up, which takes longer than the message itself.
"""

from __future__ import annotations

import os
import time
from functools import partial

from plughost_sdk import hook_messages as wire

from plughost import pipeline
from plughost.contracts.hook import host as hook
from plughost.contracts.hook.messages import Phase
from plughost.manifest import binding

from ..driver import ROOT
from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from . import hook_replier
from .hook_ways import Connect, Load, Round, ways

SAMPLE = ROOT / "src/plughost/bundled/hook/cigen.yml"
GITHUB = ROOT / "src/plughost/bundled/hook/github-actions"
GITLAB = ROOT / "examples/hook/gitlab-rust"
ROUNDS = {"github": 20, "gitlab": 300, "empty": 1000}  # of one job: a fifth of a second, more or less


def measure(connect: Connect, load: Load, count: int) -> Marks:
    """Make *count* rounds, and return what one took, in microseconds: of time, and of our own processor time."""
    make = connect(load)
    make(1)  # imports what the provider imports when it is first asked
    used, watch = time.process_time(), Stopwatch()
    results = make(count)
    watch.mark("all")
    used = time.process_time() - used
    load.check(results)
    return {"round_us": watch.marks["all"] * 1000 / count, "own_us": used * 1_000_000 / count}


def loads() -> dict[str, Load]:
    """Return what is asked, by name. None of the programs need be there."""
    sample = pipeline.read(SAMPLE)
    github = wire.GenerateRequest(target="github", schema=sample.native)
    gitlab = wire.GenerateRequest(target="gitlab", schema=sample.expanded)
    planning = wire.PlanRequest(schema=sample.expanded)
    return {
        # It declares no Plan; what it declares beside Generate is left out, to be like the other.
        "github": Load(
            hook.choose(binding.read(GITHUB), ["generate"]), ((Phase.GENERATE, github),), _has_files
        ),
        "gitlab": Load(binding.read(GITLAB), ((Phase.PLAN, planning), (Phase.GENERATE, gitlab)), _has_files),
        "empty": Load(
            hook_replier.bind("provider/empty"),
            ((Phase.PLAN, wire.PlanRequest()), (Phase.GENERATE, wire.GenerateRequest())),
            _is_empty,
        ),
    }


def _has_files(results: Round) -> None:
    result = results[-1]
    if not isinstance(result, wire.GenerateResult) or not all(each.content for each in result.fragments):
        raise ValueError(f"the work was not done: {result}")
    if not result.fragments or any(each.level == wire.Diagnostic.LEVEL_ERROR for each in result.diagnostics):
        raise ValueError(f"the work was not done: {result}")


def _is_empty(results: Round) -> None:
    if [type(each) for each in results] != [wire.PlanResult, wire.GenerateResult] or any(
        each.ByteSize() for each in results
    ):
        raise ValueError(f"the work was not done: {results}")


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # providers inherit it
    with ways() as connects:
        serve(
            {
                f"{way}:{name}": partial(measure, connect, load, ROUNDS[name])
                for way, connect in connects.items()
                for name, load in loads().items()
            }
        )


if __name__ == "__main__":
    main()
