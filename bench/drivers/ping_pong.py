"""The physical limit: bytes to a bare Python process and back, through two pipes.

    python -m bench.drivers.ping_pong PLACE

`call` sends 128 bytes, nobody decodes anything. `frame:MIB` sends a message of so many MiB, which the other end reads,
joins, decodes once and sends back, and which is joined and decoded once here.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Self

import msgspec

from .. import latency, pinning
from ..loop import Job, serve
from ..stopwatch import Marks
from . import big_frame, faults

MESSAGE = b"." * 128
CALLS = 4000
PIECE = 65_536  # bytes: what a pipe holds
RETURN = "import os\nwhile message := os.read(0, 128): os.write(1, message)"
RETURN_BIG = """
import json, os, sys
size = int(sys.argv[1])
while True:
    pieces, left = [], size
    while left:
        piece = os.read(0, 65536)
        if not piece:
            sys.exit()
        pieces.append(piece)
        left -= len(piece)
    message = b"".join(pieces)
    json.loads(message)
    rest = memoryview(message)
    while rest:
        rest = rest[os.write(1, rest):]
"""


class Bare:
    """A bare Python process with two pipes."""

    def __init__(self, program: str, *arguments: str) -> None:
        words = [sys.executable, "-I", "-S", "-c", program, *arguments]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def bounce(self, message: bytes) -> bytes:
        """Send a small *message*, and return what comes back."""
        os.write(self._to, message)
        return os.read(self._from, len(message))

    def bounce_big(self, message: bytes) -> bytes:
        """Send a *message* of any size, and return what comes back."""
        rest = memoryview(message)
        while rest:
            rest = rest[os.write(self._to, rest) :]
        pieces, left = [], len(message)
        while left:
            pieces.append(os.read(self._from, PIECE))
            left -= len(pieces[-1])
        return b"".join(pieces)


def calls(bare: Bare) -> Marks:
    """Bounce small messages."""
    return latency.measure(partial(bare.bounce, MESSAGE), _check, CALLS)


def frame(mib: int) -> Marks:
    """Bounce one big message, to a process that is there for it alone."""
    text = base64.b64encode(big_frame.payload(mib)).decode()
    message = json.dumps({"payload": text}).encode()
    with Bare(RETURN_BIG, str(len(message))) as bare:
        bare.bounce_big(message)  # the first one waits for its start
        before, began = faults.count(), perf_counter()
        decoded = msgspec.json.decode(bare.bounce_big(message))
        taken = perf_counter() - began
    if decoded["payload"] != text:
        raise ValueError("the message is not whole")
    return big_frame.marks(mib, taken, faults.count() - before)


def _check(answer: bytes) -> None:
    if answer != MESSAGE:
        raise ValueError("the message did not come back")


def main() -> None:
    pinning.settle()
    jobs: dict[str, Job] = {f"frame:{mib}": partial(frame, mib) for mib in big_frame.MIB}
    with Bare(RETURN) as bare:
        serve(jobs | {"call": partial(calls, bare)})


if __name__ == "__main__":
    main()
