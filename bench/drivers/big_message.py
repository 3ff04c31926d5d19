"""One 16 MiB message from another process through a pipe, framed and decoded; and the same bytes bare.

The bare way knows beforehand how many bytes will come: it reads, joins and decodes, and that is all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from plughost.messages import strict_json

from ..loop import Job, serve
from ..stopwatch import Marks, Stopwatch
from . import faults
from .streams import CODECS, LIMIT, PIECE, MakeDecoder, frames, text_message

BYTES = 16 * 1_048_576
NAMES = list(CODECS)


class Firehose:
    """The process that writes the message whenever it is told to."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "bench.drivers.firehose", str(BYTES)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._ask, self._read = self._process.stdin.fileno(), self._process.stdout.fileno()
        message = text_message(BYTES)
        self._sizes = {codec: len(encode(message, LIMIT)) for codec, (encode, _) in CODECS.items()}

    def pieces(self, codec: str) -> Iterator[bytes]:
        """Yield what arrives of one message in the framing *codec*."""
        left = self._sizes[codec]
        os.write(self._ask, str(NAMES.index(codec)).encode())
        while left:
            piece = os.read(self._read, PIECE)
            left -= len(piece)
            yield piece

    def close(self) -> None:
        os.close(self._ask)
        self._process.wait()


def read_bare(hose: Firehose) -> Marks:
    """Read, join, decode."""
    return _timed(lambda: msgspec.json.decode(b"".join(hose.pieces("lines"))))


def read_framed(hose: Firehose, codec: str) -> Marks:
    """Read, cut into frames, decode."""
    _, make = CODECS[codec]
    return _timed(lambda: msgspec.json.decode(_only_frame(hose, codec, make)))


def read_strictly(hose: Firehose) -> Marks:
    """Read lines and decode them as the host does, with its own checks."""
    _, make = CODECS["lines"]
    decoder = strict_json.Decoder(dict[str, str], "message")
    return _timed(lambda: decoder.decode(_only_frame(hose, "lines", make)))


def _only_frame(hose: Firehose, codec: str, make: MakeDecoder) -> bytes:
    (frame,) = frames(hose.pieces(codec), make)
    return frame


def _timed(read: Callable[[], Any]) -> Marks:
    before = faults.count()
    watch = Stopwatch()
    message = read()
    watch.mark("decoded")
    if len(message["data"]) < BYTES - 100:
        raise ValueError("the message is not whole")
    return watch.marks | {"faults": faults.count() - before}


def main() -> None:
    hose = Firehose()
    jobs: dict[str, Job] = {codec: partial(read_framed, hose, codec) for codec in CODECS}
    jobs["bare"] = partial(read_bare, hose)
    jobs["strict"] = partial(read_strictly, hose)
    serve(jobs)
    hose.close()


if __name__ == "__main__":
    main()
