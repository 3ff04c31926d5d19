"""Big requests and replies as long, to a provider that stays: milliseconds per megabyte of request.

Jobs are `WAY:SIZE`, the size in megabytes. A request is many jobs of a kilobyte, a reply many such fragments: one long
string would be less work per byte than anything real.
"""

from __future__ import annotations

from functools import partial

from plughost_sdk import hook_messages as wire

from plughost.contracts.hook.messages import Phase

from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from . import faults, hook_replier
from .hook_ways import Connect, Load, Round, ways

MEGABYTE = 1_000_000  # bytes: the largest message is 10 MiB
SIZES = (1, 3, 9)  # megabytes
LINES = "a line of a step, or of a file\n" * 32  # a kilobyte

_FRAGMENT = wire.Fragment(path="big.yml", content=LINES, strategy=wire.MERGE_STRATEGY_APPEND)


def measure(connect: Connect, load: Load, size: int) -> Marks:
    """Make one round, and return what a megabyte of its request took."""
    make = connect(load)
    make(1)  # the reply is made at the first request
    before, watch = faults.count(), Stopwatch()
    results = make(1)
    watch.mark("all")
    load.check(results)
    return {"ms_per_mb": watch.marks["all"] / size, "faults": faults.count() - before}


def load(size: int) -> Load:
    """Return a round of an empty Plan, and a Generate of *size* megabytes each way."""
    schema = wire.CigenSchema()
    job = wire.JobDefinition(id="job", steps=[wire.Step(run=wire.RunStep(name="step", command=LINES))])
    schema.jobs.extend([job] * (size * MEGABYTE // (job.ByteSize() + 3)))  # 3: what comes before each
    request = wire.GenerateRequest(target="big", schema=schema)
    return Load(
        hook_replier.bind("provider/big", _FRAGMENT),
        ((Phase.PLAN, wire.PlanRequest()), (Phase.GENERATE, request)),
        partial(_is_as_long, request.ByteSize()),
    )


def _is_as_long(size: int, results: Round) -> None:
    if not 0.99 < results[-1].ByteSize() / size < 1.01:
        raise ValueError(f"a reply of {results[-1].ByteSize()} bytes to a request of {size}")


def main() -> None:
    loads = {size: load(size) for size in SIZES}
    with ways() as connects:
        serve(
            {
                f"{way}:{size}": partial(measure, connect, each, size)
                for way, connect in connects.items()
                for size, each in loads.items()
            }
        )


if __name__ == "__main__":
    main()
