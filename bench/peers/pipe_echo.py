"""A `multiprocessing.Process` that stays and echoes, with a Pipe: pickled, in order, one caller.

python -m bench.peers.pipe_echo PLACE
"""

from __future__ import annotations

import multiprocessing
from functools import partial
from multiprocessing.connection import Connection

from .. import echo, latency, pinning, window
from ..loop import serve

CALLS = 1500
PIPELINED = 6400


def send_back(wire: Connection) -> None:
    """What the child does."""
    try:
        while True:
            wire.send(wire.recv())
    except EOFError:
        pass


def call(wire: Connection) -> object:
    """Ask, and return the answer."""
    wire.send(echo.PAYLOAD)
    return wire.recv()


def main() -> None:
    pinning.settle()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=send_back, args=(theirs,))
    process.start()
    theirs.close()
    serve(
        {
            "call": partial(latency.measure, partial(call, ours), echo.check, CALLS),
            "pipelined": partial(window.measure, ours.send, ours.recv, echo.PAYLOAD, PIPELINED),
        }
    )
    ours.close()
    process.join()


if __name__ == "__main__":
    main()
