"""A `multiprocessing.Process` per call, with a Pipe: started afresh (`spawn`), or as a copy of its parent (`fork`)."""

from __future__ import annotations

import multiprocessing
from functools import partial
from multiprocessing.connection import Connection

from .. import greeting
from ..loop import serve
from ..stopwatch import Marks, Stopwatch


def greet(wire: Connection) -> None:
    """What the child does."""
    wire.send({"text": f"Hello {wire.recv()['name']}"})


def call(method: str) -> Marks:
    """Start, ask, answer, end."""
    context = multiprocessing.get_context(method)
    watch = Stopwatch()
    ours, theirs = context.Pipe()
    process = context.Process(target=greet, args=(theirs,))  # type: ignore[attr-defined]  # every context has it
    process.start()
    theirs.close()
    ours.send(greeting.INPUT)
    output = ours.recv()
    watch.mark("result")
    process.join()
    watch.mark("gone")
    ours.close()
    greeting.check(output)
    return watch.marks


if __name__ == "__main__":
    serve({method: partial(call, method) for method in ("spawn", "fork")})
